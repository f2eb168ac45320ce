// SPDX-License-Identifier: Apache-2.0
// A collective write of MPI-IO as two phases: bytes go to aggregators, aggregators write stripes.
// Stripe s of a file belongs to aggregator s mod n, as the Lustre drivers of MPI-IO deal them, so
// no stripe has two writers. cb_nodes and cb_buffer_size are taken from the plan's hints; without
// hints there is an aggregator for each stripe of the file. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checkpoint/save_layout.h"
#include "forecast/machine.h"
#include "forecast/steps.h"

namespace stratalog {

struct CollectiveWrite {
  std::vector<Transfer> transfers;  // of aggregators
  std::uint64_t busiest_bytes = 0;  // sent or received by one process
  std::uint64_t messages = 0;  // at the busiest aggregator: all ranks, for each buffer
  std::uint64_t aggregators = 0;  // of a file
};

// `pieces`: one round, any order, disjoint; their files' groups of ranks are the layout's.
CollectiveWrite plan_collective_write(std::span<const Transfer> pieces,
                                      std::span<const FileStripes> files, const SaveLayout& layout,
                                      const Machine& machine);

}  // namespace stratalog
