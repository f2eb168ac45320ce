// SPDX-License-Identifier: Apache-2.0
#include "comm/core_spread.h"

#include <sched.h>

#include <algorithm>

#include "base/allowed_cores.h"

namespace stratalog {
namespace {

// At the start whoever is woken may be put back at once. Later, where other programs fill the
// cores, ranks would move again and again.
constexpr std::uint64_t kFirstMoves = 16;
constexpr std::chrono::microseconds kBetweenFirstMoves{50};
constexpr std::chrono::microseconds kBetweenMoves{2000};

}  // namespace

CoreSpread::CoreSpread(int ranks, Use use)
    : is_on_(use == Use::kSpread && ranks > 1 &&
             static_cast<unsigned>(ranks) <= allowed_core_count()),
      seats_(static_cast<std::size_t>(ranks)) {}

void CoreSpread::settle(int rank) {
  if (!is_on_) return;
  Seat& seat = seats_[static_cast<std::size_t>(rank)];
  const int core = ::sched_getcpu();
  if (seat.core.load(std::memory_order_relaxed) != core)
    seat.core.store(core, std::memory_order_relaxed);
  const auto lower = seats_.begin() + rank;
  const bool is_taken = std::any_of(seats_.begin(), lower, [&](const Seat& other) {
    return other.core.load(std::memory_order_relaxed) == core;
  });
  if (!is_taken || core < 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < seat.next_move) return;
  seat.next_move = now + (++seat.moves <= kFirstMoves ? kBetweenFirstMoves : kBetweenMoves);
  move_away(rank);
}

bool CoreSpread::is_crowded(int rank) const {
  if (!is_on_) return false;
  const auto& seat = seats_[static_cast<std::size_t>(rank)];
  const int core = seat.core.load(std::memory_order_relaxed);
  return std::any_of(seats_.begin(), seats_.end(), [&](const Seat& other) {
    return &other != &seat && other.core.load(std::memory_order_relaxed) == core;
  });
}

void CoreSpread::move_away(int rank) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  cpu_set_t free = allowed;
  for (const Seat& seat : seats_) {
    const int core = seat.core.load(std::memory_order_relaxed);
    if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(static_cast<std::size_t>(core), &free);
  }
  if (CPU_COUNT(&free) == 0) return;
  // The thread runs there when the first call returns; the second lets it go again.
  if (::sched_setaffinity(0, sizeof(free), &free) != 0) return;
  (void)::sched_setaffinity(0, sizeof(allowed), &allowed);
  seats_[static_cast<std::size_t>(rank)].core.store(::sched_getcpu(), std::memory_order_relaxed);
}

}  // namespace stratalog
