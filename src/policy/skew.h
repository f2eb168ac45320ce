// SPDX-License-Identifier: Apache-2.0
// Skew: how unevenly ranks share an output, and how they are dealt into phases because of it
// (HDF5-OPT 3.2 and table 1 O7). Integer arithmetic only, so that every rank decides the same.
// Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stratalog {

// How ranks without bytes count in the ratio of largest to smallest.
enum class EmptyRanks : std::uint8_t {
  kLeftOut,  // the smallest is taken among ranks with bytes
  kAsPrinted,  // max / min over all: any empty rank makes it infinite
};

struct Skew {
  std::uint64_t ranks = 0;
  std::uint64_t empty = 0;
  std::uint64_t sum = 0;
  std::uint64_t largest = 0;
  std::uint64_t smallest = 0;  // among ranks with bytes; 0 if there are none
  // (standard deviation / mean)^2 over all ranks, in thousandths, rounded down.
  std::uint64_t spread_squared_milli = 0;

  // largest / smallest > limit.
  bool ratio_exceeds(std::uint64_t limit, EmptyRanks empty_ranks) const;
  // standard deviation / mean > limit.
  bool spread_exceeds(std::uint64_t limit) const;
};

// O(ranks). Sums of up to 2^63 bytes.
Skew measure_skew(std::span<const std::uint64_t> bytes);

// 1, 4 or 8.
std::uint32_t phases_for(const Skew& skew, EmptyRanks empty_ranks);

// The phase of each rank: ranks by descending bytes (equal ones by number) are dealt back and forth
// over the phases, so that the phases' bytes differ by at most the largest rank's. O(ranks log
// ranks).
std::vector<std::uint32_t> deal_phases(std::span<const std::uint64_t> bytes, std::uint32_t phases);

}  // namespace stratalog
