// SPDX-License-Identifier: Apache-2.0
// BodyFacts: what all orders of a rule body have in common, so that the search for one looks at
// bits: which variables each literal reads and binds, which of its computations may fail. Pure;
// local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "datalog/plan/frequent_values.h"
#include "datalog/plan/literal_order.h"
#include "datalog/plan/variable_set.h"

namespace stratalog::datalog {

// What a constraint computes that can fail.
struct Risk {
  std::set<VariableId> variables;
  bool is_constant = false;  // of no variable: it fails always or never
};

VariableSet variable_set_of(const Expression& expression);
// `v = w`.
bool equates_variables(const Literal& literal);

// Whether an argument of an atom is a constant, or a variable that stands for one.
inline bool is_constant(const Argument& argument, const VariableSet& constant) {
  return argument.kind == ArgumentKind::kConstant ||
         (argument.kind == ArgumentKind::kVariable && constant.contains(argument.variable));
}
VariableSet constant_variables(const std::vector<Literal>& literals);

// As far as it is known while plans are made: not of texts, nor of what is computed.
std::optional<std::uint32_t> bucket_of_constant(const Expression& constant);

struct BodyFacts {
  explicit BodyFacts(const BodyToOrder& body);

  // Null: none is known.
  const std::vector<FrequentValue>* frequent_in(std::uint32_t literal, std::uint32_t column) const {
    if (frequent.empty()) return nullptr;
    const auto found = frequent.find({literal, column});
    return found == frequent.end() ? nullptr : &found->second;
  }

  const std::vector<Literal>& literals;
  const std::vector<RelationStatistics>& statistics;
  const std::vector<RelationPlan>* relations;
  const Stratum* growing;
  VariableSet bound;
  std::optional<VariableSet> read_after;
  VariableSet held;
  VariableSet computed;  // by aggregates and ranges: equations only compare them
  VariableSet constant;  // equations give them the value of no variable
  // By literal and column, of atoms: without what the variable of the column is not.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<FrequentValue>> frequent;
  // Of each literal.
  std::vector<Risk> risks;
  // What must be known before a constraint is decided; of a comparison, where it assigns nothing.
  std::vector<VariableSet> read;
  std::vector<VariableSet> uses;  // reads or binds
  std::vector<VariableSet> left;
  std::vector<VariableSet> right;
};

}  // namespace stratalog::datalog
