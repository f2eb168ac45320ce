// SPDX-License-Identifier: Apache-2.0
// plan_layout: the policy. One pure function from (bytes per rank, rows, columns, ranks, file
// system) and the user's wishes to a plan with its reasons; the same on every rank, in integers, at
// any number of ranks (HDF5-OPT 3.3 "Parameter selection policy"; what the paper prints and does
// harm is in policy/ladder.h). Knows nothing of files. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/layout_plan.h"

namespace stratalog {

// InvalidArgument for wishes that contradict each other or the mode: --files with fpp, an alignment
// that is no power of two, a learned mode (policy/learning.h resolves
// that first). O(datasets * ranks).
Result<LayoutPlan> plan_layout(const LayoutFacts& facts, const LayoutWishes& wishes);

// Over how many files hdf5-direct spreads ranks that write about so many bytes, where nobody chose:
// a kernel lets one writer at a time into a file, so that two ranks write one file half as fast as
// two (docs/bench.md). One where other machines' kernels take part. Pure.
std::uint32_t plan_direct_files(const FileSystemFacts& file_system, std::uint64_t ranks,
                                std::uint64_t bytes);

// Spreads ranks over `files` groups of consecutive ranks, in rank order: whole nodes while there
// are at least as many nodes as files, cut so that the groups' bytes are as equal as whole nodes
// (or ranks) allow. Groups may be fewer than files, never empty of ranks. As many files as nodes:
// one for each node, whatever it holds and wherever its ranks lie. O(ranks).
std::vector<std::uint32_t> group_ranks(std::span<const std::uint64_t> bytes_of_rank,
                                       std::span<const int> node_of_rank, std::uint32_t files);

}  // namespace stratalog
