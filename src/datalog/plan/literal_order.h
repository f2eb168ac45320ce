// SPDX-License-Identifier: Apache-2.0
// Orders the literals of a rule body: constraints as early as they can be decided, atoms so that
// the estimated number of intermediate tuples is least; the delta atom of semi-naive evaluation
// comes first, unless the program orders the atoms itself. Pure and deterministic: ties keep the
// order of the source.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

struct OrderedLiteral {
  std::uint32_t literal = 0;
  StepKind kind =
      StepKind::kScan;  // kSearch/kExists are told apart later, when it is known what is needed
  // Atoms: declared columns that are bound before, ascending; kUnpack: arguments of the kPack.
  std::vector<std::uint32_t> bound;
  VariableId target = 0;  // kAssign
  bool assign_from_left = false;
  // kAssign: atoms hold the variable, too, so that it is compared as a float is: by value, not by
  // bits.
  bool pairs_zeros = false;
};

// `statistics` has an entry for every relation. `bound` holds the variables that are known before
// the first literal (aggregates: the outer ones).
Result<std::vector<OrderedLiteral>> order_literals(
    const std::vector<Literal>& body, const std::set<VariableId>& bound,
    std::optional<std::uint32_t> delta_literal, const std::vector<RelationStatistics>& statistics);

// The same with the atoms in an order that is given: each positive atom of the body once.
Result<std::vector<OrderedLiteral>> order_as_given(
    const std::vector<Literal>& body, const std::vector<std::uint32_t>& atoms,
    std::optional<std::uint32_t> delta_literal, const std::vector<RelationStatistics>& statistics);

// What such an order is expected to cost: the intermediate tuples, of all atoms together.
double cost_of_order(const std::vector<Literal>& body, const std::vector<std::uint32_t>& atoms,
                     std::optional<std::uint32_t> delta_literal,
                     const std::vector<RelationStatistics>& statistics);

// An equation of a variable and a record of known shape.
struct RecordEquation {
  VariableId variable = 0;
  const Expression* record = nullptr;  // the kPack
};
std::optional<RecordEquation> record_equation(const Literal& literal);

// Adds every variable that occurs in the expression.
void collect_variables(const Expression& expression, std::set<VariableId>& into);
// Variables that a literal reads or binds, the inner ones of aggregates not included.
void collect_variables(const Literal& literal, std::set<VariableId>& into);

}  // namespace stratalog::datalog
