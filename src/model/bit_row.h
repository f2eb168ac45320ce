// SPDX-License-Identifier: Apache-2.0
// BitRow: a set as bits over a table of cells that many sets share, and what differs between two of
// them. Neighbours in a walk often differ in a few bits of hundreds. Pure; local.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "model/cell.h"

namespace stratalog {

inline constexpr std::size_t kMaxBitRowWords = 8;
inline constexpr std::size_t kMaxBitRowCells = 64 * kMaxBitRowWords;

using BitRowWords = std::array<std::uint64_t, kMaxBitRowWords>;

// cells[i] is in the set where bit i is set. Rows of one table have the same cells.
struct BitRow {
  std::span<const std::uint64_t> words;  // at most kMaxBitRowWords; none: not shown as bits
  std::span<const Cell> cells;  // ascending; one for each bit that may be set
  std::uint64_t table = 0;  // not 0; another number for other cells
};

// How a row differs from another one.
struct BitRowChanges {
  BitRowWords words{};  // bits that differ
  std::uint32_t count = 0;  // of bits that are set in the row
  std::uint32_t changed = 0;  // of bits that differ
};

inline BitRowChanges changes_between(const BitRow& row, const BitRowWords& other) {
  BitRowChanges changes;
  for (std::size_t w = 0; w < row.words.size(); ++w) {
    changes.words[w] = row.words[w] ^ other[w];
    changes.count += static_cast<std::uint32_t>(std::popcount(row.words[w]));
    changes.changed += static_cast<std::uint32_t>(std::popcount(changes.words[w]));
  }
  return changes;
}

// Writes the positions of the set bits to out, out + stride, ...; returns how many there are. May
// write one position too many. The first two bits of a word go without a branch: most words have no
// more, and loops mispredict.
inline std::uint32_t write_positions(const std::uint64_t* words, std::uint32_t width,
                                     std::uint16_t* out, std::uint32_t stride) {
  std::uint32_t count = 0;
  for (std::uint32_t w = 0; w < width; ++w) {
    std::uint64_t word = words[w];
    for (int i = 0; i < 2; ++i) {
      out[stride * count] = static_cast<std::uint16_t>((w * 64) + std::countr_zero(word));
      count += word != 0 ? 1 : 0;
      word &= word - 1;
    }
    for (; word != 0; word &= word - 1)
      out[stride * count++] = static_cast<std::uint16_t>((w * 64) + std::countr_zero(word));
  }
  return count;
}

// Positions of the set bits of a row, ascending.
class BitPositions {
 public:
  explicit BitPositions(std::span<const std::uint64_t> words)
      : size_(write_positions(words.data(), static_cast<std::uint32_t>(words.size()),
                              positions_.data(), 1)) {}
  std::span<const std::uint16_t> all() const { return std::span(positions_).first(size_); }

 private:
  std::array<std::uint16_t, kMaxBitRowCells + 1> positions_;
  std::size_t size_;
};

}  // namespace stratalog
