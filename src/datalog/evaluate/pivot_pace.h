// SPDX-License-Identifier: Apache-2.0
// PivotPace: when a checkpoint by rounds is due in a stratum that runs by pivot. Where a rank owns
// many blocks, each runs to its fixpoint (stopping all blocks at one round keeps lanes from being
// delayed, and makes the sweep itself slower), and what counts are the rounds that blocks have done
// on average: as much work lies between two checkpoints as if all blocks went in step. Counts from
// the start or restart of the run. Pure: no clock, no communication. Local.
#pragma once

#include <cstdint>

namespace stratalog::datalog {

class PivotPace {
 public:
  struct Setting {
    std::uint64_t lanes = 0;  // of all ranks
    std::uint32_t lanes_in_block = 1;
    std::uint32_t ranks = 1;
    std::uint32_t owned_blocks = 0;  // by this rank
    std::uint64_t rounds = 0;  // between two checkpoints; 0: none are due by rounds
  };
  enum class Kind : std::uint8_t {
    kNotByRounds,
    kInStep,  // all blocks stop at the round of each checkpoint
    kByProgress,
  };
  // A rank needs so many blocks for checkpoints between them.
  static constexpr std::uint64_t kFewBlocks = 8;

  PivotPace() = default;
  explicit PivotPace(const Setting& setting);

  // The same on all ranks.
  Kind kind() const { return kind_; }
  // The rounds that this rank's blocks did so far, summed over blocks.
  void note(std::uint64_t block_rounds);
  // Whether this rank's blocks did as many rounds as lie before the next checkpoint. Never where
  // none is due by progress.
  bool is_reached() const { return kind_ == Kind::kByProgress && done_ >= target_; }
  // Whether one more block might bring it to the checkpoint after that: no further without the
  // others, so that none is left out.
  bool is_far_ahead() const { return is_reached() && done_ + longest_ >= target_ + step_; }
  // The checkpoint that was due is past. The next one is due at the next multiple that this rank
  // has not reached.
  void go_on();

 private:
  Kind kind_ = Kind::kNotByRounds;
  std::uint64_t step_ = 0;  // block rounds of this rank between two checkpoints
  std::uint64_t target_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t longest_ = 0;  // of its blocks so far, in rounds
};

}  // namespace stratalog::datalog
