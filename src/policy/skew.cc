// SPDX-License-Identifier: Apache-2.0
#include "policy/skew.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "policy/thresholds.h"

namespace stratalog {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

Skew measure_skew(std::span<const std::uint64_t> bytes) {
  Skew skew;
  skew.ranks = bytes.size();
  for (const std::uint64_t b : bytes) {
    skew.sum += b;
    skew.largest = std::max(skew.largest, b);
    if (b == 0)
      ++skew.empty;
    else
      skew.smallest = skew.smallest == 0 ? b : std::min(skew.smallest, b);
  }
  if (skew.sum == 0) return skew;
  // variance / mean^2 = ranks * sum(b^2) / sum(b)^2 - 1; scaled down so that no product overflows
  // 128 bits up to 2^31 ranks.
  const int shift = std::max(0, static_cast<int>(std::bit_width(skew.largest)) - 30);
  Wide sum = 0;
  Wide squares = 0;
  for (const std::uint64_t b : bytes) {
    const Wide scaled = b >> shift;
    sum += scaled;
    squares += scaled * scaled;
  }
  const Wide scaled_up = squares * skew.ranks;  // below 2^122
  const Wide square = sum * sum;
  const Wide thousandths =
      scaled_up < (Wide{1} << 117) ? scaled_up * 1000 / square : scaled_up / (square / 1000);
  skew.spread_squared_milli =
      thousandths > 1000 ? static_cast<std::uint64_t>(std::min<Wide>(thousandths - 1000, ~0ULL))
                         : 0;
  return skew;
}

bool Skew::ratio_exceeds(std::uint64_t limit, EmptyRanks empty_ranks) const {
  if (sum == 0) return false;
  if (empty_ranks == EmptyRanks::kAsPrinted && empty != 0) return true;
  return Wide{largest} > Wide{limit} * smallest;
}

bool Skew::spread_exceeds(std::uint64_t limit) const {
  return spread_squared_milli > limit * limit * 1000;
}

std::uint32_t phases_for(const Skew& skew, EmptyRanks empty_ranks) {
  const auto exceeds = [&](Limit ratio, Limit spread) {
    return skew.ratio_exceeds(value_of(ratio), empty_ranks) ||
           skew.spread_exceeds(value_of(spread));
  };
  if (exceeds(Limit::kVeryUnevenRatio, Limit::kVeryUnevenSpread))
    return static_cast<std::uint32_t>(value_of(Limit::kManyPhases));
  if (exceeds(Limit::kUnevenRatio, Limit::kUnevenSpread))
    return static_cast<std::uint32_t>(value_of(Limit::kSomePhases));
  return 1;
}

std::vector<std::uint32_t> deal_phases(std::span<const std::uint64_t> bytes, std::uint32_t phases) {
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
  });
  std::vector<std::uint32_t> phase_of(bytes.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(i % phases);
    const bool back = i / phases % 2 == 1;
    phase_of[order[i]] = back ? phases - 1 - at : at;
  }
  return phase_of;
}

}  // namespace stratalog
