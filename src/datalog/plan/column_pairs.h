// SPDX-License-Identifier: Apache-2.0
// Columns that depend on each other: a city has one state, and a species one family. What is
// searched by both of them finds as much as by the finer one alone. Such pairs are looked for where
// rules join by both columns. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

// Two columns of a relation, first < second, and how many different values there are in the tuples
// that were looked at.
struct ColumnPair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  std::uint64_t distinct = 0;  // of both together
  std::uint64_t of_first = 0;
  std::uint64_t of_second = 0;

  friend bool operator==(const ColumnPair&, const ColumnPair&) = default;
};

// By RelationId: the pairs that some literal asks for together, without counts.
std::vector<std::vector<ColumnPair>> joined_pairs(const Program& program);

// Whether a pair tells that its columns depend on each other.
bool depends(const ColumnPair& pair);

// A bound column and how many values of it there are for each combination of the bound columns
// before it.
struct ConditionalColumn {
  std::uint32_t column = 0;
  double values = 1;
  bool is_free = true;  // of the columns before, as far as is known
};
// `columns` are those that are bound, `distinct` is by column; in the order in which they are
// counted.
std::vector<ConditionalColumn> conditional_values(std::span<const std::uint32_t> columns,
                                                  std::span<const std::uint64_t> distinct,
                                                  std::span<const ColumnPair> pairs);

}  // namespace stratalog::datalog
