// SPDX-License-Identifier: Apache-2.0
// Where ranks write in a shared file: offsets by prefix sum over what each brings to a round,
// aligned so that no two ranks share a page. Pure functions of values: every rank computes the
// same. O(ranks) per round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace stratalog {

inline constexpr std::uint64_t kExtentAlignment = 4096;

struct RoundPlan {
  std::vector<std::uint64_t> offsets;  // one per rank
  std::uint64_t end = 0;  // first byte after the last rank's bytes; where the next round may begin
};

// Rank r's `bytes[r]` go to offsets[r] >= begin, in rank order, each aligned to `alignment` (a
// power of two). Ranks without bytes get the running offset. InvalidArgument if the file would
// exceed 2^63 bytes.
Result<RoundPlan> plan_round(std::uint64_t begin, std::span<const std::uint64_t> bytes,
                             std::uint64_t alignment);

// Row r of the result: first row of rank r; the last entry is the total. InvalidArgument on
// overflow.
Result<std::vector<std::uint64_t>> plan_rows(std::span<const std::uint64_t> rows);

}  // namespace stratalog
