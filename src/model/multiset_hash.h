// SPDX-License-Identifier: Apache-2.0
// Computes MultisetHash (see tuple_group.h) of groups: f(prefix) * sum of g(element). Because the
// hash is a product over columns it does not depend on the column order in which a relation is
// walked. Pure; local.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "model/cell.h"
#include "model/tuple_group.h"

namespace stratalog {

// The two odd factors that `cell` contributes in declared column `column`.
struct ColumnFactors {
  std::uint64_t low;
  std::uint64_t high;
};

constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr ColumnFactors column_factors(Cell cell, std::uint32_t column) {
  const std::uint64_t seed = (static_cast<std::uint64_t>(column) << 32) | cell;
  return {.low = splitmix64(seed) | 1U, .high = splitmix64(seed ^ 0xD6E8FEB86659FD93ULL) | 1U};
}

// Hashes many groups of one relation. Groups of one pivot block come one after another and draw
// their elements from the same few hundred cells, whose factors are kept; so a bit costs two
// additions. Local.
class GroupHasher {
 public:
  // `column_order` as in RelationImage; its size is the arity (>= 1). It outlives the hasher.
  explicit GroupHasher(std::span<const std::uint32_t> column_order) : column_order_(column_order) {}

  MultisetHash hash(const TupleGroup& group);

 private:
  static constexpr std::uint32_t kWindow = 512;

  void move_window(Cell base);

  std::span<const std::uint32_t> column_order_;
  std::array<ColumnFactors, kWindow> window_{};
  Cell window_base_ = 0;
  bool has_window_ = false;
};

// Hash of all tuples of one group. `column_order` as in RelationImage; its size is the arity (>=
// 1).
MultisetHash hash_group(const TupleGroup& group, std::span<const std::uint32_t> column_order);

// Hash of one tuple in declared column order; the empty tuple hashes to {1, 1}.
MultisetHash hash_tuple(std::span<const Cell> tuple);

}  // namespace stratalog
