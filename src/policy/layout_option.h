// SPDX-License-Identifier: Apache-2.0
// LayoutOption: a way to write a checkpoint, as the learned modes (auto, hdf5-auto) tell them
// apart; which ways there are at all, which come first by the table of file system, ranks, bytes
// and skew, and which are next to each other. AutoFacts must be equal on all ranks (sums and maxima
// over them). Pure; local.
#pragma once

#include <cstdint>
#include <optional>
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

// A way to write a checkpoint. 0 or absent: as the policy thinks best (policy/plan_layout.h).
struct LayoutOption {
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  std::uint32_t files = 0;  // shared files over which ranks are spread; 0 in mode fpp
  std::uint32_t aggregators = 0;  // shared-opt and hdf5-opt
  std::uint64_t alignment = 0;  // shared files only
  std::uint32_t relations_per_file = 0;
  TupleCoding coding = TupleCoding::kAsAsked;
  std::optional<std::uint32_t> deflate_level;  // hdf5-opt; 0: contiguous
  friend bool operator==(const LayoutOption&, const LayoutOption&) = default;
};

enum class CodingWish : std::uint8_t { kAsAsked, kFree };
// Whose choice it is: what the files may look like.
enum class LearnedFormat : std::uint8_t {
  kEncoded,  // mode auto: fpp or shared-opt
  kRows,  // mode hdf5-auto: hdf5-direct or hdf5-opt
};
enum class CollectiveHdf5 : std::uint8_t { kThere, kMissing };

struct AutoFacts {
  LearnedFormat format = LearnedFormat::kEncoded;
  int ranks = 1;
  int nodes = 1;
  FileSystemFacts file_system;
  std::uint64_t bytes = 0;  // about as many as will be written (before deflate), by all ranks
  std::uint64_t largest_rank_bytes = 0;
  std::uint32_t images = 1;  // relation versions with rows
  CollectiveHdf5 collective_hdf5 = CollectiveHdf5::kThere;  // on all ranks; hdf5-opt needs it
  std::uint32_t wished_files = 0;  // a user's --files: shared files it is
  // What else the user insists on is not tried otherwise.
  std::uint32_t wished_aggregators = 0;
  std::uint64_t wished_alignment = 0;
  std::uint32_t wished_relations = 0;
  std::optional<std::uint32_t> wished_deflate;  // a level: hdf5-opt it is
  CodingWish coding = CodingWish::kAsAsked;
};

struct AutoChoice {
  LayoutOption option;
  std::vector<Reason> reasons;  // with the measured costs that decided
};

// The table alone: what is chosen before anything was measured, and why.
AutoChoice choose_by_table(const AutoFacts& facts);

// The modes, each with all else as the policy thinks best, and what else is far from its
// neighbours: they are measured first. Never empty; the table's choice is one of them.
std::vector<LayoutOption> starting_options(const AutoFacts& facts);

// All that differ from `option` in one thing by one step, in the order in which they are tried:
// other modes first. Never against a wish of the user, never beyond what ranks and bytes allow.
std::vector<LayoutOption> neighbours(const LayoutOption& option, const AutoFacts& facts);

// Whether there are facts and wishes for which it is tried.
bool is_possible(const LayoutOption& option);

// Whether what was good for other facts may be taken for these. What the option leaves open (0)
// must have been left open, or asked for, alike.
bool is_allowed(const LayoutOption& option, const AutoFacts& facts);

// Seconds that a save of these bytes takes at least, whatever the file system: deflating them.
double least_seconds(const LayoutOption& option, const AutoFacts& facts);

// "shared-opt over 2 files, 4 aggregators, aligned to 1 MiB, streams".
std::string option_text(const LayoutOption& option);
// For people: estimates need no last digit.
std::string about_bytes(std::uint64_t bytes);

}  // namespace stratalog
