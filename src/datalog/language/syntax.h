// SPDX-License-Identifier: Apache-2.0
// The parsed program: names are text, nothing is checked, every piece knows its span. Depths are
// bounded by the parser, so recursive walks are safe. Plain values: copies are deep (instances of
// components are copies). Local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/language/source_span.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

struct NameSyntax {
  std::string name;
  Span span;
};

// Which instance of a component a piece comes from: one-based index into ProgramSyntax::instances.
using InstanceNumber = std::uint32_t;
inline constexpr InstanceNumber kNoInstance = 0;  // written outside of all components

// Owns a T that is not complete yet where the owner is declared; copies are deep.
template <typename T>
class Boxed {
 public:
  Boxed() = default;
  explicit Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = other.value_ ? std::make_unique<T>(*other.value_) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T* get() { return value_.get(); }
  const T* get() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

struct AggregateSyntax;

enum class TermKind : std::uint8_t {
  kVariable,
  kWildcard,
  kInteger,
  kUnsigned,
  kFloat,
  kString,
  kFunctor,  // functor(arguments)
  kCast,  // as(arguments[0], type)
  kRange,  // range(arguments)
  kAggregate,  // aggregate
  kNil,
  kRecord,  // [arguments]
  kBranch,  // $type(arguments): `type` names the branch
};

struct Term {
  TermKind kind = TermKind::kWildcard;
  Span span;
  std::string text;  // a variable's name, a number's digits as written (a folded '-' in front), a
                     // string's characters, the name of an external functor
  Functor functor = Functor::kAdd;
  std::vector<Term> arguments;
  NameSyntax type;
  Boxed<AggregateSyntax> aggregate;
  std::uint32_t depth = 1;

