// SPDX-License-Identifier: Apache-2.0
// Index against standard containers: searches under prefixes, rounds of queued tuples and sets in
// every mix, early uniting within a round, and deltas that are put back after a restart.
#include "relation/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;
using Tuples = std::set<Tuple>;

Tuples tuples_of(const Index& index, const DeltaRows& rows) {
  Tuples tuples;
  for (const DeltaRow& row : rows)
    row.cells.walk([&](Cell cell) {
      Tuple tuple(index.prefix(row.row).begin(), index.prefix(row.row).end());
      tuple.push_back(cell);
      EXPECT_TRUE(tuples.insert(tuple).second) << "a delta holds a tuple twice";
    });
  return tuples;
}

Tuples all_tuples_of(const Index& index) {
  Tuples tuples;
  for (RowId row = 0; row < index.row_count(); ++row)
    index.total(row).walk([&](Cell cell) {
      Tuple tuple(index.prefix(row).begin(), index.prefix(row).end());
      tuple.push_back(cell);
      tuples.insert(tuple);
    });
  return tuples;
}

class RoundsOfAnIndex : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static std::vector<std::uint32_t> all_lengths(std::uint32_t arity) {
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t l = 1; l + 1 < arity; ++l) lengths.push_back(l);
    return lengths;
  }

  Tuple random_tuple(std::uint32_t arity) {
    Tuple tuple(arity);
    for (Cell& cell : tuple) cell = static_cast<Cell>(random_() % domain_);
    tuple.back() = static_cast<Cell>(random_() % last_domain_) + last_base_;
    return tuple;
  }

  void check_searches(const Index& index, const Tuples& model) {
    for (int i = 0; i < 20; ++i) {
      const Tuple probe = random_tuple(index.arity());
      ASSERT_EQ(index.contains(probe.data()), model.contains(probe));
      for (std::uint32_t length = 1; length + 1 < index.arity(); ++length) {
        std::set<Tuple> expected;
        for (const Tuple& tuple : model)
          if (std::equal(probe.begin(), probe.begin() + length, tuple.begin()))
            expected.emplace(tuple.begin(), tuple.end() - 1);
        std::set<Tuple> found;
        for (const RowId row : index.rows_under(length, probe.data()))
          if (!index.total(row).empty()) {
            ASSERT_TRUE(found.emplace(index.prefix(row).begin(), index.prefix(row).end()).second);
          }
        ASSERT_EQ(found, expected);
      }
    }
  }

  std::mt19937_64 random_{1};
  std::uint64_t domain_ = 6;
  std::uint64_t last_domain_ = 300;
  Cell last_base_ = 0;
};

