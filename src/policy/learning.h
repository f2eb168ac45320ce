// SPDX-License-Identifier: Apache-2.0
// LayoutLearner: mode auto. Begins with a table by file system, ranks, bytes and skew, remembers
// what every save cost, and chooses the cheapest way for the next one; other ways are tried once,
// and again when the output has grown fourfold. The same calls give the same choices on every rank,
// so all that goes in must be equal everywhere (sums and maxima over ranks). Knows no files. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policy/checkpoint_mode.h"
#include "policy/file_system_facts.h"
#include "policy/layout_plan.h"

namespace stratalog {

// A way to write a checkpoint: a mode, and over how many shared files ranks are spread (0 in mode
// fpp).
struct LayoutOption {
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  std::uint32_t files = 0;
  friend bool operator==(const LayoutOption&, const LayoutOption&) = default;
};

enum class CollectiveIo : std::uint8_t { kAbsent, kPresent };

struct AutoFacts {
  int ranks = 1;
  int nodes = 1;
  FileSystemFacts file_system;
  CollectiveIo collective = CollectiveIo::kAbsent;  // whether shared files can be written
  std::uint64_t bytes = 0;  // about as many as will be written, by all ranks
  std::uint64_t largest_rank_bytes = 0;
  std::uint32_t images = 1;  // relation versions with rows
  std::uint32_t wished_files = 0;  // a user's --files: shared files it is
};

struct AutoChoice {
  LayoutOption option;
  std::vector<Reason> reasons;  // with the measured costs that decided
};

class LayoutLearner {
 public:
  // The option of the next save. O(options).
  AutoChoice choose(const AutoFacts& facts) const;
  // What a save cost: the facts with which it was chosen, and its seconds on the slowest rank.
  void learn(const LayoutOption& option, const AutoFacts& facts, double seconds);

 private:
  struct Cost {
    LayoutOption option;
    std::uint64_t bytes = 0;  // of the last save
    double seconds_per_byte = 0;  // smoothed
    std::uint32_t saves = 0;  // of about these bytes
  };
  const Cost* find(const LayoutOption& option, const AutoFacts& facts) const;

  std::vector<Cost> costs_;
};

// The table alone: what is chosen before anything was measured, and why.
AutoChoice choose_by_table(const AutoFacts& facts);

}  // namespace stratalog
