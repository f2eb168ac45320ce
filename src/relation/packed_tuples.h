// SPDX-License-Identifier: Apache-2.0
// PackedTuples: tuples as one integer each, so that they are sorted by radix and compared in one
// step: every column's distance from its lowest cell takes as many bits as its range needs, the
// first column the highest. Keys of 64 bits hold most tuples, those of 128 are for the rest. Local;
// pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cell.h"

namespace stratalog {

__extension__ using WideKey = unsigned __int128;

template <typename Key>
class PackedTuples {
 public:
  // Of all columns' ranges together.
  static constexpr std::uint32_t kMostBits = (8 * sizeof(Key)) - 1;

  // `tuples` are `arity` cells each, back to back, at least one. Nothing if the ranges of their
  // columns take more than kMostBits.
  static std::optional<PackedTuples> pack(std::span<const Cell> tuples, std::uint32_t arity);

  // Ascending by the first column, then by the second, and so on; each tuple once.
  void sort();

  std::span<const Key> keys() const { return keys_; }
  // Equal for tuples that agree in their first `length` cells; ascending once sorted. 1 .. arity.
  Key head(Key key, std::uint32_t length) const { return key >> columns_[length - 1].shift; }
  Cell cell(Key key, std::uint32_t column) const {
    const Column& at = columns_[column];
    return at.lowest + (static_cast<Cell>(key >> at.shift) & at.mask);
  }

 private:
  struct Column {
    Cell lowest = 0;
    std::uint32_t mask = 0;
    std::uint32_t shift = 0;
  };

  std::vector<Column> columns_;
  std::vector<Key> keys_;
};

extern template class PackedTuples<std::uint64_t>;
extern template class PackedTuples<WideKey>;

}  // namespace stratalog
