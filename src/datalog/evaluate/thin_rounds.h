// SPDX-License-Identifier: Apache-2.0
// ThinRounds: how many rounds of few tuples pass between two safe points, so that these cost
// little and signals are still heard within milliseconds. Reading the clock takes as long as a thin
// round's work: only the first of a window has its phases timed, the others are taken to be like
// it. Local; where ranks must agree on the number, the seconds come from all of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

class ThinRounds {
 public:
  static constexpr std::uint64_t kLeast = 64;
  static constexpr std::uint64_t kMost = 1U << 14;
  static constexpr double kSeconds = 0.004;

  explicit ThinRounds(EngineState& state) : state_(state) {}

  // Begins a window. `until_due`: rounds until a checkpoint is due; 0: none is by rounds.
  void open(std::uint64_t until_due);
  // Before each round of the window: whether there is one more.
  bool go_on();
  // After its rounds, fewer perhaps than allowed. Does nothing where none is open.
  void close();
  // How long the last window took decides on the length of the next.
  void note(double seconds) {
    most_ = seconds < kSeconds ? std::min(2 * most_, kMost) : std::max(most_ / 2, kLeast);
  }
  double seconds() const { return seconds_; }  // of the last window

 private:
  EngineState& state_;
  std::uint64_t most_ = kLeast;
  std::uint64_t left_ = 0;
  std::uint64_t begun_ = 0;  // rounds of the open window
  TimeBreakdown before_;
  Stopwatch watch_;
  double first_seconds_ = 0;
  double seconds_ = 0;
  bool is_open_ = false;
};

}  // namespace stratalog::datalog
