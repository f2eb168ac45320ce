// SPDX-License-Identifier: Apache-2.0
// The parsed program: names are text, nothing is checked, every piece knows its span. Depths are
// bounded by the parser, so recursive walks are safe. Plain values; terms and formulas are
// move-only because they own trees. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "datalog/language/source_span.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

struct NameSyntax {
  std::string name;
  Span span;
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
};

struct Term {
  TermKind kind = TermKind::kWildcard;
  Span span;
  std::string text;  // a variable's name, a number's digits as written (a folded '-' in front), a
                     // string's characters
  Functor functor = Functor::kAdd;
  std::vector<Term> arguments;
  NameSyntax type;
  std::unique_ptr<AggregateSyntax> aggregate;
  std::uint32_t depth = 1;

  Term();
  ~Term();
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

struct RuleSyntax {
  std::vector<AtomSyntax> heads;
  std::optional<Formula> body;  // absent for facts
  Span span;
};

struct AttributeSyntax {
  NameSyntax name;
  NameSyntax type;
};

struct RelationSyntax {
  NameSyntax name;
  std::vector<AttributeSyntax> attributes;
  std::vector<NameSyntax> qualifiers;
};

enum class TypeForm : std::uint8_t { kSubtype, kAlias, kUnion };

struct TypeSyntax {
  NameSyntax name;
  TypeForm form = TypeForm::kSubtype;
  std::vector<NameSyntax> members;  // the base, the other name, or the united types
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
};

struct PragmaSyntax {
  NameSyntax key;
  std::string value;
};

struct ProgramSyntax {
  std::vector<TypeSyntax> types;
  std::vector<RelationSyntax> relations;
  std::vector<DirectiveSyntax> directives;
  std::vector<PragmaSyntax> pragmas;
  std::vector<RuleSyntax> rules;
  // Declared, but by something that was already reported (a record type, a component, a broken
  // .decl): using these names is no further error.
  std::set<std::string> broken_relations;
  std::set<std::string> broken_types;
  // A component, an instantiation or an unreadable piece was skipped: names that it may have
  // declared are unknown.
  bool has_unknown_names = false;
  bool is_complete = true;  // false: some part was skipped after an error
};

}  // namespace stratalog::datalog::language
