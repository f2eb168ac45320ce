// SPDX-License-Identifier: Apache-2.0
// Sets for tests: random numbers that are the same everywhere, sorted cells as a set and a set as
// its cells, and what every decoder promises of the sets it hands out. Pure; local.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "model/multiset_hash.h"
#include "model/set_walk.h"
#include "model/tuple_group.h"

namespace stratalog {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t limit) {
    state_ = splitmix64(state_);
    return state_ % limit;
  }

 private:
  std::uint64_t state_;
};

// The set of these ascending cells, which must outlive it.
inline SetView array_view(std::span<const Cell> cells) {
  SetView set;
  set.values = cells;
  set.count = cells.size();
  return set;
}

inline std::vector<Cell> cells_in(const SetView& set) {
  std::vector<Cell> cells;
  walk_set(set, [&](Cell cell) { cells.push_back(cell); });
  return cells;
}

// A visitor to which only sets of at most `most` ascending cells may come.
inline GroupVisitor expect_ascending_sets(std::uint64_t most) {
  return [most](const TupleGroup& group) {
    EXPECT_LE(group.set.count, most);
    Cell last = 0;
    bool first = true;
    walk_set(group.set, [&](Cell cell) {
      EXPECT_TRUE(first || cell > last);
      last = cell;
      first = false;
    });
    return Status::ok();
  };
}

}  // namespace stratalog
