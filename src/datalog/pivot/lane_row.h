// SPDX-License-Identifier: Apache-2.0
// LaneRow: one bit for each lane of a block, a whole cache line for 512 lanes. Written with the
// compiler's vector type, because GCC 12 turns loops over eight words into a mixture of scalar and
// vector code. Pure; local.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace stratalog {

template <int kWords>
struct alignas(8 * kWords) LaneRow {
  typedef std::uint64_t Bits
      __attribute__((vector_size(8 * kWords)));  // NOLINT: attribute needs it

  Bits bits = {};

  // Copies whole vectors: the compiler's own copy goes by 16 bytes, and reading back 32 of them
  // stalls.
  LaneRow() = default;
  LaneRow(const LaneRow& other) : bits(other.bits) {}
  explicit LaneRow(const Bits& other) : bits(other) {}
  LaneRow& operator=(const LaneRow& other) {
    bits = other.bits;  // NOLINT(bugprone-unhandled-self-assignment): the same bits
    return *this;
  }
  ~LaneRow() = default;
  static LaneRow all() { return LaneRow(~Bits{}); }

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(&bits); }
  const std::uint64_t* words() const { return reinterpret_cast<const std::uint64_t*>(&bits); }

  bool is_empty() const {
    if constexpr (kWords == 1) {
      return words()[0] == 0;
    } else {
      typename LaneRow<kWords / 2>::Bits halves[2];
      std::memcpy(halves, &bits, sizeof(bits));
      return LaneRow<kWords / 2>(halves[0] | halves[1]).is_empty();
    }
  }
  std::uint32_t count() const {
    int sum = 0;
    for (int w = 0; w < kWords; ++w) sum += std::popcount(words()[w]);
    return static_cast<std::uint32_t>(sum);
  }
  bool has(std::uint32_t offset) const { return (words()[offset / 64] >> (offset % 64) & 1) != 0; }
  void set(std::uint32_t offset) { words()[offset / 64] |= std::uint64_t{1} << (offset % 64); }

  LaneRow& operator|=(const LaneRow& other) {
    bits |= other.bits;
    return *this;
  }
  LaneRow& operator^=(const LaneRow& other) {
    bits ^= other.bits;
    return *this;
  }
  friend LaneRow operator&(const LaneRow& a, const LaneRow& b) { return LaneRow(a.bits & b.bits); }
  friend LaneRow operator|(const LaneRow& a, const LaneRow& b) { return LaneRow(a.bits | b.bits); }
  friend LaneRow operator^(const LaneRow& a, const LaneRow& b) { return LaneRow(a.bits ^ b.bits); }
  // a without b.
  friend LaneRow operator-(const LaneRow& a, const LaneRow& b) { return LaneRow(a.bits & ~b.bits); }
};

}  // namespace stratalog
