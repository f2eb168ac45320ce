// SPDX-License-Identifier: Apache-2.0
// How many derivations wait: what is left of many duplicates is exact, takes memory in proportion
// to the tuples and not to the derivations, and what has few duplicates is left alone.
#include "relation/queue_limit.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "relation/index.h"

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;

WordBuffer<Cell> random_tuples(std::uint32_t arity, std::size_t count, Cell range, Cell lowest) {
  std::mt19937_64 random(arity);
  WordBuffer<Cell> tuples;
  for (std::size_t i = 0; i < count * arity; ++i)
    tuples.append(lowest + static_cast<Cell>(random() % range));
  return tuples;
}

std::set<Tuple> set_of(std::span<const Cell> cells, std::uint32_t arity) {
  std::set<Tuple> set;
  for (std::size_t at = 0; at < cells.size(); at += arity)
    set.insert(Tuple(cells.begin() + static_cast<std::ptrdiff_t>(at),
                     cells.begin() + static_cast<std::ptrdiff_t>(at + arity)));
  return set;
}

TEST(DistinctShare, IsAboutRight) {
  for (const std::uint32_t arity : {1U, 2U, 3U, 5U})
    for (const Cell range : {Cell{10}, Cell{300}, Cell{1} << 30}) {
      const WordBuffer<Cell> tuples = random_tuples(arity, 100000, range, 5);
      const auto distinct = static_cast<double>(set_of(tuples.words(), arity).size()) / 100000;
      EXPECT_NEAR(distinct_share(tuples.words(), arity, arity), distinct, 0.1)
          << arity << ", " << range;
    }
  EXPECT_EQ(distinct_share(std::vector<Cell>(100, 7), 2, 2), 1) << "too few to say";
}

TEST(DistinctShare, OfPrefixes) {
  std::mt19937_64 random(4);
  WordBuffer<Cell> tuples;
  for (std::size_t i = 0; i < 200000; ++i) {
    tuples.append(static_cast<Cell>(random() % 20000));
    tuples.append(static_cast<Cell>(random()));
  }
  EXPECT_NEAR(distinct_share(tuples.words(), 2, 1), 0.1, 0.03);
  EXPECT_NEAR(distinct_share(tuples.words(), 2, 2), 1, 0.03);
  EXPECT_LT(distinct_share(tuples.words(), 2, 0), 0.01) << "one for all";
}

TEST(QueueLimit, RisesWhereLittleIsFoundAndStaysLowElsewhere) {
  QueueLimit few;
  WordBuffer<Cell> distinct = random_tuples(2, QueueLimit::kLeast, Cell{1} << 30, 0);
  const std::size_t cells = distinct.size();
  ASSERT_TRUE(few.is_reached(QueueLimit::kLeast));
  EXPECT_TRUE(few.let_wait(distinct, 2));
  EXPECT_EQ(distinct.size(), cells) << "left alone";
  EXPECT_FALSE(few.is_reached(QueueLimit::kLeast));
  EXPECT_TRUE(few.is_reached(2 * QueueLimit::kLeast));

  QueueLimit many;
  WordBuffer<Cell> repeated = random_tuples(2, QueueLimit::kLeast, 100, 0);
  const std::set<Tuple> expected = set_of(repeated.words(), 2);
  EXPECT_TRUE(many.let_wait(repeated, 2));
  EXPECT_EQ(repeated.size(), 2 * expected.size());
  EXPECT_EQ(set_of(repeated.words(), 2), expected);
  EXPECT_TRUE(many.is_reached(QueueLimit::kLeast));

  // Where not even the most is enough, what waits needs a place.
  QueueLimit full;
  for (std::uint64_t limit = QueueLimit::kLeast; limit < QueueLimit::kMost; limit *= 2)
    full.note(limit, limit, 0);
  EXPECT_FALSE(full.is_reached(QueueLimit::kMost - 1));
  WordBuffer<Cell> large = random_tuples(1, QueueLimit::kMost, Cell{1} << 31, 0);
  EXPECT_FALSE(full.let_wait(large, 1)) << "all of one row";
  // Rows of their own would take more than what waits.
  WordBuffer<Cell> thin = random_tuples(2, QueueLimit::kMost, Cell{1} << 31, 0);
  EXPECT_TRUE(full.let_wait(thin, 2));
  EXPECT_FALSE(full.is_reached((2 * QueueLimit::kMost) - 1));
}

