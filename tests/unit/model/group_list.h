// SPDX-License-Identifier: Apache-2.0
// GroupList: groups collected one by one, to be handed out as a batch. Says which sets were looked
// at. Local.
#pragma once

#include <vector>

#include "model/group_batch.h"

namespace stratalog {

class GroupList final : public SetSource {
 public:
  void add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content) {
    prefixes_.insert(prefixes_.end(), prefix.begin(), prefix.end());
    sets_.push_back(set);
    contents_.push_back(content);
  }
  GroupBatch batch() { return {.prefixes = prefixes_, .contents = contents_, .sets = *this}; }
  SetView set(std::size_t index) override {
    ++looks_;
    return sets_[index];
  }
  std::size_t looks() const { return looks_; }

 private:
  std::vector<Cell> prefixes_;
  std::vector<SetView> sets_;
  std::vector<std::uint64_t> contents_;
  std::size_t looks_ = 0;
};

}  // namespace stratalog
