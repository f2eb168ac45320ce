// SPDX-License-Identifier: Apache-2.0
// Linear counting of distinct cells (Whang et al., 1990) on a small bitmap, so that the count is
// the same at any number of ranks: their bitmaps are united. Pure; local.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace stratalog::datalog {

// 2^14 bits: good to a few percent up to some 50,000 distinct values, and a lower bound beyond,
// which is all that join orders need.
inline constexpr std::uint64_t kDistinctBits = 1U << 14;
inline constexpr std::size_t kDistinctWords = kDistinctBits / 64;

// `hash`: of a value, or of some together.
inline void mark_distinct(std::uint64_t hash, std::span<std::uint64_t> bitmap) {
  const std::uint64_t bit = hash % kDistinctBits;
  bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
}

inline std::uint64_t count_distinct(std::span<const std::uint64_t> bitmap) {
  std::uint64_t set = 0;
  for (const std::uint64_t word : bitmap) set += static_cast<std::uint64_t>(std::popcount(word));
  if (set == kDistinctBits) return kDistinctBits * 10;
  const double empty =
      static_cast<double>(kDistinctBits - set) / static_cast<double>(kDistinctBits);
  return static_cast<std::uint64_t>(
      std::llround(-static_cast<double>(kDistinctBits) * std::log(empty)));
}

}  // namespace stratalog::datalog
