// SPDX-License-Identifier: Apache-2.0
// Subsumption that keeps the least or greatest value of a column for each combination of the
// others, as `dist(x, a) <= dist(x, b) :- b < a.` does, or unites all of them. Such relations need
// no joins to find what is dominated: values are compared where tuples meet anyway
// (relation/best_cells.h) or united there (evaluate/value_union.h). Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "datalog/program.h"

namespace stratalog::datalog {

// kUnited: what Rule::unites_values says.
enum class KeptValue : std::uint8_t { kLeast, kGreatest, kUnited };

struct BestValue {
  std::uint32_t column = 0;  // declared; all others are the key
  KeptValue keeps = KeptValue::kLeast;
  ValueKind kind = ValueKind::kNumber;  // kNumber, kUnsigned or kFloat, if not kUnited
  std::uint32_t rule = 0;  // kUnited: into Program::rules
  bool orders_all_floats = false;  // kFloat: as Rule::keeps_one_value says
  friend bool operator==(const BestValue&, const BestValue&) = default;
};

// Of the relations that have any.
using BestValues = std::map<RelationId, BestValue>;

// What a rule that subsumes keeps, if that is all it does.
std::optional<BestValue> find_best_value(const Program& program, std::uint32_t rule);

// The same of all relations of a stratum that are subsumed. Least and greatest values are found
// only where it holds for each of their rules, as rules compare tuples before those of other
// relations have gone; united ones, floats that are all in order, sums and their terms always.
BestValues find_best_values(const Program& program, const Stratum& stratum);

}  // namespace stratalog::datalog
