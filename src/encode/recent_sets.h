// SPDX-License-Identifier: Apache-2.0
// RecentSets: the last sets of a block, which later ones may name by how far back they are. Grows
// with what comes, for most blocks are small. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

namespace stratalog {

// The last `kReach` sets.
template <typename Set, std::size_t kReach>
class RecentSets {
 public:
  void clear() { count_ = 0; }

  // The place of the next set. What was there before is to be overwritten.
  Set& add() {
    const auto at = static_cast<std::size_t>(count_++ % kReach);
    if (at == sets_.size()) sets_.emplace_back();
    return sets_[at];
  }

  // The set that came `back` additions ago (1: the last); nullptr if there is none.
  const Set* find(std::uint64_t back) const {
    return back == 0 || back > count_ || back > kReach ? nullptr : &sets_[(count_ - back) % kReach];
  }

 private:
  std::vector<Set> sets_;  // number modulo kReach
  std::uint64_t count_ = 0;
};

}  // namespace stratalog
