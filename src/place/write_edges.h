// SPDX-License-Identifier: Apache-2.0
// Who writes the blocks in which two ranks' parts of a file meet, where no block may have two
// writers: the rank that has the block's first byte of the dataset. The others ship their bytes of
// it. Pure: every rank computes the same; O(log ranks) for one rank's own part.
#pragma once

#include <cstdint>
#include <span>

namespace stratalog {

// A dataset that lies contiguously in a file from `offset` on. begins[r] is where rank r's bytes
// begin, relative to the dataset; the last entry is its size. Ranks without bytes have the next
// rank's begin.
struct EdgeFacts {
  std::uint64_t offset = 0;
  std::uint64_t alignment = 1;  // a power of two
};

struct WriteEdge {
  std::uint64_t shipped_bytes = 0;  // from the begin of the rank's part; all of it if it is short
  int writer = 0;  // who writes them; the rank itself if there are none
};

WriteEdge plan_write_edge(std::span<const std::uint64_t> begins, int rank, const EdgeFacts& facts);

}  // namespace stratalog
