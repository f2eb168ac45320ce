// SPDX-License-Identifier: Apache-2.0
#include "place/read_ranges.h"

#include <algorithm>

namespace stratalog {

std::vector<ShardRange> plan_read_ranges(std::span<const std::uint64_t> shard_bytes, int readers,
                                         int reader) {
  std::uint64_t total = 0;
  for (const std::uint64_t bytes : shard_bytes) total += bytes;
  const auto cut = [&](int at) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(total) * static_cast<unsigned>(at) /
                                      static_cast<unsigned>(readers));
  };
  const std::uint64_t low = cut(reader);
  const std::uint64_t high = cut(reader + 1);
  std::vector<ShardRange> ranges;
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < shard_bytes.size() && start < high; ++i) {
    const std::uint64_t end = start + shard_bytes[i];
    const std::uint64_t from = std::max(start, low);
    const std::uint64_t to = std::min(end, high);
    if (from < to) ranges.push_back({.shard = i, .begin = from - start, .end = to - start});
    start = end;
  }
  return ranges;
}

}  // namespace stratalog
