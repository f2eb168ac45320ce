// SPDX-License-Identifier: Apache-2.0
// CoreShare: how many cores ranks have for themselves. Launchers bind ranks to cores or leave them
// free; what counts is which cores the system lets each rank run on, and who else runs there.
// gather_core_share is collective; the rest is pure and local.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

// One bit for each core of a node, the first 1,024 of them.
using CoreSet = std::array<std::uint64_t, 16>;

// Cores, and the ranks that run on them.
struct CoreShare {
  std::uint32_t cores = 1;
  std::uint32_t ranks = 1;
  friend bool operator==(const CoreShare&, const CoreShare&) = default;
};

// Ranks of a node whose sets overlap, directly or by way of others, share all their cores. Of these
// shares the one with the fewest cores to spare. Both spans have an entry for each rank; without
// nodes all ranks are on one.
CoreShare tightest_share(std::span<const CoreSet> cores_of_rank, std::span<const int> node_of_rank);

// Local. The cores that the system lets this thread run on.
CoreSet allowed_cores();

// The same on every rank.
Result<CoreShare> gather_core_share(Comm& comm, std::span<const int> node_of_rank);

}  // namespace stratalog
