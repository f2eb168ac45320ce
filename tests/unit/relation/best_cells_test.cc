// SPDX-License-Identifier: Apache-2.0
// Best values of a row: the order of what cells stand for, and indices that keep them against a
// model, in every mix of rounds, early uniting and other indices that have to follow.
#include "relation/best_cells.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "relation/index.h"

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;

std::vector<Cell> best_of(const BestCells& best, std::vector<Cell> cells,
                          const std::vector<Cell>& present = {}) {
  IntSet set;
  set.assign_sorted(present);
  best.keep_best(cells, set);
  return cells;
}

TEST(BestCells, ComparesWhatCellsStandFor) {
  ValueDictionary values;
  const auto cell = [&](std::int64_t number) {
    return values.encode(static_cast<std::uint64_t>(number));
  };
  // The first wide number is the largest; so cells do not ascend with values.
  const Cell huge = cell(std::int64_t{1} << 60);
  const Cell low = cell(-(std::int64_t{1} << 40));
  const Cell small = cell(-3);
  const Cell one = cell(1);
  const BestCells least(values, NumberOrder::kSigned, Wanted::kLeast);
  const BestCells greatest(values, NumberOrder::kSigned, Wanted::kGreatest);
  const BestCells plain(values, NumberOrder::kUnsigned, Wanted::kGreatest);
  EXPECT_EQ(best_of(least, {one, small, huge, low}), std::vector<Cell>{low});
  EXPECT_EQ(best_of(greatest, {one, small, huge, low}), std::vector<Cell>{huge});
  EXPECT_EQ(best_of(plain, {one, huge, low, small}), std::vector<Cell>{small});
  EXPECT_EQ(best_of(least, {one, huge}, {small}), std::vector<Cell>{});
  EXPECT_EQ(best_of(least, {one, small}, {one}), std::vector<Cell>{small});
}

TEST(BestCells, EqualFloatsAndNaNsStay) {
  ValueDictionary values;
  const auto cell = [&](double number) {
    return values.encode(std::bit_cast<std::uint64_t>(number));
  };
  const Cell nan = cell(std::nan(""));
  const Cell plus = cell(0.0);
  const Cell minus = cell(-0.0);
  const Cell half = cell(0.5);
  const Cell below = cell(-1.5);
  const BestCells least(values, NumberOrder::kFloat, Wanted::kLeast);
  EXPECT_EQ(best_of(least, {nan, plus, minus, half}), (std::vector<Cell>{nan, plus, minus}));
  EXPECT_EQ(best_of(least, {nan, plus, below, minus}), (std::vector<Cell>{nan, below}));
  EXPECT_EQ(best_of(least, {half, nan}, {plus}), (std::vector<Cell>{nan}));
}

TEST(BestCells, OneOfEqualFloatsAndNaNsWhereAllAreInOrder) {
  ValueDictionary values;
  const auto cell = [&](double number) {
    return values.encode(std::bit_cast<std::uint64_t>(number));
  };
  const Cell nan = cell(std::nan(""));
  const Cell other = cell(-std::nan(""));
  const Cell plus = cell(0.0);
  const Cell minus = cell(-0.0);
  const Cell half = cell(0.5);
  const BestCells least(values, NumberOrder::kAllFloats, Wanted::kLeast);
  const BestCells greatest(values, NumberOrder::kAllFloats, Wanted::kGreatest);
  for (const std::vector<Cell>& zeros : {std::vector{plus, nan, minus}, std::vector{minus, plus}}) {
    EXPECT_EQ(best_of(least, zeros), std::vector<Cell>{minus});
    EXPECT_EQ(best_of(greatest, zeros), std::vector<Cell>{plus});
  }
  EXPECT_EQ(best_of(least, {other, half, nan}), std::vector<Cell>{half});
  EXPECT_EQ(best_of(greatest, {other, half, nan}), std::vector<Cell>{half});
  EXPECT_EQ(best_of(least, {other, nan}), std::vector<Cell>{nan});
  EXPECT_EQ(best_of(greatest, {nan, other}), std::vector<Cell>{nan});
  EXPECT_EQ(best_of(greatest, {minus, nan}, {plus}), std::vector<Cell>{});
  EXPECT_FALSE(least.beats(minus, minus));
  EXPECT_FALSE(least.beats(nan, nan));
}

// Least values by key, and what each round changes.
TEST(BestCells, AnIndexKeepsThemRoundByRound) {
  ValueDictionary values;
  const BestCells least(values, NumberOrder::kSigned, Wanted::kLeast);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    Index index({0, 1, 2}, {});
    Index other({0, 1, 2}, std::vector<std::uint32_t>{1});
    index.keep_best(&least);
    SetAccumulator scratch;
    std::map<Tuple, Cell> model;
    for (int round = 0; round < 8; ++round) {
      std::map<Tuple, Cell> found;
      const std::uint64_t queued = random() % (round == 0 ? 900 : 300);
      for (std::uint64_t i = 0; i < queued; ++i) {
        const Tuple key{static_cast<Cell>(random() % 20), static_cast<Cell>(random() % 10)};
        const auto value = static_cast<Cell>(random() % 1000);
        index.queue_tuple(Tuple{key[0], key[1], value}.data());
        const auto known = model.find(key);
        if (known == model.end() || value < known->second) {
          const auto [at, is_new] = found.emplace(key, value);
          at->second = std::min(at->second, value);
        }
        if (random() % 64 == 0) index.unite_queued(scratch, Freshness::kUnknown);
      }
      index.unite_queued(scratch, Freshness::kUnknown);
      std::vector<Cell> beaten;
      index.append_beaten(beaten);
      for (const DeltaRow& row : index.next_delta())
        other.queue_view(other.find_or_add_row(index.prefix(row.row).data()), row.cells.view());
      other.unite_queued(scratch, Freshness::kNew);
      index.advance();
      other.advance();
      other.erase(beaten);
      std::map<Tuple, Cell> delta;
      for (const DeltaRow& row : index.delta()) {
        const auto prefix = index.prefix(row.row);
        ASSERT_EQ(row.cells.size(), 1U);
        delta[Tuple(prefix.begin(), prefix.end())] = row.cells.array()[0];
      }
      EXPECT_EQ(delta, found) << "seed " << seed << " round " << round;
      EXPECT_EQ(index.delta_tuples(), found.size());
      for (const auto& [key, value] : found) model[key] = value;
      for (const Index* each : {&index, &other}) {
        EXPECT_EQ(each->tuples(), model.size());
        for (const auto& [key, value] : model)
          EXPECT_TRUE(each->contains(Tuple{key[0], key[1], value}.data()));
      }
    }
  }
}

}  // namespace
}  // namespace stratalog