TEST_P(RoundsOfAnIndex, AreThoseOfASet) {
  const std::uint32_t arity = GetParam();
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    domain_ = seed % 3 == 0 ? 60 : 4;
    last_domain_ = seed % 2 == 0 ? 500 : 40;
    last_base_ = seed % 5 == 0 ? (1U << 31) - 64 : 0;
    std::vector<std::uint32_t> order(arity);
    for (std::uint32_t i = 0; i < arity; ++i) order[i] = i;
    Index index(order, all_lengths(arity));
    SetAccumulator scratch;
    Tuples model;
    for (int round = 0; round < 8; ++round) {
      Tuples queued;
      std::vector<std::unique_ptr<IntSet>> sets;
      // Those that come before there are rows are sorted together.
      for (std::uint64_t n = random_() % (round == 0 ? 400 : 10); n > 0; --n) {
        const Tuple tuple = random_tuple(arity);
        const Cell* const last = &tuple.back();
        const auto larger_set = [&] {
          std::set<Cell> cells;
          for (std::uint64_t size = random_() % 70; cells.size() <= size % last_domain_;) {
            Tuple one = tuple;
            one.back() = random_tuple(arity).back();
            cells.insert(one.back());
            queued.insert(one);
          }
          sets.push_back(std::make_unique<IntSet>());
          sets.back()->assign_sorted(std::vector<Cell>(cells.begin(), cells.end()));
          return sets.back().get();
        };
        switch (random_() % 15) {  // short sets go the same way, larger ones wait for the rows
          case 13:
            index.queue_set(tuple.data(), larger_set());
            continue;
          case 14:
            index.queue_view(tuple.data(), larger_set()->view());
            continue;
          case 0:
          case 1:
          case 2:
          case 3:
            index.queue_tuple(tuple.data());
            break;
          case 4:
          case 5:
          case 6:
            sets.push_back(std::make_unique<IntSet>());
            sets.back()->assign_sorted({last, 1});
            index.queue_set(tuple.data(), sets.back().get());
            break;
          default:
            IntSet one;
            one.assign_sorted({last, 1});
            index.queue_view(tuple.data(), one.view());
        }
        queued.insert(tuple);
      }
      const auto pieces = random_() % 60;
      for (std::uint64_t p = 0; p < pieces; ++p) {
        const Tuple tuple = random_tuple(arity);
        const RowId row = index.find_or_add_row(tuple.data());
        const auto kind = random_() % 8;
        if (kind < 6) {
          // Often the same row again and again.
          for (std::uint64_t n = random_() % 60 == 0 ? 100 : 1; n > 0; --n) {
            Tuple one = tuple;
            one.back() = random_tuple(arity).back();
            index.queue(row, one.back());
            queued.insert(one);
          }
          continue;
        }
        std::set<Cell> cells;
        for (std::uint64_t n = random_() % 150; n > 0; --n)
          cells.insert(random_tuple(arity).back());
        for (const Cell cell : cells) {
          Tuple one = tuple;
          one.back() = cell;
          queued.insert(one);
        }
        sets.push_back(std::make_unique<IntSet>());
        sets.back()->assign_sorted(std::vector<Cell>(cells.begin(), cells.end()));
        if (kind == 6)
          index.queue_set(row, sets.back().get());
        else
          index.queue_view(row, sets.back()->view());
        if (kind == 7) sets.pop_back();  // a view is copied
        if (random_() % 20 == 0) index.unite_queued(scratch, Freshness::kUnknown);
      }
      index.unite_queued(scratch, Freshness::kUnknown);
      ASSERT_EQ(index.queued(), 0U);
      Tuples fresh;
      std::set_difference(queued.begin(), queued.end(), model.begin(), model.end(),
                          std::inserter(fresh, fresh.end()));
      ASSERT_EQ(tuples_of(index, index.next_delta()), fresh);
      ASSERT_EQ(all_tuples_of(index), model) << "totals change only when the round ends";
      index.advance();
      model.insert(fresh.begin(), fresh.end());
      ASSERT_EQ(tuples_of(index, index.delta()), fresh);
      ASSERT_EQ(index.delta_tuples(), fresh.size());
      ASSERT_EQ(index.tuples(), model.size());
      ASSERT_EQ(all_tuples_of(index), model);
      check_searches(index, model);
      // Some of the new, some of the old, some unknown, some twice.
      std::vector<Cell> doomed;
      for (const Tuple& tuple : model)
        for (std::uint64_t n = random_() % 9 == 0 ? 1 + random_() % 2 : 0; n > 0; --n)
          doomed.insert(doomed.end(), tuple.begin(), tuple.end());
      const Tuple unknown = random_tuple(arity);
      doomed.insert(doomed.end(), unknown.begin(), unknown.end());
      for (std::size_t at = 0; at < doomed.size(); at += arity) {
        const Tuple tuple(doomed.begin() + static_cast<std::ptrdiff_t>(at),
                          doomed.begin() + static_cast<std::ptrdiff_t>(at + arity));
        model.erase(tuple);
        fresh.erase(tuple);
      }
      index.erase(doomed);
      ASSERT_EQ(tuples_of(index, index.delta()), fresh);
      ASSERT_EQ(index.delta_tuples(), fresh.size());
      ASSERT_EQ(index.tuples(), model.size());
      ASSERT_EQ(all_tuples_of(index), model);
      check_searches(index, model);
      if (HasFatalFailure()) return;
    }
    index.forget_delta();
    EXPECT_TRUE(index.delta().empty());
    EXPECT_EQ(index.delta_tuples(), 0U);
    EXPECT_EQ(index.tuples(), model.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Arities, RoundsOfAnIndex, ::testing::Values(1U, 2U, 3U, 5U));

// A stratum without recursion: what is new joins the total, and nothing is left of it beside.
TEST(Index, ADeltaThatNobodyReadsMoves) {
  SetAccumulator scratch;
  Index index({0, 1}, {});
  Index twin({0, 1}, {});
  std::mt19937_64 random(5);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 2000; ++i) {
      const Cell tuple[] = {static_cast<Cell>(random() % 300), static_cast<Cell>(random() % 500)};
      for (Index* to : {&index, &twin}) to->queue(to->find_or_add_row(tuple), tuple[1]);
    }
    index.unite_queued(scratch, Freshness::kUnknown);
    twin.unite_queued(scratch, Freshness::kUnknown);
    index.advance(DeltaUse::kForgotten);
    twin.advance();
    EXPECT_TRUE(index.delta().empty());
    EXPECT_EQ(index.delta_tuples(), twin.delta_tuples());
    EXPECT_EQ(index.tuples(), twin.tuples());
    for (RowId row = 0; row < twin.row_count(); ++row) {
      std::vector<Cell> left;
      std::vector<Cell> right;
      index.total(row).walk([&](Cell cell) { left.push_back(cell); });
      twin.total(row).walk([&](Cell cell) { right.push_back(cell); });
      ASSERT_EQ(left, right);
    }
  }
  twin.forget_delta();
  EXPECT_LE(index.heap_bytes(), twin.heap_bytes() + twin.heap_bytes() / 4);
}

