// SPDX-License-Identifier: Apache-2.0
// Cell: what a column of a relation holds in memory, always 32 bits. Small numbers stand for
// themselves; symbols are their dense id; any other 64-bit pattern is interned in a WideTable and
// stands as its id with the top bit set. So two values are equal exactly if their cells are, and
// 64-bit numbers cost nothing as long as they are small. Pure; local.
//
//   cell < kNegativeBase                    the number itself, 0 .. 2^31 - 2^24 - 1
//   kNegativeBase <= cell < kWideBase       a small negative number, cell - 2^31, that is -2^24 ..
//   -1 cell >= kWideBase                       wide id cell - 2^31
// Cells of symbol columns are plain symbol ids below 2^31.
#pragma once

#include <cstdint>

namespace stratalog {

using Cell = std::uint32_t;

inline constexpr Cell kWideBase = 0x80000000U;
inline constexpr Cell kNegativeBase = kWideBase - (1U << 24);

// Whether the 64-bit pattern (of a number, unsigned or float) has a cell of its own without
// interning.
constexpr bool is_narrow(std::uint64_t bits) {
  return bits < kNegativeBase || bits >= ~std::uint64_t{0} - ((1U << 24) - 1);
}

// Requires is_narrow(bits).
constexpr Cell narrow_cell(std::uint64_t bits) {
  return bits < kNegativeBase ? static_cast<Cell>(bits) : static_cast<Cell>(bits + kWideBase);
}

constexpr bool is_wide_cell(Cell cell) { return cell >= kWideBase; }

// Requires !is_wide_cell(cell).
constexpr std::uint64_t narrow_bits(Cell cell) {
  return cell < kNegativeBase ? cell : static_cast<std::uint64_t>(cell) - kWideBase;
}

static_assert(narrow_bits(narrow_cell(0)) == 0);
static_assert(narrow_bits(narrow_cell(~std::uint64_t{0})) == ~std::uint64_t{0});
static_assert(narrow_cell(~std::uint64_t{0}) == kWideBase - 1);
static_assert(!is_narrow(kNegativeBase) && !is_narrow(~std::uint64_t{0} - (1U << 24)));

}  // namespace stratalog
