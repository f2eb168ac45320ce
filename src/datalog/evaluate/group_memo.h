// SPDX-License-Identifier: Apache-2.0
// GroupMemo: results of an aggregate by the values that it depends on. Rules ask again for the same
// group with every binding of it, `above(e) :- emp(e, d, s), m = mean x : { emp(_, d, x) }, s > m.`
// It watches what comes: where few groups are asked for again it rests, longer each time. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/repeat_watch.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

class GroupMemo {
 public:
  // `outer`: the variables that the aggregate reads, at least one.
  explicit GroupMemo(std::vector<VariableId> outer) : outer_(std::move(outer)) {}

  // Finds the groups of all rows; those that are new are the rows of fresh(), whose results
  // learn() wants, in that order. False where it rests: nothing has been found then.
  bool find(const Batch& in);
  const Batch& fresh() const { return fresh_; }
  // Nothing where the group has no result.
  void learn(std::optional<Cell> result) { results_.push_back(result); }
  std::optional<Cell> result(std::uint32_t row) const { return results_[groups_[row]]; }
  // A pass has ended: what is asked, and the cells of results, may change.
  void forget();

 private:
  std::vector<VariableId> outer_;
  std::optional<PrefixMap> known_;
  std::vector<std::optional<Cell>> results_;  // by group
  std::vector<std::uint32_t> groups_;  // by row of the last batch
  Batch fresh_;
  std::vector<Cell> key_;  // scratch

  // One row in so many must ask again for a group: a look takes far less than most groups do.
  static constexpr std::uint32_t kLeastAskedAgain = 8;
  RepeatWatch watch_{kLeastAskedAgain};
};

}  // namespace stratalog::datalog