TEST(Index, SetsThatAJoinBorrowedStayWhereTheyAre) {
  Index index({0, 1}, {});
  SetAccumulator scratch;
  const Cell first[] = {1, 10};
  index.queue(index.find_or_add_row(first), 10);
  index.unite_queued(scratch, Freshness::kUnknown);
  index.advance();
  const IntSet* borrowed = &index.total(index.find_row(first));
  for (Cell x = 2; x < 5000; ++x) {
    const Cell tuple[] = {x, x};
    index.queue(index.find_or_add_row(tuple), x);
  }
  EXPECT_EQ(borrowed, &index.total(index.find_row(first)));
  EXPECT_EQ(borrowed->size(), 1U);
}

// Whatever shape the first tuples have: few or many, of columns too wide for one integer.
TEST(Index, FirstTuplesInAnyOrderMakeTheSameRows) {
  SetAccumulator scratch;
  std::mt19937_64 random(11);
  for (const std::uint64_t domain : {20ULL, 3000ULL, 1ULL << 31, 1ULL << 32})
    for (const std::uint32_t arity : {1U, 2U, 3U, 4U})
      for (const int count : {0, 1, 63, 64, 65, 5000}) {
        std::vector<std::uint32_t> order(arity);
        std::iota(order.begin(), order.end(), 0U);
        std::vector<std::uint32_t> searched;
        for (std::uint32_t length = 1; length + 1 < arity; ++length) searched.push_back(length);
        Index index(order, searched);
        Tuples model;
        for (int i = 0; i < count; ++i) {
          Tuple tuple(arity);
          for (Cell& cell : tuple) cell = static_cast<Cell>(random() % domain);
          for (int twice = 0; twice < 2; ++twice) index.queue_tuple(tuple.data());
          model.insert(tuple);
        }
        ASSERT_EQ(index.queued(), 2U * static_cast<unsigned>(count));
        index.unite_queued(scratch, Freshness::kNew);
        ASSERT_EQ(index.queued(), 0U);
        ASSERT_EQ(tuples_of(index, index.next_delta()), model);
        index.advance(DeltaUse::kForgotten);
        ASSERT_EQ(index.tuples(), model.size());
        ASSERT_EQ(all_tuples_of(index), model);
        for (const Tuple& tuple : model)
          for (const std::uint32_t length : searched) {
            std::set<Tuple> under;
            for (const RowId row : index.rows_under(length, tuple.data()))
              under.emplace(index.prefix(row).begin(), index.prefix(row).end());
            ASSERT_TRUE(under.contains(Tuple(tuple.begin(), tuple.end() - 1)));
            for (const Tuple& prefix : under)
              ASSERT_TRUE(std::equal(prefix.begin(), prefix.begin() + length, tuple.begin()));
          }
      }
}

