// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/group_memo.h"

namespace stratalog::datalog {
namespace {

// No more groups are kept in mind at a time.
constexpr std::uint32_t kMostGroups = 1U << 20;

}  // namespace

bool GroupMemo::find(const Batch& in) {
  if (watch_.rests()) return false;
  if (known_ && known_->size() >= kMostGroups) forget();
  if (!known_) {
    known_.emplace(static_cast<std::uint32_t>(outer_.size()));
    key_.resize(outer_.size());
  }
  groups_.resize(in.rows);
  fresh_.rows = 0;
  fresh_.columns.resize(in.columns.size());
  for (const VariableId v : outer_)
    if (fresh_.columns[v].size() < in.rows) fresh_.columns[v].resize(in.rows);
  for (std::uint32_t row = 0; row < in.rows; ++row) {
    for (std::size_t k = 0; k < key_.size(); ++k) key_[k] = in.columns[outer_[k]][row];
    const std::uint32_t before = known_->size();
    groups_[row] = known_->find_or_add(key_.data());
    if (groups_[row] < before) continue;
    for (std::size_t k = 0; k < key_.size(); ++k) fresh_.columns[outer_[k]][fresh_.rows] = key_[k];
    ++fresh_.rows;
  }
  // What has been found stays, whatever the verdict.
  (void)watch_.is_worth_it(in.rows, in.rows - fresh_.rows);
  return true;
}

void GroupMemo::forget() {
  known_.reset();
  results_.clear();
}

}  // namespace stratalog::datalog
