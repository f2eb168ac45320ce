// SPDX-License-Identifier: Apache-2.0
// ScanTurns: ranks that are threads share the scans of a round's rules by taking a few rows
// whenever they are ready for more, so that none waits long for the others at its end. Safe for
// all ranks at once, but for renew().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// Turns of one scan: 0, 1, 2, ..., each to one rank.
class ScanTurns {
 public:
  std::uint64_t take() { return next_.fetch_add(1, std::memory_order_relaxed); }
  // Nobody may be taking any.
  void renew() { next_.store(0, std::memory_order_relaxed); }

 private:
  // Alone on its cache line.
  alignas(64) std::atomic<std::uint64_t> next_{0};
};

// Which turns are one rank's, of items that all ranks come across in the same order. Local.
class OwnTurns {
 public:
  struct Place {
    std::uint32_t ranks = 1;
    std::uint32_t rank = 0;
    std::uint64_t first = 0;  // the rank that has the first turn, where they go round
  };

  // `shared`: whoever is ready takes the next turn; null: they go round.
  void begin(const Place& place, ScanTurns* shared) {
    *this = OwnTurns();
    shared_ = shared;
    ranks_ = place.ranks;
    next_ = (place.rank + place.ranks - (place.first % place.ranks)) % place.ranks;
  }
  // So many items a turn. Before any is taken.
  void set_length(std::uint64_t items) { length_ = items; }

  // Visits what is this rank's of the next `items`, as visit(from, to) with numbers below `items`.
  template <typename Visit>
  Status take(std::uint64_t items, Visit&& visit) {
    const std::uint64_t end = passed_ + items;
    for (;;) {
      if (!has_turn_) {
        begin_ = length_ * (shared_ != nullptr ? shared_->take() : next_);
        next_ += ranks_;
        has_turn_ = true;
      }
      if (begin_ >= end) break;
      const std::uint64_t to = std::min(begin_ + length_, end);
      STRATALOG_RETURN_IF_ERROR(visit(std::max(begin_, passed_) - passed_, to - passed_));
      if (begin_ + length_ > end) break;  // the rest of the turn is among the next items
      has_turn_ = false;
    }
    passed_ = end;
    return {};
  }

 private:
  ScanTurns* shared_ = nullptr;
  std::uint64_t ranks_ = 1;
  std::uint64_t next_ = 0;
  std::uint64_t length_ = 1;
  std::uint64_t passed_ = 0;  // items
  std::uint64_t begin_ = 0;  // of this rank's turn
  bool has_turn_ = false;
};

// Who takes which rows is different in each run, and so is the order in which tuples arrive.
// Whether nothing that the program computes depends on that: what a library folds may.
bool allows_any_order(const Program& program);

}  // namespace stratalog::datalog
