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
#include "datalog/rule_variables.h"

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
  double bindings = 1;  // atoms: so many are expected to come
  // Atoms: a declared column whose values the comparisons right after it bound (bounded_column.h).
  std::optional<std::uint32_t> bounded;
  // kAssign: what the target is where it is only a part of a side of the equation.
  std::optional<Expression> solved;
};

// A body whose literals are to be ordered.
struct BodyToOrder {
  const std::vector<Literal>& literals;
  const std::vector<RelationStatistics>& statistics;  // of every relation
  // Known before the first literal (aggregates: the outer ones).
  std::set<VariableId> bound;
  // Read behind the body, by the head: an atom that binds nothing which anybody reads is tested for
  // any tuple. None: every combination of tuples matters (aggregates, subsumption).
  std::optional<std::set<VariableId>> read_after;
  // Of a rule that is evaluated once: an index that it would be the first to read costs what it
  // takes to make. Null where that does not count.
  const std::vector<RelationPlan>* relations = nullptr;
  // Where costs are to hold for all rounds: what grows. Constants that are asked of it tend to be
  // those that it has most of.
  const Stratum* growing = nullptr;
};

// Of a rule, and of an aggregate within one. They borrow what they are given. Pure.
BodyToOrder body_of(const Rule& rule, const std::vector<RelationStatistics>& statistics);
BodyToOrder body_of(const Aggregate& aggregate, const std::vector<RelationStatistics>& statistics);

Result<std::vector<OrderedLiteral>> order_literals(const BodyToOrder& body,
                                                   std::optional<std::uint32_t> delta_literal);

// The atoms of an order.
std::vector<std::uint32_t> atoms_in_order(const std::vector<Literal>& literals,
                                          const std::vector<OrderedLiteral>& order);

// An order that begins with an atom of a finished relation and comes to the new tuples later, where
// all orders that begin with those go through a whole relation for each of them, or through all
// that it has of some constants, and it promises much less work: `v($Add(a, b), x + y) :- e($Add(a,
// b)), v(a, x), v(b, y)`. Such an order goes through one relation in every round, of which there
// are no more than new tuples. `first` is the best order that begins with them. Nothing elsewhere.
std::optional<std::vector<OrderedLiteral>> order_from_elsewhere(
    const BodyToOrder& body, const std::vector<OrderedLiteral>& first, std::uint32_t delta_literal,
    const Stratum& growing);

// The same with the atoms in an order that is given: each positive atom of the body once.
Result<std::vector<OrderedLiteral>> order_as_given(const BodyToOrder& body,
                                                   const std::vector<std::uint32_t>& atoms,
                                                   std::optional<std::uint32_t> delta_literal);

// What such an order is expected to cost: the intermediate tuples, of all atoms together.
double cost_of_order(const BodyToOrder& body, const std::vector<std::uint32_t>& atoms,
                     std::optional<std::uint32_t> delta_literal);

// An equation of a variable and a record of known shape.
struct RecordEquation {
  VariableId variable = 0;
  const Expression* record = nullptr;  // the kPack
};
std::optional<RecordEquation> record_equation(const Literal& literal);

}  // namespace stratalog::datalog
