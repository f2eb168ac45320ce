// SPDX-License-Identifier: Apache-2.0
// LayoutLearner: mode auto. Begins with a table by file system, ranks, bytes and skew, remembers
// what every save cost, and goes from the cheapest way to its neighbours: another mode, more or
// fewer files or aggregators, another alignment or encoding, one of them every few saves. The same
// calls give the same choices on every rank, so all that goes in must be equal everywhere (sums and
// maxima over ranks). Knows no files. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/checkpoint_mode.h"
#include "policy/file_system_facts.h"
#include "policy/layout_plan.h"

namespace stratalog {

// How tuples become bytes, as far as auto decides it; encode/shard_encoding.h says what they are.
enum class TupleCoding : std::uint8_t { kAsAsked, kCompact, kStreams, kBlockwise };

// All relations of a rank or of a group of ranks in one file.
inline constexpr std::uint32_t kAllRelations = ~std::uint32_t{0};

// A way to write a checkpoint. 0: as the policy thinks best (policy/plan_layout.h).
struct LayoutOption {
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  std::uint32_t files = 0;  // shared files over which ranks are spread; 0 in mode fpp
  std::uint32_t aggregators = 0;  // shared files only
  std::uint64_t alignment = 0;  // shared files only
  std::uint32_t relations_per_file = 0;
  TupleCoding coding = TupleCoding::kAsAsked;
  friend bool operator==(const LayoutOption&, const LayoutOption&) = default;
};

enum class CodingWish : std::uint8_t { kAsAsked, kFree };

struct AutoFacts {
  int ranks = 1;
  int nodes = 1;
  FileSystemFacts file_system;
  std::uint64_t bytes = 0;  // about as many as will be written, by all ranks
  std::uint64_t largest_rank_bytes = 0;
  std::uint32_t images = 1;  // relation versions with rows
  std::uint32_t wished_files = 0;  // a user's --files: shared files it is
  // What else the user insists on is not tried otherwise.
  std::uint32_t wished_aggregators = 0;
  std::uint64_t wished_alignment = 0;
  std::uint32_t wished_relations = 0;
  CodingWish coding = CodingWish::kAsAsked;
};

struct AutoChoice {
  LayoutOption option;
  std::vector<Reason> reasons;  // with the measured costs that decided
};

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

// The table alone: what is chosen before anything was measured, and why.
AutoChoice choose_by_table(const AutoFacts& facts);

// All that differ from `option` in one thing by one step, in the order in which they are tried:
// other modes first. Never against a wish of the user, never beyond what ranks and bytes allow.
std::vector<LayoutOption> neighbours(const LayoutOption& option, const AutoFacts& facts);

// "shared-opt over 2 files, 4 aggregators, aligned to 1 MiB, streams".
std::string option_text(const LayoutOption& option);

}  // namespace stratalog
