// SPDX-License-Identifier: Apache-2.0
// A rule between syntax and Program: names are numbers, expressions are lifted out of atoms,
// aggregates and ranges are literals of their own, but kinds are still open and spans are still
// there for messages. Move-only trees. Local.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datalog/language/syntax.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

enum class BoundTermKind : std::uint8_t { kVariable, kConstant, kFunctor, kWildcard };

// Numbers of kind classes in type inference; variables come first.
using KindNode = std::uint32_t;

struct BoundTerm {
  BoundTermKind kind = BoundTermKind::kWildcard;
  Span span;
  VariableId variable = 0;
  const Term* constant =
      nullptr;  // in the syntax, which outlives this; of an enumeration: a kBranch
  const Term* record = nullptr;  // kPack: the kRecord or kBranch
  Functor functor = Functor::kAdd;
  std::vector<BoundTerm> arguments;
  const Term* cast = nullptr;  // kReinterpret by `as(x, T)`: names T
  std::uint32_t external = 0;  // kExternal: into Declarations::functors
  KindNode node = 0;  // set by type inference
};

struct BoundAtom {
  RelationId relation = 0;
  std::vector<BoundTerm> arguments;  // variables, constants, wildcards
  Span span;
};

struct BoundLiteral;

struct BoundAggregate {
  AggregateFunction function = AggregateFunction::kCount;
  VariableId result = 0;
  std::optional<BoundTerm> target;
  std::vector<BoundLiteral> body;
  std::vector<VariableId> outer;
};

struct BoundRange {
  VariableId variable = 0;
  std::vector<BoundTerm> bounds;  // from, to and perhaps step
};

struct BoundLiteral {
  LiteralKind kind = LiteralKind::kAtom;
  Span span;
  BoundAtom atom;
  Comparison comparison = Comparison::kEqual;
  BoundTerm left;
  BoundTerm right;
  RecordUse record_use = RecordUse::kValue;
  std::unique_ptr<BoundAggregate> aggregate;
  std::unique_ptr<BoundRange> range;
};

struct BoundVariable {
  std::string name;
  Span first_use;
  bool is_lifted = false;  // made by us, not named by the user
};

struct BoundRule {
  RuleRole role = RuleRole::kDerives;
  RelationId head = 0;
  Span head_span;
  Span span;
  std::vector<BoundTerm> head_arguments;
  std::vector<BoundLiteral> body;
  std::vector<BoundVariable> variables;
  // Names that some aggregate keeps to itself, and where: they help to explain ungrounded
  // variables.
  std::map<std::string, Span> names_inside_aggregates;
  bool is_fact = false;  // written without a body
  bool unites_values = false;  // Rule::unites_values
  bool keeps_one_value = false;  // Rule::keeps_one_value
  bool never_fires = false;  // `false` in the body
};

}  // namespace stratalog::datalog::language
