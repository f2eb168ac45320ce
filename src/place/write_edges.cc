// SPDX-License-Identifier: Apache-2.0
#include "place/write_edges.h"

#include <algorithm>

namespace stratalog {

WriteEdge plan_write_edge(std::span<const std::uint64_t> begins, int rank, const EdgeFacts& facts) {
  const auto me = static_cast<std::size_t>(rank);
  const std::uint64_t begin = begins[me];
  const std::uint64_t end = begins[me + 1];
  WriteEdge edge{.shipped_bytes = 0, .writer = rank};
  const std::uint64_t within = (facts.offset + begin) % facts.alignment;
  if (begin == end || begin == 0 || within == 0) return edge;
  // The first byte of the dataset in this block belongs to the last rank that begins at or before
  // it and has bytes.
  const std::uint64_t first = begin - std::min(within, begin);
  const auto after = std::upper_bound(begins.begin(), begins.end() - 1, first);
  edge.writer = static_cast<int>(after - begins.begin()) - 1;
  edge.shipped_bytes = std::min(end - begin, facts.alignment - within);
  return edge;
}

}  // namespace stratalog