TEST(QueueLimit, IsInProportionToWhatHasToBeGoneThrough) {
  QueueLimit limit;
  limit.note(QueueLimit::kLeast, 10, 3 * QueueLimit::kLeast);
  EXPECT_FALSE(limit.is_reached(3 * QueueLimit::kLeast));
  EXPECT_TRUE(limit.is_reached((3 * QueueLimit::kLeast) + 30));
  limit.note(QueueLimit::kLeast, 10, 0);
  EXPECT_TRUE(limit.is_reached(QueueLimit::kLeast));
}

TEST(QueueLimit, OfWideTuplesAndOfQueuesSideBySideIsThatOfOneOfPairs) {
  QueueLimit limit(8, 4);
  EXPECT_TRUE(limit.is_reached(QueueLimit::kLeast / 16));
  EXPECT_FALSE(limit.is_reached((QueueLimit::kLeast / 16) - 1));
  for (int i = 0; i < 5; ++i) limit.note(QueueLimit::kMost, QueueLimit::kMost, 0);
  EXPECT_TRUE(limit.is_reached(QueueLimit::kLeast)) << "the most";
  EXPECT_FALSE(limit.is_reached(QueueLimit::kLeast - 1));
  QueueLimit many(2, 10'000);
  EXPECT_FALSE(many.is_reached(QueueLimit::kFew - 1));
  many.note(QueueLimit::kMost, QueueLimit::kMost, 0);
  EXPECT_TRUE(many.is_reached(QueueLimit::kLeast));
}

// Six million derivations: of the first tuples, of tuples that rows are there for, and of such as
// are too wide for keys (five columns over the whole range of cells).
TEST(Index, KeepsDerivationsInProportionToTuples) {
  constexpr int kDerivations = 3 << 20;
  for (const bool is_wide : {false, true}) {
    const std::uint32_t arity = is_wide ? 5 : 2;
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < arity; ++c) order.push_back(c);
    Index index(order, {});
    SetAccumulator scratch;
    std::mt19937_64 random(3);
    std::set<Tuple> expected;
    Tuple tuple(arity);
    for (int round = 0; round < 2; ++round) {
      std::uint64_t most_bytes = 0;
      for (int i = 0; i < kDerivations; ++i) {
        // 30 by 30 tuples; of the wide ones all columns follow from two.
        const auto a = static_cast<Cell>(random() % 30);
        const auto b = static_cast<Cell>(random() % 30);
        for (std::uint32_t c = 0; c < arity; ++c)
          tuple[c] = ((c % 2 == 0 ? a : b) + static_cast<Cell>(round)) *
                     (is_wide ? Cell{0xFFFFFFFF} / 64 : 1);
        if (i < 20000) expected.insert(tuple);
        index.queue_tuple(tuple.data());
        if (i % 512 != 0) continue;
        index.bound_queue(scratch, Freshness::kUnknown);
        most_bytes = std::max(most_bytes, index.heap_bytes());
      }
      EXPECT_LT(most_bytes, (is_wide ? 64U : 32U) << 20);
      index.unite_queued(scratch, Freshness::kUnknown);
      index.advance(DeltaUse::kKept);
      ASSERT_EQ(index.tuples(), expected.size());
      for (const Tuple& each : expected) ASSERT_TRUE(index.contains(each.data()));
    }
  }
}

}  // namespace
}  // namespace stratalog