// One large set before all else, or in the middle, leaves the rows in order.
TEST(Index, RowsOfFirstSetsStandAmongThoseOfTuples) {
  std::vector<Cell> cells(500);
  std::iota(cells.begin(), cells.end(), 7U);
  IntSet large;
  large.assign_sorted(cells);
  for (const Cell place : {0U, 2000U, 4000U}) {
    SetAccumulator scratch;
    Index index({0, 1}, std::vector<std::uint32_t>{1});
    for (Cell i = 0; i < 4000; ++i) {
      const Cell prefix = place + 1;
      if (i == place) index.queue_set(&prefix, &large);
      const Cell tuple[] = {3999 - i, 600};
      index.queue_tuple(tuple);
    }
    ASSERT_EQ(index.queued(), place < 4000 ? 4001U : 4000U);
    index.unite_queued(scratch, Freshness::kUnknown);
    index.advance();
    ASSERT_EQ(index.row_count(), 4000U);
    for (Cell i = 0; i < 4000; ++i) {
      ASSERT_EQ(index.prefix(i)[0], i);
      ASSERT_EQ(index.total(i).size(), i == place + 1 ? 501U : 1U);
    }
  }
}

Index with_first_rows(Cell rows, SetAccumulator& scratch) {
  Index index({0, 1, 2}, std::vector<std::uint32_t>{1, 2});
  for (Cell i = 0; i < rows; ++i) {
    const Cell tuple[] = {i / 7, i, i % 3};
    index.queue_tuple(tuple);
  }
  index.unite_queued(scratch, Freshness::kUnknown);
  return index;
}

// What a round finds first is made where it stays, and is not there before the round ends.
TEST(Index, FirstRowsThatAreForgottenAreEmpty) {
  SetAccumulator scratch;
  Index index = with_first_rows(5000, scratch);
  ASSERT_EQ(index.next_delta().size(), 5000U);
  index.forget_next_delta();
  EXPECT_TRUE(index.next_delta().empty());
  EXPECT_EQ(index.row_count(), 5000U);
  EXPECT_TRUE(all_tuples_of(index).empty());
  const Cell again[] = {0, 1, 1};
  index.queue_tuple(again);
  index.unite_queued(scratch, Freshness::kUnknown);
  index.advance();
  EXPECT_EQ(all_tuples_of(index), (Tuples{{0, 1, 1}}));
  EXPECT_EQ(tuples_of(index, index.delta()), (Tuples{{0, 1, 1}}));
  EXPECT_EQ(index.tuples(), 1U);
}

TEST(Index, FirstRowsGetOtherValues) {
  SetAccumulator scratch;
  Index index = with_first_rows(200, scratch);
  const Cell late[] = {1000, 0, 5};  // a row that came behind them
  index.queue_tuple(late);
  index.unite_queued(scratch, Freshness::kUnknown);
  ASSERT_EQ(index.next_delta().size(), 201U);
  std::vector<Cell> values(201);
  std::iota(values.begin(), values.end(), 70U);
  index.replace_next_delta(values);
  EXPECT_TRUE(all_tuples_of(index).empty());
  index.advance();
  Tuples expected;
  for (Cell i = 0; i < 200; ++i) expected.insert({i / 7, i, 70 + i});
  expected.insert({1000, 0, 270});
  EXPECT_EQ(all_tuples_of(index), expected);
  EXPECT_EQ(tuples_of(index, index.delta()), expected);
  EXPECT_EQ(index.delta_tuples(), 201U);
}

