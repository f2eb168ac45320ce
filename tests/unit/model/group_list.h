// SPDX-License-Identifier: Apache-2.0
// GroupList: groups collected one by one, to be handed out as a batch, in which neighbours with
// equal contents are one run. Shows sets of cells below 512 as bits, if it was told to. Says how
// often sets were looked at. Local.
#pragma once

#include <numeric>
#include <vector>

#include "model/group_batch.h"
#include "model/set_walk.h"

namespace stratalog {

class GroupList final : public SetSource {
 public:
  void add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content) {
    prefixes_.insert(prefixes_.end(), prefix.begin(), prefix.end());
    prefix_cells_ = prefix.size();
    if (content != 0 && !contents_.empty() && contents_.back() == content) {
      ++lengths_.back();
      return;
    }
    sets_.push_back(set);
    contents_.push_back(content);
    lengths_.push_back(1);
  }
  GroupBatch batch() {
    return {.prefixes = prefixes_,
            .lengths = lengths_,
            .contents = contents_,
            .prefix_cells = prefix_cells_,
            .sets = *this};
  }
  SetView set(std::size_t index) override {
    ++looks_;
    return sets_[index];
  }
  BitRow row(std::size_t index) override {
    if (table_.empty() || last_of(sets_[index]) >= table_.size()) return {};
    ++looks_;
    row_.fill(0);
    walk_set(sets_[index], [&](Cell cell) { row_[cell / 64] |= std::uint64_t{1} << (cell % 64); });
    return {.words = row_, .cells = table_, .table = 1};
  }
  void show_rows() {
    table_.resize(kMaxBitRowCells);
    std::iota(table_.begin(), table_.end(), Cell{0});
  }
  std::size_t looks() const { return looks_; }

 private:
  std::vector<Cell> prefixes_;
  std::vector<SetView> sets_;
  std::vector<std::uint64_t> contents_;
  std::vector<std::uint32_t> lengths_;
  std::size_t prefix_cells_ = 1;
  std::vector<Cell> table_;
  BitRowWords row_{};
  std::size_t looks_ = 0;
};

}  // namespace stratalog
