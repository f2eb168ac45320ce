// SPDX-License-Identifier: Apache-2.0
// walk_set: calls a function for every element of a SetView in ascending order. A template, because
// the callee is the inner loop of hashing, exporting and re-dealing. And both ends of a set. Pure;
// local.
#pragma once

#include <bit>
#include <cstdint>

#include "model/tuple_group.h"

namespace stratalog {

template <typename Visit>
void walk_set(const SetView& set, Visit&& visit) {
  switch (set.kind) {
    case SetKind::kArray:
      for (const Cell cell : set.values) visit(cell);
      break;
    case SetKind::kOffsets:
      for (const std::uint16_t offset : set.offsets) visit(set.base + offset);
      break;
    case SetKind::kRuns:
      for (std::size_t i = 0; i < set.offsets.size(); i += 2)
        for (Cell offset = set.offsets[i]; offset <= Cell{set.offsets[i]} + set.offsets[i + 1];
             ++offset)
          visit(set.base + offset);
      break;
    case SetKind::kBitmap:
      for (std::size_t w = 0; w < set.words.size(); ++w)
        for (std::uint64_t word = set.words[w]; word != 0; word &= word - 1)
          visit(static_cast<Cell>(set.base + (w * 64) +
                                  static_cast<std::uint64_t>(std::countr_zero(word))));
      break;
  }
}

// The lowest element; requires one.
inline Cell first_of(const SetView& set) {
  switch (set.kind) {
    case SetKind::kArray:
      return set.values[0];
    case SetKind::kOffsets:
    case SetKind::kRuns:
      return set.base + set.offsets[0];
    case SetKind::kBitmap:
      break;
  }
  std::size_t w = 0;
  while (set.words[w] == 0) ++w;
  return static_cast<Cell>(set.base + (w * 64) +
                           static_cast<std::uint64_t>(std::countr_zero(set.words[w])));
}

// The highest element; requires one.
inline Cell last_of(const SetView& set) {
  switch (set.kind) {
    case SetKind::kArray:
      return set.values.back();
    case SetKind::kOffsets:
      return set.base + set.offsets.back();
    case SetKind::kRuns:
      return set.base + set.offsets[set.offsets.size() - 2] + set.offsets.back();
    case SetKind::kBitmap:
      break;
  }
  std::size_t w = set.words.size() - 1;
  while (set.words[w] == 0) --w;
  return static_cast<Cell>(set.base + (w * 64) + 63 -
                           static_cast<std::uint64_t>(std::countl_zero(set.words[w])));
}

}  // namespace stratalog
