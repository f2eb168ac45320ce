// SPDX-License-Identifier: Apache-2.0
// walk_set: calls a function for every element of a SetView in ascending order. A template, because
// the callee is the inner loop of hashing, exporting and re-dealing. Pure; local.
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

}  // namespace stratalog
