// SPDX-License-Identifier: Apache-2.0
// LayoutLearner: modes auto and hdf5-auto. Begins with a table by file system, ranks, bytes and
// skew, remembers what every save cost, and goes from the cheapest way to its neighbours
// (policy/layout_option.h): another mode, more or fewer files or aggregators, another alignment,
// encoding or deflate level, one of them every few saves. The same calls give the same choices on
// every rank, so all that goes in must be equal everywhere (sums and maxima over ranks). Knows no
// files. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/layout_option.h"

namespace stratalog {

class LayoutLearner {
 public:
  // The option of the next save. O(options measured so far).
  AutoChoice choose(const AutoFacts& facts) const;
  // What a save cost: the facts with which it was chosen, and its seconds on the slowest rank.
  void learn(const LayoutOption& option, const AutoFacts& facts, double seconds);
  // What is chosen while nothing is tried.
  LayoutOption settled(const AutoFacts& facts) const;

 private:
  struct Cost {
    LayoutOption option;
    std::uint64_t bytes = 0;  // of the last save
    double seconds_per_byte = 0;  // smoothed
    std::uint32_t saves = 0;  // of about these bytes
    std::uint64_t last = 0;  // number of the last save
  };
  const Cost* find(const LayoutOption& option, const AutoFacts& facts) const;
  bool is_to_be_tried(const LayoutOption& option, const AutoFacts& facts) const;
  std::optional<LayoutOption> next_try(const Cost& settled, const AutoFacts& facts) const;
  std::string measured_text(const AutoFacts& facts) const;
  void settle(const AutoFacts& facts);

  std::vector<Cost> costs_;
  std::optional<LayoutOption> settled_;
  std::uint64_t saves_ = 0;
  std::uint32_t since_try_ = 0;  // saves
};

}  // namespace stratalog
