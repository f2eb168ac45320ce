// SPDX-License-Identifier: Apache-2.0
// Batch: up to kBatchRows variable bindings on their way through a rule, one column per live
// variable. In rules that move whole sets, each row also borrows one set (of the carried variable).
// Plain data. Local.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/program.h"
#include "model/cell.h"
#include "relation/int_set.h"

namespace stratalog::datalog {

inline constexpr std::uint32_t kBatchRows = 1024;

struct Batch {
  std::uint32_t rows = 0;
  std::vector<std::vector<Cell>> columns;  // by VariableId; empty where the variable is not live
  std::vector<const IntSet*> sets;  // empty unless the rule carries
  // They live no longer than the call that takes the batch; else until the relations advance.
  bool has_brief_sets = false;
  std::vector<std::uint32_t> tags;  // aggregates: which outer row a binding belongs to; else empty

  // Empty, without memory, of as many variables.
  void give_back() {
    rows = 0;
    for (std::vector<Cell>& column : columns) column = std::vector<Cell>();
    sets = std::vector<const IntSet*>();
    tags = std::vector<std::uint32_t>();
  }

  void allocate(VariableId variable) {
    if (columns[variable].empty()) columns[variable].resize(kBatchRows);
  }
};

// How many bindings a row stands for.
inline std::uint64_t elements_of(const Batch& batch, std::uint32_t row) {
  return batch.sets.empty() || batch.sets[row] == nullptr ? 1 : batch.sets[row]->size();
}

}  // namespace stratalog::datalog
