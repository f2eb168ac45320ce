// SPDX-License-Identifier: Apache-2.0
// 256 numbers of 0 to 32 bits each in 32 * width bytes: the unit of packed streams. Number i lies
// in lane i % 8 as its (i / 8)-th number; a lane's numbers follow one another bit by bit, least
// significant first, through `width` words of 32 bits; word j of lane l is word 8 j + l. So plain
// loops over eight lanes become vector code on any machine, and numpy unpacks many units at once.
// Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stratalog {

inline constexpr std::size_t kPackedValues = 256;
inline constexpr unsigned kMaxPackedWidth = 32;

constexpr std::size_t packed_words(unsigned width) { return std::size_t{8} * width; }

// Packs the low `width` (<= 32) bits of `values` into packed_words(width) words at `to`.
void pack_bits(std::span<const std::uint32_t, kPackedValues> values, unsigned width,
               std::uint32_t* to);

// The reverse; `from` need not be aligned.
void unpack_bits(const std::byte* from, unsigned width,
                 std::span<std::uint32_t, kPackedValues> values);

}  // namespace stratalog
