// SPDX-License-Identifier: Apache-2.0
// Disjoint sets in every form, united: the same elements, ascending, and once each.
#include "model/set_union.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "model/set_walk.h"

namespace stratalog {
namespace {

// A set in a form of its own.
struct Kept {
  std::vector<Cell> values;
  std::vector<std::uint16_t> offsets;
  std::vector<std::uint64_t> words;
  SetView view;
};

void show(const std::set<Cell>& elements, SetKind kind, Kept& kept) {
  kept.view.kind = kind;
  kept.view.count = elements.size();
  const Cell first = *elements.begin();
  kept.view.base = kind == SetKind::kBitmap ? first / 64 * 64 : first;
  for (const Cell cell : elements) {
    const Cell offset = cell - kept.view.base;
    kept.values.push_back(cell);
    if (kind == SetKind::kOffsets) kept.offsets.push_back(static_cast<std::uint16_t>(offset));
    if (kind == SetKind::kRuns) {
      kept.offsets.push_back(static_cast<std::uint16_t>(offset));
      kept.offsets.push_back(0);
    }
    if (kind != SetKind::kBitmap) continue;
    kept.words.resize(std::max<std::size_t>(kept.words.size(), offset / 64 + 1));
    kept.words[offset / 64] |= std::uint64_t{1} << (offset % 64);
  }
  if (kind == SetKind::kArray) kept.view.values = kept.values;
  kept.view.offsets = kept.offsets;
  kept.view.words = kept.words;
}

TEST(SetUnion, HoldsTheElementsOfAll) {
  std::mt19937 random(7);
  SetUnion packed(kPackedBytes);
  SetUnion cells(kCellBytes);
  SetUnion* const unions[] = {&packed, &cells};
  for (int round = 0; round < 400; ++round) {
    const Cell below = round % 2 == 0 ? 300 : 50000;
    std::set<Cell> all;
    std::vector<Kept> parts(1 + random() % 5);
    SetUnion& together = *unions[static_cast<std::size_t>(round / 2 % 2)];
    together.clear();
    for (Kept& part : parts) {
      std::set<Cell> elements;
      const std::size_t count = 1 + random() % 60;
      while (elements.empty())
        for (std::size_t i = 0; i < count; ++i)
          if (const Cell cell = random() % below; all.insert(cell).second) elements.insert(cell);
      show(elements, static_cast<SetKind>(random() % 4), part);
      // What was shown need not last.
      together.add(part.view);
      std::fill(part.words.begin(), part.words.end(), 0);
      std::fill(part.values.begin(), part.values.end(), 0);
    }
    const SetView view = together.view();
    std::vector<Cell> found;
    walk_set(view, [&](Cell cell) { found.push_back(cell); });
    EXPECT_EQ(found, std::vector<Cell>(all.begin(), all.end())) << "round " << round;
    EXPECT_EQ(view.count, all.size());
  }
}

}  // namespace
}  // namespace stratalog
