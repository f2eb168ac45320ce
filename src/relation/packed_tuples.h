// SPDX-License-Identifier: Apache-2.0
// PackedTuples: tuples as one integer each, so that they are sorted by radix and compared in one
// step: every column's distance from its lowest cell takes as many bits as its range needs, the
// first column the highest. Keys of 64 bits hold most tuples, those of 128 are for the rest. Local;
// pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/cell.h"
#include "model/word_buffer.h"

namespace stratalog {

__extension__ using WideKey = unsigned __int128;

// Where the cells of each column lie, and in which bits of a key.
class ColumnRanges {
 public:
  struct Column {
    Cell lowest = 0;
    std::uint32_t mask = 0;
    std::uint32_t shift = 0;
  };

  // Of `tuples` of `arity` cells each, back to back, at least one.
  ColumnRanges(std::span<const Cell> tuples, std::uint32_t arity);

  // What a key needs.
  std::uint32_t bits() const { return bits_; }
  std::span<const Column> columns() const { return columns_; }

 private:
  std::vector<Column> columns_;
  std::uint32_t bits_ = 0;
};

template <typename Key>
class PackedTuples {
 public:
  static constexpr std::uint32_t kMostBits = (8 * sizeof(Key)) - 1;

  // `ranges` are those of `tuples`, and take kMostBits at most.
  PackedTuples(std::span<const Cell> tuples, const ColumnRanges& ranges);

  // Ascending by the first column, then by the second, and so on; each tuple once.
  void sort();

  std::span<const Key> keys() const { return keys_; }
  // Equal for tuples that agree in their first `length` cells; ascending once sorted.
  Key head(Key key, std::uint32_t length) const {
    return length == 0 ? 0 : key >> ranges_.columns()[length - 1].shift;
  }
  Cell cell(Key key, std::uint32_t column) const {
    const ColumnRanges::Column& at = ranges_.columns()[column];
    return at.lowest + (static_cast<Cell>(key >> at.shift) & at.mask);
  }

 private:
  ColumnRanges ranges_;
  std::vector<Key> keys_;
};

// Sorts tuples of `arity` cells, back to back, and leaves each once. False, and nothing done, where
// they do not fit into keys.
bool keep_distinct(WordBuffer<Cell>& tuples, std::uint32_t arity);

extern template class PackedTuples<std::uint64_t>;
extern template class PackedTuples<WideKey>;

}  // namespace stratalog
