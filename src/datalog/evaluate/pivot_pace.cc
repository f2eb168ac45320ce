// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pivot_pace.h"

#include <algorithm>
#include <limits>

namespace stratalog::datalog {

PivotPace::PivotPace(const Setting& setting) {
  if (setting.rounds == 0) return;
  const std::uint64_t per_block = std::max<std::uint32_t>(1, setting.lanes_in_block);
  const std::uint64_t per_rank = per_block * std::max<std::uint32_t>(1, setting.ranks);
  // Blocks of the rank that has most of them.
  const std::uint64_t most = (setting.lanes / per_rank) + (setting.lanes % per_rank != 0 ? 1 : 0);
  kind_ = most < kFewBlocks ? Kind::kInStep : Kind::kByProgress;
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max() / 2;
  const std::uint64_t blocks = std::max<std::uint32_t>(1, setting.owned_blocks);
  step_ = setting.rounds > kNever / blocks ? kNever : setting.rounds * blocks;
  target_ = step_;
}

void PivotPace::note(std::uint64_t block_rounds) {
  longest_ = std::max(longest_, block_rounds - std::min(done_, block_rounds));
  done_ = block_rounds;
}

void PivotPace::go_on() {
  if (kind_ == Kind::kByProgress && done_ >= target_) target_ = (done_ / step_ + 1) * step_;
}

}  // namespace stratalog::datalog
