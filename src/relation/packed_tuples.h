// SPDX-License-Identifier: Apache-2.0
// PackedTuples: tuples as one integer each, so that they are sorted by radix and compared in one
// step: every column's distance from its lowest cell takes as many bits as its range needs, the
// first column the highest. Local; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cell.h"

namespace stratalog {

class PackedTuples {
 public:
  // `tuples` are `arity` cells each, back to back, at least one. Nothing if the ranges of their
  // columns take more than 63 bits together.
  static std::optional<PackedTuples> pack(std::span<const Cell> tuples, std::uint32_t arity);

  // Ascending by the first column, then by the second, and so on; each tuple once.
  void sort();

  std::span<const std::uint64_t> keys() const { return keys_; }
  // Equal for tuples that agree in their first `length` cells; ascending once sorted. 1 .. arity.
  std::uint64_t head(std::uint64_t key, std::uint32_t length) const {
    return key >> columns_[length - 1].shift;
  }
  Cell cell(std::uint64_t key, std::uint32_t column) const {
    const Column& at = columns_[column];
    return at.lowest + static_cast<Cell>((key >> at.shift) & at.mask);
  }

 private:
  struct Column {
    Cell lowest = 0;
    std::uint32_t mask = 0;
    std::uint32_t shift = 0;
  };

  std::vector<Column> columns_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace stratalog
