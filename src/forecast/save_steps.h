// SPDX-License-Identifier: Apache-2.0
// The steps of a checkpoint and of a restart, from the real planners: plan_layout decides (policy),
// plan_round, plan_rows, plan_write_edge and plan_read_ranges place (place), stages are cut as the
// writers cut them. What has no planner is stated here: collective writes go through aggregators
// that own stripes in turn, as the Lustre drivers of MPI-IO deal them. Deflate shortens every chunk
// alike. Pure; local; O(ranks * rounds + stripes).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "forecast/machine.h"
#include "forecast/steps.h"
#include "policy/layout_plan.h"
#include "write/parallel_files.h"

namespace stratalog {

// Of the manifest, for each shard: names, counts, hashes, zones.
constexpr std::uint64_t kShardLineBytes = 160;

// Files that one rank creates by ordinary calls have the stripes of their folder, which only `lfs`
// sets (checkpoint/striped_folder.h); those that MPI-IO creates have what hints say.
enum class LfsProgram : std::uint8_t { kThere, kMissing };

struct SaveQuestion {
  LayoutFacts facts;
  LayoutWishes wishes;  // never mode auto
  std::uint64_t stage_bytes = 0;  // WriterOptions::stage_bytes
  SyncFiles sync = SyncFiles::kYes;
  LfsProgram lfs = LfsProgram::kThere;
};

// Where one rank's part of one dataset lies; transfers name the writing rank.
using ShardExtents = std::vector<Transfer>;

struct SaveForecast {
  LayoutPlan plan;
  Steps steps;
  std::vector<ShardExtents> shards;  // those with rows
  std::uint64_t aggregators = 0;  // of a file; 0 where there is no collective write
};

// InvalidArgument as plan_layout.
Result<SaveForecast> forecast_save(const SaveQuestion& question, const Machine& machine);

// No checkpoint: as many bytes, one write and perhaps an fsync for each rank and dataset, into a
// file for each, or one for all ranks with parts as they meet.
enum class BareFiles : std::uint8_t { kOwn, kShared };
Steps bare_save(const SaveQuestion& question, BareFiles files);

// kAsWritten on as many readers as writers: each reads its own shards (RA-checkpoint's
// offset-metadata). Otherwise readers read equal parts and send tuples to their owners.
Steps forecast_restart(const SaveForecast& saved, int readers, ReadParts parts);

// What the policy is told of the machine's file system.
FileSystemFacts file_system_of(const Machine& machine);

}  // namespace stratalog
