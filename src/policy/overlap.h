// SPDX-License-Identifier: Apache-2.0
// Who packs a checkpoint that is written beside a recursion. A thread of its own does where a core
// is free for it. Where ranks fill the cores, such a thread takes turns with the evaluation, needs
// nearly twice as long for packing, and copies of what grows: there the evaluating rank packs at
// the safe point, into memory of bounded size, and only writing and fsync go on beside the next
// rounds. The same where ranks need each other to pack: that they can at a safe point only. Modes
// in which they need each other to write have none of this. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/checkpoint_mode.h"

namespace stratalog {

enum class OverlapWay : std::uint8_t {
  kNone,  // the evaluation waits for all of it
  kWrite,  // the evaluating rank packs; a thread writes
  kPack,  // a thread packs and writes
};

std::string_view overlap_name(OverlapWay way);  // "none", "write", "pack"

// The same on every rank, so that all decide alike.
struct OverlapFacts {
  // Of the ranks that share their cores with each other, those with the fewest cores to spare.
  std::uint32_t cores = 1;
  std::uint32_t ranks = 1;
  // Of the last checkpoint, where there is one: bytes a rank, and the slowest rank's seconds.
  std::uint64_t last_bytes = 0;
  double last_pack_seconds = 0;
  double last_write_seconds = 0;  // with fsync
  std::uint64_t buffer_bytes = 0;  // what may be packed and not yet written
};

struct OverlapPlan {
  OverlapWay way = OverlapWay::kNone;
  std::string reason;
};

// How much of a checkpoint of that mode can go on beside the caller: everything, where ranks write
// without collective calls of MPI-IO or HDF5. Of a learned mode, what it may choose at best.
OverlapWay most_overlap(CheckpointMode mode);
// The modes that can do at least `way`, for a sentence: "fpp, hdf5-direct, hdf5-auto and auto".
std::string modes_that_overlap(OverlapWay way);

// `wish`: what the user insists on, as far as the mode can.
OverlapPlan plan_overlap(const OverlapFacts& facts, std::optional<OverlapWay> wish,
                         CheckpointMode mode);

// What is left of `plan` once the mode is chosen.
OverlapPlan limit_overlap(const OverlapPlan& plan, CheckpointMode mode);

// Whether threads that pack in that mode need collective calls on the way: to find places in files
// that ranks share, to lay out streams, or for rows where ranks send each other what lies in the
// blocks in which they meet (`edge_alignment` above 1). Their callers make them, at safe points.
bool packs_with_calls(CheckpointMode mode, std::uint64_t edge_alignment);

}  // namespace stratalog
