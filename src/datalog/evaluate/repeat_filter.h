// SPDX-License-Identifier: Apache-2.0
// RepeatFilter: lets bindings pass once in a pass of a rule. Where a step binds only some columns
// of a relation, many of its tuples give the same binding, and what comes behind it would repeat
// all of its work for each. It watches what comes: where little is repeated it rests, longer each
// time. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/repeat_watch.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

class RepeatFilter {
 public:
  // `variables`: all that later steps or the head read, at least one.
  explicit RepeatFilter(std::vector<VariableId> variables) : variables_(std::move(variables)) {}

  // Keeps the first of rows that are alike, and all whose sets have more than one element.
  void filter(Batch& batch);
  // A pass has ended: the same bindings may come again.
  void forget();

 private:
  bool is_repeated(const Batch& batch, std::uint32_t row);
  void keep(Batch& batch, std::uint32_t from, std::uint32_t to) const;

  std::vector<VariableId> variables_;
  std::optional<PrefixMap> seen_;
  std::vector<Cell> key_;  // scratch

  // One in so many must be repeated: looking takes a part of the time of what it spares.
  static constexpr std::uint32_t kLeastRepeated = 4;
  RepeatWatch watch_{kLeastRepeated};
};

}  // namespace stratalog::datalog
