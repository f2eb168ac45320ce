// SPDX-License-Identifier: Apache-2.0
// CoreSpread: keeps ranks that are threads of one process on different cores. A new thread often
// begins on its maker's core, and whoever is woken may be put on the core of the waker; the
// system's balancing takes milliseconds to part them, which is all that a small program has. Ranks
// say where they run, and one that finds a lower rank on its core moves to a core on which no rank
// was seen. Nobody stays bound: after the move the thread may run wherever it might before. Does
// nothing where there is not a core for every rank. Thread-safe; a rank speaks for itself only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace stratalog {

class CoreSpread {
 public:
  // Without `ranks` cores at hand, or if not `wanted`, ranks are left where they are.
  enum class Use : std::uint8_t { kLeave, kSpread };
  CoreSpread(int ranks, Use use);

  // On the thread of the rank, which now runs: says where, and moves it if a lower rank was seen
  // there. Costs next to nothing where it was before.
  void settle(int rank);
  // Whether another rank was last seen on the core of this one: then waiting awake keeps that one
  // from running.
  bool is_crowded(int rank) const;

 private:
  static constexpr int kUnknown = -1;
  struct alignas(64) Seat {
    std::atomic<int> core = kUnknown;
    // Touched by the rank only.
    std::uint64_t moves = 0;
    std::chrono::steady_clock::time_point next_move = {};
  };

  void move_away(int rank);

  bool is_on_;
  std::vector<Seat> seats_;
};

}  // namespace stratalog
