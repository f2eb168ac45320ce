// SPDX-License-Identifier: Apache-2.0
// Staging directories of several nodes: which rank looks after which, and what has to be copied
// from where so that a generation that was left in them arrives at home. Every node has a stage
// that only its own ranks see; home is seen by all. Pure; the same on every rank.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "place/checkpoint_names.h"

namespace stratalog {

// What a rank does besides writing its files into its node's stage.
enum class StageRole : std::uint8_t {
  kWrites,  // nothing
  kDrains,  // the lowest rank of another node: keeps that stage's folders and drains what is in it
  kPublishes,  // rank 0: the same for its node; and commits, and publishes at home
};

struct StageSeat {
  int node = 0;
  int nodes = 1;
  StageRole role = StageRole::kPublishes;

  bool spans_nodes() const { return nodes > 1; }
  // Whether this rank acts for its node.
  bool leads() const { return role != StageRole::kWrites; }
};

// `node_of_rank`: as Topology has it, or empty where all ranks share one node. O(ranks).
StageSeat plan_stage_seat(std::span<const int> node_of_rank, int rank);

struct StagedFile {
  std::string name;
  std::uint64_t bytes = 0;
  friend auto operator<=>(const StagedFile&, const StagedFile&) = default;
};

// What one stage has of one generation.
struct StageHolding {
  GenerationId id;
  int node = 0;
  std::vector<StagedFile> files;
};

// A generation whose manifest was found in a stage: its own files, and those that are at home.
struct StagedGeneration {
  GenerationId id;
  std::vector<StagedFile> files;
  std::vector<StagedFile> home;
};

// Files that the leader of `node` copies home, in the order of the manifest.
struct StageCopies {
  int node = 0;
  std::vector<StagedFile> files;
  friend bool operator==(const StageCopies&, const StageCopies&) = default;
};

struct StageRecovery {
  GenerationId id;
  std::vector<StageCopies> copies;  // by node, ascending
  std::vector<std::string> missing;  // files that are nowhere in their full length

  bool is_complete() const { return missing.empty(); }
};

// For each of `generations` what has to be copied by whom: nothing twice, nothing that home has; of
// several stages with the same file the lowest node's. O((files + holdings) log files).
std::vector<StageRecovery> plan_stage_recovery(std::span<const StagedGeneration> generations,
                                               std::span<const StageHolding> holdings);

}  // namespace stratalog
