// SPDX-License-Identifier: Apache-2.0
// RankedCells: ascending cells, each found with its rank by one look at memory: a bit for each cell
// of their range, and beside each 32 of these how many cells come before. Takes two bits for each
// cell of the range, where a table of ranks would take 32 and hashes at least 50 for each cell that
// is there. Cells that are too far apart are left to others. Local; safe for concurrent readers.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "model/cell.h"

namespace stratalog {

class RankedCells {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFU;

  // Takes the first of `count` cells, `cell_of(rank)`, ascending and distinct: as many as lie close
  // enough together, perhaps none. Requires that there were none.
  template <typename CellOf>
  void assign(std::uint32_t count, const CellOf& cell_of) {
    while (count > 0 && !are_close(cell_of(0), cell_of(count - 1), count)) --count;
    size_ = count;
    if (count == 0) return;
    first_word_ = cell_of(0) / kWordCells;
    words_.resize(cell_of(count - 1) / kWordCells - first_word_ + 1);
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      const Cell cell = cell_of(rank);
      words_[cell / kWordCells - first_word_].bits |= 1U << (cell % kWordCells);
    }
    std::uint32_t before = 0;
    for (Word& word : words_) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
  }

  // How many were taken.
  std::uint32_t size() const { return size_; }
  // Whether a cell lies between those that were taken, about.
  bool reaches(Cell cell) const { return place_of(cell) < words_.size(); }
  // The rank, or kAbsent.
  std::uint32_t find(Cell cell) const {
    const std::uint32_t place = place_of(cell);
    if (place >= words_.size()) return kAbsent;
    const Word word = words_[place];
    const std::uint32_t bit = 1U << (cell % kWordCells);
    if ((word.bits & bit) == 0) return kAbsent;
    return word.before + static_cast<std::uint32_t>(std::popcount(word.bits & (bit - 1)));
  }
  // Requires that it is reached.
  void prefetch(Cell cell) const { prefetch_for_reading(words_.data() + place_of(cell)); }

  std::uint64_t heap_bytes() const { return words_.capacity() * sizeof(Word); }

 private:
  static constexpr Cell kWordCells = 32;
  // So wide a range for each cell that is there: at most eight bytes.
  static constexpr std::uint64_t kMostRange = 32;
  struct Word {
    std::uint32_t bits = 0;
    std::uint32_t before = 0;
  };

  static bool are_close(Cell lowest, Cell highest, std::uint64_t count) {
    return highest - lowest < kMostRange * count;
  }
  // Beyond all words where it is below them.
  std::uint32_t place_of(Cell cell) const { return (cell / kWordCells) - first_word_; }

  std::vector<Word> words_;
  std::uint32_t first_word_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace stratalog
