// SPDX-License-Identifier: Apache-2.0
// Sets of random shape in every representation, and the tuples that a group of them stands for.
// Pure; local.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "model/set_walk.h"
#include "model/tuple_group.h"
#include "pack/fragment.h"
#include "unit/model/sample_sets.h"

namespace stratalog {

using Tuples = std::set<std::vector<Cell>>;  // group order

// A set of random shape in one of the three representations, with its storage.
struct RandomSet {
  std::vector<Cell> values;
  std::vector<std::uint16_t> offsets;
  std::vector<std::uint64_t> words;
  SetView view;
};

inline std::vector<Cell> random_elements(Random& random, Cell base, std::uint64_t span) {
  std::set<Cell> elements;
  const std::uint64_t shape = random.below(4);
  const std::uint64_t count = 1 + random.below(shape == 0 ? 2 : 600);
  std::uint64_t at = base;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (shape == 1) {
      at += 1 + (random.below(20) == 0 ? random.below(300) : 0);  // runs
    } else if (shape == 2) {
      at += 1 + random.below(3);  // dense
    } else {
      at = base + random.below(span);
    }
    if (at >= base + span) break;
    elements.insert(static_cast<Cell>(at));
  }
  elements.insert(base + static_cast<Cell>(random.below(span)));
  return {elements.begin(), elements.end()};
}

inline void make_random_set(Random& random, RandomSet& set) {
  const std::uint64_t kind = random.below(4);
  if (kind == 0) {
    const std::uint64_t spans[] = {10, 512, 65536, 1U << 24};
    const std::uint64_t span = spans[random.below(4)];
    const auto top = 0xFFFFFFFFULL - span;
    const Cell base =
        random.below(8) == 0 ? static_cast<Cell>(top) : static_cast<Cell>(random.below(top));
    set.values = random_elements(random, base, span);
    set.view = array_view(set.values);
    return;
  }
  set.view.base =
      static_cast<Cell>(random.below(4) == 0 ? random.below(1U << 31) : 512 * random.below(9));
  if (kind == 1) {
    for (const Cell e : random_elements(random, 0, 65536))
      set.offsets.push_back(static_cast<std::uint16_t>(e));
    set.view.kind = SetKind::kOffsets;
    set.view.offsets = set.offsets;
    set.view.count = set.offsets.size();
    return;
  }
  if (kind == 3) {
    for (std::uint32_t at = static_cast<std::uint32_t>(random.below(300)); at < 65000;) {
      const std::uint64_t length = random.below(3) == 0 ? 0 : random.below(200);
      set.offsets.push_back(static_cast<std::uint16_t>(at));
      set.offsets.push_back(static_cast<std::uint16_t>(length));
      set.view.count += length + 1;
      at += static_cast<std::uint32_t>(length) + 2;
      at += static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 20000 : 30));
      if (random.below(12) == 0) break;
    }
    set.view.kind = SetKind::kRuns;
    set.view.offsets = set.offsets;
    return;
  }
  const std::uint64_t sizes[] = {1, 8, 8, 8, 40, 1500};
  set.words.assign(sizes[random.below(6)], 0);
  for (const Cell e : random_elements(random, 0, set.words.size() * 64))
    set.words[e / 64] |= std::uint64_t{1} << (e % 64);
  if (random.below(set.words.size() > 40 ? 60 : 10) == 0)
    set.words.assign(set.words.size(), ~std::uint64_t{0});
  set.view.kind = SetKind::kBitmap;
  set.view.words = set.words;
  set.view.count = count_bits(set.words);
}

inline void add_tuples(Tuples& tuples, std::span<const Cell> prefix, const SetView& set) {
  walk_set(set, [&](Cell cell) {
    std::vector<Cell> tuple(prefix.begin(), prefix.end());
    tuple.push_back(cell);
    tuples.insert(tuple);
  });
}

}  // namespace stratalog
