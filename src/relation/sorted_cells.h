// SPDX-License-Identifier: Apache-2.0
// Searching and uniting short ascending runs of cells without branches that depend on their values:
// what comes next in sets of a recursion cannot be guessed, and a wrong guess of the processor
// costs as much as a dozen comparisons. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/cell.h"

namespace stratalog {

// How many of `sorted` (ascending) are less than `cell`.
inline std::size_t count_below(std::span<const Cell> sorted, Cell cell) {
  const Cell* from = sorted.data();
  std::size_t size = sorted.size();
  if (size == 0) return 0;
  while (size > 1) {
    const std::size_t half = size / 2;
    from += half & (std::size_t{0} - static_cast<std::size_t>(from[half - 1] < cell));
    size -= half;
  }
  return static_cast<std::size_t>(from - sorted.data()) + (*from < cell ? 1 : 0);
}

inline bool contains_sorted(std::span<const Cell> sorted, Cell cell) {
  const std::size_t at = count_below(sorted, cell);
  return at < sorted.size() && sorted[at] == cell;
}

// The union of two ascending runs of distinct cells, which may share some, goes to `out`, which has
// room for both and overlaps neither. Returns its size.
inline std::size_t unite_sorted(std::span<const Cell> a, std::span<const Cell> b, Cell* out) {
  const Cell* x = a.data();
  const Cell* y = b.data();
  const Cell* const x_end = x + a.size();
  const Cell* const y_end = y + b.size();
  Cell* const begin = out;
  while (x != x_end && y != y_end) {
    const Cell left = *x;
    const Cell right = *y;
    *out++ = left < right ? left : right;
    x += left <= right ? 1 : 0;
    y += right <= left ? 1 : 0;
  }
  while (x != x_end) *out++ = *x++;
  while (y != y_end) *out++ = *y++;
  return static_cast<std::size_t>(out - begin);
}

}  // namespace stratalog
