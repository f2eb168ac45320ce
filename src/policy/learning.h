// SPDX-License-Identifier: Apache-2.0
// LayoutLearner: modes auto and hdf5-auto. Begins with a table by file system, ranks, bytes and
// skew, remembers what every save cost, and goes from the cheapest way to its neighbours
// (policy/layout_option.h): another mode, more or fewer files or aggregators, another alignment,
// encoding or deflate level, one of them every few saves. The same calls give the same choices on
// every rank, so all that goes in must be equal everywhere (sums and maxima over ranks). What it
// knows is a plain value (LearnedCosts), with which another one goes on as it would have itself.
// Knows no files. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policy/layout_option.h"

namespace stratalog {

// What saves written in one way have cost.
struct LearnedCost {
  LayoutOption option;
  std::uint64_t bytes = 0;  // of the last save
  double seconds_per_byte = 0;  // smoothed
  std::uint32_t saves = 0;  // of about these bytes
  std::uint64_t last = 0;  // number of the last save
  friend bool operator==(const LearnedCost&, const LearnedCost&) = default;
};

// All that a learner knows.
struct LearnedCosts {
  std::vector<LearnedCost> costs;  // at most kMostLearned
  std::optional<LayoutOption> settled;
  std::uint64_t saves = 0;
  std::uint32_t since_try = 0;  // saves
  friend bool operator==(const LearnedCosts&, const LearnedCosts&) = default;
};

// Ways to write that are remembered; what was measured longest ago is forgotten first.
inline constexpr std::size_t kMostLearned = 128;

// Whether a learner can have come to know this. What comes from outside must be asked.
bool is_sound(const LearnedCosts& known);

class LayoutLearner {
 public:
  LayoutLearner() = default;
  // Goes on where the one stopped that knew this. Requires is_sound(known).
  explicit LayoutLearner(LearnedCosts known) : known_(std::move(known)) {}
  const LearnedCosts& snapshot() const { return known_; }

  // The option of the next save. O(options measured so far).
  AutoChoice choose(const AutoFacts& facts) const;
  // What a save cost: the facts with which it was chosen, and its seconds on the slowest rank.
  void learn(const LayoutOption& option, const AutoFacts& facts, double seconds);
  // What is chosen while nothing is tried.
  LayoutOption settled(const AutoFacts& facts) const;

 private:
  const LearnedCost* find(const LayoutOption& option, const AutoFacts& facts) const;
  bool is_to_be_tried(const LayoutOption& option, const AutoFacts& facts) const;
  std::optional<LayoutOption> next_try(const LearnedCost& settled, const AutoFacts& facts) const;
  std::string measured_text(const AutoFacts& facts) const;
  void settle(const AutoFacts& facts);
  void forget_oldest();

  LearnedCosts known_;
};

}  // namespace stratalog
