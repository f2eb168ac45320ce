// SPDX-License-Identifier: Apache-2.0
// Equivalence against a model that keeps all pairs: partitions, new pairs of each round, former
// classes, and news that make another copy equal.
#include "relation/equivalence.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

using Pairs = std::set<std::pair<Cell, Cell>>;

Pairs closure(Pairs pairs) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [a, b] : Pairs(pairs))
      changed |= pairs.insert({b, a}).second | pairs.insert({a, a}).second;
    for (const auto& [a, b] : Pairs(pairs))
      for (auto at = pairs.lower_bound({b, 0}); at != pairs.end() && at->first == b; ++at)
        changed |= pairs.insert({a, at->second}).second;
  }
  return pairs;
}

Pairs pairs_of(const Equivalence& equivalence) {
  Pairs pairs;
  equivalence.for_each_class([&](const IntSet& members) {
    members.walk([&](Cell a) { members.walk([&](Cell b) { pairs.insert({a, b}); }); });
  });
  return pairs;
}

Pairs former_pairs(const Equivalence& equivalence) {
  Pairs pairs;
  equivalence.for_each_former_class([&](const IntSet& members) {
    members.walk([&](Cell a) { members.walk([&](Cell b) { pairs.insert({a, b}); }); });
  });
  return pairs;
}

Pairs delta_of(const Equivalence& equivalence) {
  Pairs pairs;
  for (const Equivalence::DeltaBlock& block : equivalence.delta())
    block.left.walk([&](Cell a) { block.right->walk([&](Cell b) { pairs.insert({a, b}); }); });
  return pairs;
}

TEST(Equivalence, RoundsAgreeWithAllPairs) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Equivalence equivalence;
    Equivalence copy;
    Pairs model;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const Pairs before = model;
      for (std::uint64_t i = 0; i < 1 + (splitmix64(seed + round) % 9); ++i) {
        const std::uint64_t random = splitmix64((seed << 20) + (round << 10) + i);
        const Cell a = (random % 40) * 1000003U;
        const Cell b = (random >> 32) % 40 * 1000003U;
        const bool is_new = !closure(model).contains({a, b});
        EXPECT_EQ(equivalence.unite(a, b), is_new);
        model.insert({a, b});
      }
      const Pairs former = closure(before);
      EXPECT_EQ(pairs_of(equivalence), former) << "joins see the partition of the last round";
      for (const Equivalence::Pair& pair : equivalence.take_news())
        EXPECT_TRUE(copy.unite(pair.first, pair.second)) << "one pair for each union";
      EXPECT_TRUE(equivalence.take_news().empty());
      equivalence.advance();
      copy.advance();
      const Pairs all = closure(model);
      EXPECT_EQ(pairs_of(equivalence), all);
      EXPECT_EQ(pairs_of(copy), all);
      EXPECT_EQ(former_pairs(equivalence), former);
      EXPECT_EQ(equivalence.pairs(), all.size());
      EXPECT_EQ(equivalence.delta_pairs(), all.size() - former.size());
      const Pairs delta = delta_of(equivalence);
      for (const auto& pair : all)
        EXPECT_TRUE(former.contains(pair) || delta.contains(pair)) << pair.first;
      for (const auto& pair : delta) EXPECT_TRUE(all.contains(pair));
      EXPECT_LE(delta.size(), 3 * equivalence.delta_pairs());
      for (Cell a = 0; a < 40; ++a) {
        const Cell cell = a * 1000003U;
        const IntSet* members = equivalence.class_of(cell);
        EXPECT_EQ(members != nullptr, all.contains({cell, cell}));
        for (Cell b = 0; b < 40; ++b)
          EXPECT_EQ(equivalence.contains(cell, b * 1000003U), all.contains({cell, b * 1000003U}));
      }
    }
    equivalence.forget_delta();
    EXPECT_TRUE(equivalence.delta().empty());
    EXPECT_EQ(former_pairs(equivalence), pairs_of(equivalence));
  }
}

TEST(Equivalence, WhatNobodyReadsIsNotKept) {
  Equivalence kept;
  Equivalence forgotten;
  for (Cell round = 0; round < 4; ++round) {
    for (Cell i = 0; i < 20; ++i) {
      const Cell a = (i * 7 + round) % 30;
      const Cell b = (i * 11 + round * 5) % 30;
      EXPECT_EQ(kept.unite(a, b), forgotten.unite(a, b));
    }
    kept.advance();
    forgotten.advance(DeltaUse::kForgotten);
    EXPECT_TRUE(forgotten.delta().empty());
    EXPECT_EQ(forgotten.delta_pairs(), kept.delta_pairs());
    EXPECT_EQ(pairs_of(forgotten), pairs_of(kept));
  }
}

TEST(Equivalence, AMillionElementsInOneClassStaySmall) {
  Equivalence equivalence;
  constexpr Cell kElements = 1000000;
  for (Cell cell = 0; cell < kElements; ++cell) equivalence.unite(cell, cell);
  equivalence.advance();
  EXPECT_EQ(equivalence.pairs(), kElements);
  for (Cell cell = 0; cell + 1 < kElements; ++cell) equivalence.unite(cell, cell + 1);
  equivalence.advance();
  EXPECT_EQ(equivalence.pairs(), std::uint64_t{kElements} * kElements);
  EXPECT_EQ(equivalence.delta_pairs(), (std::uint64_t{kElements} * kElements) - kElements);
  equivalence.unite(kElements, 0);
  equivalence.advance();
  EXPECT_EQ(equivalence.delta_pairs(), (std::uint64_t{kElements} * 2) + 1);
  EXPECT_LT(equivalence.heap_bytes(), std::uint64_t{100} << 20);
}

}  // namespace
}  // namespace stratalog