  Term();
  ~Term();
  Term(const Term&);
  Term& operator=(const Term&);
  Term(Term&&) noexcept;
  Term& operator=(Term&&) noexcept;
};

struct AtomSyntax {
  NameSyntax relation;
  std::vector<Term> arguments;
  Span span;
};

enum class FormulaKind : std::uint8_t { kAtom, kComparison, kTruth, kAnd, kOr, kNot };

struct Formula {
  FormulaKind kind = FormulaKind::kTruth;
  Span span;
  AtomSyntax atom;
  Comparison comparison = Comparison::kEqual;
  std::vector<Term> operands;  // left, right
  bool truth = true;  // kTruth: true or false
  std::vector<Formula> children;
};

struct AggregateSyntax {
  AggregateFunction function = AggregateFunction::kCount;
  std::optional<Term> target;
  Formula body;
};

// What a rule is for. Rules that use inline relations stand twice in the program: as written, to be
// checked, and with those relations written out, to be evaluated.
enum class RuleUse : std::uint8_t { kBoth, kCheckOnly, kEvaluateOnly };

// One of the orders of `.plan 0:(2,1), 1:(1,2)`, by which one version of a rule is joined.
struct PlanOrderSyntax {
  std::uint64_t version = 0;
  std::vector<std::uint64_t> atoms;  // from 1
  Span span;
};

struct RuleSyntax {
  RuleRole role = RuleRole::kDerives;
  std::vector<AtomSyntax> heads;
  std::optional<Formula> body;  // absent for facts; kSubsumes: begins with the two compared atoms
  Span span;
  InstanceNumber instance = kNoInstance;
  RuleUse use = RuleUse::kBoth;
  bool unites_values = false;  // kSubsumes: of a lattice (Rule::unites_values)
  bool keeps_one_value = false;  // kSubsumes: Rule::keeps_one_value
  std::vector<PlanOrderSyntax> plan;
};

struct AttributeSyntax {
  NameSyntax name;
  NameSyntax type;
  bool is_lattice = false;  // `x: T<>`
};

// One of the keys behind `choice-domain`: `x` or `(x, y)`.
struct ChoiceKeySyntax {
  std::vector<NameSyntax> attributes;
};

struct RelationSyntax {
  NameSyntax name;
  std::vector<AttributeSyntax> attributes;
  std::vector<NameSyntax> qualifiers;
  std::vector<ChoiceKeySyntax> choice_keys;
  std::optional<NameSyntax> delta_of;  // `= debug_delta(name)`
  std::optional<NameSyntax> sums;  // made by the compiler: Relation::sums
  bool counts = false;
  InstanceNumber instance = kNoInstance;
};

inline bool has_qualifier(const RelationSyntax& relation, std::string_view wanted) {
  return std::any_of(relation.qualifiers.begin(), relation.qualifiers.end(),
                     [&](const NameSyntax& qualifier) { return qualifier.name == wanted; });
}

enum class TypeForm : std::uint8_t { kSubtype, kAlias, kUnion, kRecord, kAlgebraic };

struct BranchSyntax {
  NameSyntax name;  // empty for record types
  std::vector<AttributeSyntax> fields;
};

struct TypeSyntax {
  NameSyntax name;
  TypeForm form = TypeForm::kSubtype;
  std::vector<NameSyntax> members;  // the base, the other name, or the united types
  std::vector<BranchSyntax> branches;  // kRecord: one without a name; kAlgebraic
  InstanceNumber instance = kNoInstance;
};

struct ParameterSyntax {
  NameSyntax key;
  std::string value;
  Span value_span;
};

struct DirectiveSyntax {
  IoAction action = IoAction::kInput;
  std::vector<NameSyntax> relations;
  std::vector<ParameterSyntax> parameters;
  Span span;
  InstanceNumber instance = kNoInstance;
};

// .limitsize name(n=count)
struct SizeLimitSyntax {
  NameSyntax relation;
  std::uint64_t count = 0;
  InstanceNumber instance = kNoInstance;
};

// .functor name(type, name: type, ...): type [stateful]
struct FunctorSyntax {
  NameSyntax name;
  std::vector<NameSyntax> arguments;  // their types
  NameSyntax result;
  bool is_stateful = false;
};

// .lattice T<> { Bottom -> term, Lub -> @f(_, _), Glb -> @g(_, _), ... }
struct LatticeSyntax {
  NameSyntax type;
  Span span;
  std::optional<Term> bottom;
  std::optional<Term> lub;
  std::optional<Term> glb;
};

struct PragmaSyntax {
  NameSyntax key;
  std::string value;
};

// Why aggregates of a rule cannot read what depends on them.
struct RefusedAggregate {
  Span rule;
  Span where;
  std::string why;
};

struct ProgramSyntax;

// A component as it is used: `Name<Argument, ...>`.
struct ComponentUseSyntax {
  NameSyntax name;
  std::vector<NameSyntax> arguments;
};

// .comp Name<Parameter, ...> : Base, Base<...> { content }
struct ComponentSyntax {
  NameSyntax name;
  std::vector<NameSyntax> parameters;
  std::vector<ComponentUseSyntax> bases;
  Boxed<ProgramSyntax> content;
};

// .init name = Component<Argument, ...>
struct InstantiationSyntax {
  NameSyntax name;
  ComponentUseSyntax component;
  Span span;
};

// Where pieces of a component came to stand in the program.
struct InstanceSyntax {
  std::string name;  // qualified: "outer.inner"
  std::string component;
  Span span;  // of the .init
  InstanceNumber parent = kNoInstance;  // the instance in which the .init stands
};

struct ProgramSyntax {
  std::vector<TypeSyntax> types;
  std::vector<RelationSyntax> relations;
  std::vector<DirectiveSyntax> directives;
  std::vector<SizeLimitSyntax> size_limits;
  std::vector<FunctorSyntax> functors;
  std::vector<LatticeSyntax> lattices;
  std::vector<PragmaSyntax> pragmas;
  std::vector<RuleSyntax> rules;
  std::vector<ComponentSyntax> components;
  std::vector<InstantiationSyntax> instantiations;
  std::vector<NameSyntax> overridden;  // by .override, only in components
  std::vector<InstanceSyntax> instances;  // filled by instantiate_components()
  std::vector<RefusedAggregate> refused_aggregates;  // by expand_recursive_aggregates()
  // Declared, but by something that was already reported (a record type, a component, a broken
  // .decl): using these names is no further error.
  std::set<std::string> broken_relations;
  std::set<std::string> broken_types;
  std::set<std::string> broken_functors;
  // An instantiation that failed or an unreadable piece was skipped: names that it may have
  // declared are unknown.
  bool has_unknown_names = false;
  bool is_complete = true;  // false: some part was skipped after an error
};

}  // namespace stratalog::datalog::language
