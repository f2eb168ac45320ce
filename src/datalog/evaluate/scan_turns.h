// SPDX-License-Identifier: Apache-2.0
// ScanTurns: ranks that are threads share the scans of a round's rules by taking a few rows
// whenever they are ready for more, so that none waits long for the others at its end. Safe for
// all ranks at once, but for renew().
#pragma once

#include <atomic>
#include <cstdint>

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

// Who takes which rows is different in each run, and so is the order in which tuples arrive.
// Whether nothing that the program computes depends on that: sums of floats do.
bool allows_any_order(const Program& program);

}  // namespace stratalog::datalog
