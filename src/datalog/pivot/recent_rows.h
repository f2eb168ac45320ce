// SPDX-License-Identifier: Apache-2.0
// RecentRows: where the rows lie that PackedRows stored lately. Slots that follow each other in a
// graph are reached by nearly the same lanes, so most rows of a block equal one of the last
// thousand or so, and are stored as a reference to it. A direct-mapped table that is compared row
// by row: a miss costs bytes, never correctness. Local.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace stratalog {

inline constexpr std::uint32_t kMaxRowWords = 8;

class RecentRows {
 public:
  struct Row {
    std::array<std::uint64_t, kMaxRowWords> words;
    std::uint64_t position = kNowhere;  // in the stream of the PackedRows
    std::uint32_t tuples = 0;

    bool equals(const std::uint64_t* other, std::uint32_t width) const {
      return position != kNowhere && std::equal(other, other + width, words.begin());
    }
    void set(const std::uint64_t* other, std::uint32_t width, std::uint64_t at,
             std::uint32_t count) {
      std::copy(other, other + width, words.begin());
      position = at;
      tuples = count;
    }
  };

  RecentRows() : rows_(kRows) {}

  // Rows of other PackedRows follow, of the same width or another one.
  void clear() {
    for (Row& row : rows_) row.position = kNowhere;
  }
  // The only place where a row of these words is remembered; it may hold another one.
  Row& place_of(const std::uint64_t* words, std::uint32_t width) {
    std::uint64_t sum = 0;
    for (std::uint32_t w = 0; w < width; ++w) sum += (words[w] ^ (words[w] >> 32)) * kFactors[w];
    return rows_[(sum ^ (sum >> 29)) * kFactors[0] >> (64 - kRowBits)];
  }
  std::uint64_t memory_bytes() const { return rows_.capacity() * sizeof(Row); }

 private:
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  static constexpr unsigned kRowBits = 10;
  static constexpr std::size_t kRows = std::size_t{1} << kRowBits;
  // Odd, otherwise arbitrary (multiples of the golden ratio).
  static constexpr std::array<std::uint64_t, kMaxRowWords> kFactors{
      0x9E3779B97F4A7C15ULL, 0x3C6EF372FE94F82BULL, 0xDAA66D2C7DDF743FULL, 0x78DDE6E5FD29F055ULL,
      0x1715609F7C746C69ULL, 0xB54CDA58FBBEE87FULL, 0x538454127B096493ULL, 0xF1BBCDCBFA53E0A9ULL};

  std::vector<Row> rows_;
};

}  // namespace stratalog
