// SPDX-License-Identifier: Apache-2.0
// LaneRow: one bit for each lane of a block, a whole cache line for 512 lanes. Plain loops over
// words, which the compiler turns into vector instructions. Pure; local.
#pragma once

#include <bit>
#include <cstdint>

namespace stratalog {

template <int kWords>
struct alignas(8 * kWords) LaneRow {
  std::uint64_t words[kWords] = {};

  bool is_empty() const {
    std::uint64_t any = 0;
    for (int w = 0; w < kWords; ++w) any |= words[w];
    return any == 0;
  }
  std::uint32_t count() const {
    int sum = 0;
    for (int w = 0; w < kWords; ++w) sum += std::popcount(words[w]);
    return static_cast<std::uint32_t>(sum);
  }
  bool has(std::uint32_t offset) const { return (words[offset / 64] >> (offset % 64) & 1) != 0; }
  void set(std::uint32_t offset) { words[offset / 64] |= std::uint64_t{1} << (offset % 64); }

  LaneRow& operator|=(const LaneRow& other) {
    for (int w = 0; w < kWords; ++w) words[w] |= other.words[w];
    return *this;
  }
  LaneRow& operator^=(const LaneRow& other) {
    for (int w = 0; w < kWords; ++w) words[w] ^= other.words[w];
    return *this;
  }
  friend LaneRow operator&(const LaneRow& a, const LaneRow& b) {
    LaneRow r;
    for (int w = 0; w < kWords; ++w) r.words[w] = a.words[w] & b.words[w];
    return r;
  }
  // a without b.
  friend LaneRow operator-(const LaneRow& a, const LaneRow& b) {
    LaneRow r;
    for (int w = 0; w < kWords; ++w) r.words[w] = a.words[w] & ~b.words[w];
    return r;
  }
};

}  // namespace stratalog