// The total takes up more, the delta says what was new.
TEST(Index, TheFirstDeltaGoesWithTheNextRound) {
  SetAccumulator scratch;
  Index index = with_first_rows(3000, scratch);
  index.advance();
  const Tuples first = all_tuples_of(index);
  ASSERT_EQ(tuples_of(index, index.delta()), first);
  ASSERT_EQ(*index.find_delta(2999)->array().begin(), 2999U % 3);
  const Cell known[] = {0, 1, 1};
  const Cell more[] = {0, 1, 2};
  for (const Cell* const tuple : {known, more}) index.queue_tuple(tuple);
  index.unite_queued(scratch, Freshness::kUnknown);
  ASSERT_EQ(tuples_of(index, index.delta()), first);
  index.advance();
  EXPECT_EQ(tuples_of(index, index.delta()), (Tuples{{0, 1, 2}}));
  EXPECT_EQ(index.find_delta(0), nullptr);
  EXPECT_EQ(index.tuples(), 3001U);
}

TEST(Index, KeepsAccountOfItsMemory) {
  Index index({0, 1, 2}, std::vector<std::uint32_t>{1});
  SetAccumulator scratch;
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const Cell tuple[] = {static_cast<Cell>(random() % 100), static_cast<Cell>(random() % 100),
                          static_cast<Cell>(random())};
    index.queue(index.find_or_add_row(tuple), tuple[2]);
  }
  index.unite_queued(scratch, Freshness::kUnknown);
  index.advance();
  // 200,000 cells of 4 bytes in the totals, as many in the delta, 16 bytes each in the queues.
  EXPECT_GT(index.heap_bytes(), 200000U * 24U);
  EXPECT_LT(index.heap_bytes(), 200000U * 60U);
  const std::uint64_t before = index.heap_bytes();
  index.forget_delta();
  EXPECT_LE(index.heap_bytes() + (200000U * 4U), before + (200000U / 10U));
}

TEST(Index, DeltaOfACheckpointIsPutBack) {
  Index index({0, 1}, {});
  SetAccumulator scratch;
  std::vector<Cell> cells;
  for (Cell c = 0; c < 100; ++c) cells.push_back(c);
  IntSet all;
  all.assign_sorted(cells);
  const Cell key[] = {3, 0};
  const RowId row = index.find_or_add_row(key);
  index.queue_view(row, all.view());
  index.unite_queued(scratch, Freshness::kNew);
  index.advance();
  index.forget_delta();
  IntSet some;
  some.assign_sorted(std::vector<Cell>{5, 50, 99});
  index.restore_delta(row, some.view());
  EXPECT_EQ(index.delta_tuples(), 3U);
  EXPECT_EQ(tuples_of(index, index.delta()), (Tuples{{3, 5}, {3, 50}, {3, 99}}));
  EXPECT_EQ(index.tuples(), 100U);
}

TEST(Index, NewTuplesOfARowAreFound) {
  Index index({0, 1}, {});
  SetAccumulator scratch;
  const auto round = [&](const Tuples& tuples) {
    for (const auto& tuple : tuples) index.queue_tuple(tuple.data());
    index.unite_queued(scratch, Freshness::kUnknown);
    index.advance();
  };
  const auto news = [&](Cell key) -> std::uint64_t {
    const IntSet* found = index.find_delta(index.find_row(&key));
    return found == nullptr ? 0 : found->size();
  };
  round({{1, 1}, {2, 1}, {5, 1}, {9, 1}});
  round({{9, 2}, {9, 3}, {2, 7}, {1, 1}});
  EXPECT_EQ(news(1), 0U);
  EXPECT_EQ(news(2), 1U);
  EXPECT_EQ(news(5), 0U);
  EXPECT_EQ(news(9), 2U);
  // A checkpoint has them in another order.
  index.forget_delta();
  IntSet one;
  one.assign_sorted(std::vector<Cell>{1});
  for (const Cell key : {9U, 1U, 5U}) index.restore_delta(index.find_row(&key), one.view());
  index.order_delta();
  EXPECT_EQ(news(1), 1U);
  EXPECT_EQ(news(2), 0U);
  EXPECT_EQ(news(5), 1U);
  EXPECT_EQ(news(9), 1U);
}

}  // namespace
}  // namespace stratalog
