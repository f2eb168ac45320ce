// SPDX-License-Identifier: Apache-2.0
// Searching and uniting short ascending runs of cells without branches that depend on their values:
// what comes next in sets of a recursion cannot be guessed, and a wrong guess of the processor
// costs as much as a dozen comparisons. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

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

// Whether one of eight cells is `cell`.
inline bool is_among_eight(const Cell* eight, Cell cell) {
#if defined(__AVX2__)
  const __m256i cells = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(eight));
  const __m256i equal = _mm256_cmpeq_epi32(cells, _mm256_set1_epi32(static_cast<int>(cell)));
  return _mm256_testz_si256(equal, equal) == 0;
#else
  bool found = false;
  for (std::size_t i = 0; i < 8; ++i) found |= eight[i] == cell;
  return found;
#endif
}

// Up to so many cells are passed by eight at a time, more are searched.
inline constexpr std::size_t kPassedByEight = 256;

// What of `a` is not in `b`, both ascending, goes to `out`, which has room for `a` and may be where
// that lies. Returns its size.
inline std::size_t subtract_sorted(std::span<const Cell> a, std::span<const Cell> b, Cell* out) {
  std::size_t kept = 0;
  const Cell* from = b.data();
  std::size_t left = b.size();
  const bool is_long = left > kPassedByEight;
  for (const Cell cell : a) {
    bool found = false;
    if (is_long) {
      const std::size_t below = count_below({from, left}, cell);
      from += below;
      left -= below;
      found = left > 0 && *from == cell;
    } else {
      for (; left > 8 && from[7] < cell; left -= 8) from += 8;
      if (left >= 8)
        found = is_among_eight(from, cell);
      else
        for (std::size_t i = 0; i < left; ++i) found |= from[i] == cell;
    }
    out[kept] = cell;
    kept += found ? 0 : 1;
  }
  return kept;
}

}  // namespace stratalog
