// SPDX-License-Identifier: Apache-2.0
// Rows between the bounds that comparisons set to a column: the same as those that a look at all
// rows finds, whether they were made in order or came later, and the same answers of rules.
#include "datalog/evaluate/bounded_rows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "property/engine_runner.h"
#include "relation/set_accumulator.h"

namespace stratalog::datalog {
namespace {

constexpr std::array<Cell, 3> kBelowZeroAndLarge{kNegativeBase, kNegativeBase + 40, kWideBase + 7};

// Some numbers below zero and some large ones among small ones.
Cell some_cell(std::mt19937_64& random, Cell below) {
  const std::uint64_t choice = random() % 8;
  const auto small = static_cast<Cell>(random() % below);
  return choice < kBelowZeroAndLarge.size() ? kBelowZeroAndLarge[choice] + small / 4 : small;
}

void add_tuples(Index& index, std::mt19937_64& random, int count, SetAccumulator& scratch) {
  for (int i = 0; i < count; ++i) {
    const std::array<Cell, 3> tuple{static_cast<Cell>(random() % 5), some_cell(random, 60),
                                    static_cast<Cell>(random() % 9)};
    index.queue_tuple(tuple.data());
  }
  index.unite_queued(scratch, Freshness::kUnknown);
  index.advance();
}

std::vector<RowId> rows_of(const FoundSpans& spans) {
  std::vector<RowId> found;
  for (std::uint64_t i = 0; i < spans.size(); ++i) found.push_back(spans.at(i).row);
  std::vector<RowId> listed;
  std::vector<RowId> of_index;
  EXPECT_TRUE(spans
                  .for_each_index(of_index,
                                  [&](const Index&) -> Status {
                                    listed.insert(listed.end(), of_index.begin(), of_index.end());
                                    return {};
                                  })
                  .is_ok());
  EXPECT_EQ(listed, found);
  const std::uint64_t third = spans.size() / 3;
  listed.clear();
  EXPECT_TRUE(spans
                  .for_each_index(third, spans.size() - third, of_index,
                                  [&](const Index&) -> Status {
                                    listed.insert(listed.end(), of_index.begin(), of_index.end());
                                    return {};
                                  })
                  .is_ok());
  const auto middle = std::span(found).subspan(third, spans.size() - (2 * third));
  EXPECT_TRUE(std::ranges::equal(listed, middle));
  return found;
}

class BoundedRows : public testing::TestWithParam<int> {};

TEST_P(BoundedRows, AreThoseThatALookAtAllFinds) {
  std::mt19937_64 random(5);
  SetAccumulator scratch;
  const std::array<std::uint32_t, 1> searched{1};
  Index index({0, 1, 2}, searched);
  add_tuples(index, random, GetParam(), scratch);
  const RowId ordered = index.ordered_rows();
  add_tuples(index, random, 300, scratch);
  EXPECT_EQ(index.ordered_rows(), ordered);
  ASSERT_LT(ordered, index.row_count());
  for (int round = 0; round < 200; ++round) {
    std::vector<Cell> ends(4);
    for (Cell& end : ends) end = some_cell(random, 60);
    std::ranges::sort(ends);
    const std::array<CellRange, 2> ranges{
        {{.lowest = ends[0], .highest = ends[1]}, {.lowest = ends[2] + 1, .highest = ends[3] + 1}}};
    const auto expect_found = [&](std::uint32_t place, Cell key, std::vector<RowId> found) {
      std::vector<RowId> expected;
      for (RowId row = 0; row < index.row_count(); ++row) {
        const std::span<const Cell> prefix = index.prefix(row);
        if (place == 1 && prefix[0] != key) continue;
        if (std::ranges::any_of(ranges, [&](const CellRange& range) {
              return range.lowest <= prefix[place] && prefix[place] <= range.highest;
            }))
          expected.push_back(row);
      }
      std::ranges::sort(found);
      EXPECT_EQ(found, expected) << "place " << place;
    };
    const Cell key = static_cast<Cell>(random() % 5);
    std::vector<RowId> under;
    append_between(index, index.rows_under(1, &key), 1, ranges, under);
    expect_found(1, key, under);
    FoundSpans spans;
    spans.begin(index);
    add_between(index, ranges, spans);
    std::vector<RowId> all = rows_of(spans);
    for (RowId row = ordered; row < index.row_count(); ++row)
      if (std::ranges::any_of(ranges, [&](const CellRange& range) {
            return range.lowest <= index.prefix(row)[0] && index.prefix(row)[0] <= range.highest;
          }))
        all.push_back(row);
    expect_found(0, key, all);
  }
}

// None, few and many rows that were made in order.
INSTANTIATE_TEST_SUITE_P(InOrder, BoundedRows, testing::Values(1, 3, 2000));

// Whoever has looked at fewer rows before finds them in the same order.
TEST(ValuedRuns, FindWhatALookAtAllFindsHoweverTheyGrew) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> places(3000);
  for (std::uint64_t& place : places) place = random() % 500;
  const auto append = [&](RowId row, RowId end, std::vector<ValuedRow>& rows) {
    for (; row < end; ++row)
      if (row % 7 != 3) rows.push_back({.place = places[row], .row = row});
  };
  ValuedRuns steadily;
  ValuedRuns now_and_then;
  for (RowId rows = 0; rows <= places.size(); rows += random() % 60) {
    steadily.grow(rows, append);
    if (random() % 5 == 0) now_and_then.grow(rows, append);
    ValuedRuns at_once = now_and_then;
    at_once.grow(rows, append);
    PlaceRanges interval;
    const std::uint64_t lowest = random() % 500;
    interval.keep(Comparison::kGreaterEqual, lowest);
    interval.keep(Comparison::kLess, lowest + 40);
    const std::array<std::uint32_t, 1> searched{1};
    const Index index({0, 1}, searched);
    FoundSpans grown;
    FoundSpans made;
    grown.begin(index);
    made.begin(index);
    steadily.add_between(interval, grown);
    at_once.add_between(interval, made);
    std::vector<RowId> found = rows_of(grown);
    EXPECT_EQ(found, rows_of(made));
    std::vector<RowId> expected;
    for (RowId row = 0; row < rows; ++row)
      if (row % 7 != 3 && lowest <= places[row] && places[row] < lowest + 40)
        expected.push_back(row);
    std::ranges::sort(found);
    EXPECT_EQ(found, expected) << rows << " rows";
  }
}

FileTexts times() {
  std::mt19937_64 random(23);
  std::string intervals;
  for (int i = 0; i < 900; ++i) {
    std::int64_t start = static_cast<std::int64_t>(random() % 4000) - 1000;
    if (i % 30 == 0) start = (std::int64_t{1} << 40) * (i % 60 == 0 ? 1 : -1) + start;
    const std::int64_t end = start + 1 + static_cast<std::int64_t>(random() % 90);
    intervals += fmt::format("{}\t{}\t{}\t{}\n", i, random() % 6, start, end);
  }
  return {{"i.facts", intervals}};
}

// Every comparison once as it is, and once in words that nothing can be read off.
void expect_same_between_bounds(const std::string& rules, const std::string& hidden) {
  const std::string head =
      ".decl i(n: number, k: number, s: number, t: number)\n.input i\n"
      ".decl pair(a: number, b: number)\n.output pair\n"
      ".decl best(a: number, n: number)\n.output best\n";
  std::string problems;
  const auto bounded = compile_text(head + rules, problems);
  const auto compared = compile_text(head + hidden, problems);
  ASSERT_TRUE(bounded && compared) << problems;
  const EngineOutcome expected = run_engine(*compared, times(), 1, {}, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  std::size_t bytes = 0;
  for (const auto& [name, text] : expected.files) bytes += text.size();
  ASSERT_GT(bytes, 1000U);
  for (const int ranks : {1, 2, 3, 7})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
      for (const bool dealt : {false, true}) {
        RunOptions options;
        if (dealt) options.mirror_limit_rows = options.replicate_limit_rows = 0;
        const EngineOutcome found =
            run_engine(*bounded, times(), ranks, options, {}, nullptr, nullptr, {}, space);
        ASSERT_TRUE(found.status.is_ok()) << found.status.to_string();
        EXPECT_EQ(found.files, expected.files) << ranks << " ranks, dealt: " << dealt << "\n"
                                               << rules;
      }
}

TEST(BetweenBounds, IntervalsThatOverlap) {
  expect_same_between_bounds(
      "pair(a, b) :- i(a, _, s, t), i(b, _, u, _), s <= u, u < t, a != b.\n",
      "pair(a, b) :- i(a, _, s, t), i(b, _, u, _), max(s, u) = u, max(u, t) = t, u - t != 0, "
      "a != b.\n");
}

TEST(BetweenBounds, UnderAKeyAndBySums) {
  expect_same_between_bounds(
      "pair(a, b) :- i(a, k, s, _), i(b, k, u, _), u > s, u <= s + 40.\n",
      "pair(a, b) :- i(a, k, s, _), i(b, k, u, _), max(s, u) = u, u - s != 0, max(u, s + 40) = s + "
      "40.\n");
}

// The column behind the bounded one is compared row by row.
TEST(BetweenBounds, OfOneColumnWithAnotherCompared) {
  for (const std::string key : {"k", "_"})
    expect_same_between_bounds(
        fmt::format("pair(a, b) :- i(a, {0}, s, t), i(b, {0}, u, v), s < v, u < t, a != b.\n"
                    "best(a, n) :- i(a, {0}, s, _), n = count : {{ i(_, {0}, u, v), u <= s, "
                    "v - 3 > s }}.\n"
                    "best(a, -1) :- i(a, {0}, s, _), i(_, {0}, u, v), u < s, s <= v, v != 2.\n",
                    key),
        fmt::format("pair(a, b) :- i(a, {0}, s, t), i(b, {0}, u, v), max(s, v) = v, s - v != 0, "
                    "max(u, t) = t, u - t != 0, a != b.\n"
                    "best(a, n) :- i(a, {0}, s, _), n = count : {{ i(_, {0}, u, v), max(u, s) = s, "
                    "max(v - 3, s) = v - 3, v - 3 - s != 0 }}.\n"
                    "best(a, -1) :- i(a, {0}, s, _), i(_, {0}, u, v), max(u, s) = s, u - s != 0, "
                    "max(s, v) = v, v - 2 != 0.\n",
                    key));
}

// One is enough but for the last rule, of those close to the bound or anywhere.
TEST(BetweenBounds, ByTheLastColumnAndUntilOneIsFound) {
  expect_same_between_bounds(
      "best(a, 1) :- i(a, _, s, t), i(b, _, u, v), u <= s, t <= v, a != b.\n"
      "best(a, 2) :- i(a, _, s, t), i(b, _, u, v), u >= s, v <= t, a != b.\n"
      "best(a, 3) :- i(a, k, s, _), i(_, _, u, v), u < s, v > s + 10 * k + 20.\n"
      "best(a, 4) :- i(a, k, s, _), i(_, _, u, v), u > s, u < s + 600, v + 1 - 5 * k < s.\n"
      "pair(a, k) :- i(a, k, s, _), i(_, k, u, v), u < s, v - 20 > s + 10 * k.\n"
      ".decl j(s: number, t: number)\nj(s, t) :- i(_, _, s, t).\n"
      "best(a, 5) :- i(a, _, s, t), j(u, v), u <= s, t < v.\n"
      "pair(a, v) :- i(a, _, s, t), j(u, v), u <= s, u >= s - 40, v >= t, v != t + 1.\n",
      "best(a, 1) :- i(a, _, s, t), i(b, _, u, v), max(u, s) = s, max(t, v) = v, a != b.\n"
      "best(a, 2) :- i(a, _, s, t), i(b, _, u, v), max(u, s) = u, max(v, t) = t, a != b.\n"
      "best(a, 3) :- i(a, k, s, _), i(_, _, u, v), max(u, s) = s, u - s != 0, "
      "max(v, s + 10 * k + 21) = v.\n"
      "best(a, 4) :- i(a, k, s, _), i(_, _, u, v), max(u, s) = u, u - s != 0, "
      "max(u, s + 599) = s + 599, max(v + 2 - 5 * k, s) = s.\n"
      "pair(a, k) :- i(a, k, s, _), i(_, k, u, v), max(u, s) = s, u - s != 0, "
      "max(v - 21, s + 10 * k) = v - 21.\n"
      ".decl j(s: number, t: number)\nj(s, t) :- i(_, _, s, t).\n"
      "best(a, 5) :- i(a, _, s, t), j(u, v), max(u, s) = s, max(t + 1, v) = v.\n"
      "pair(a, v) :- i(a, _, s, t), j(u, v), max(u, s) = s, max(u, s - 40) = u, "
      "max(v, t) = v, v - t - 1 != 0.\n");
}

TEST(BetweenBounds, WithinAggregatesAndRecursion) {
  expect_same_between_bounds(
      "best(a, n) :- i(a, k, s, _), n = count : { i(_, k, u, _), u > s }.\n"
      "pair(0, 0).\npair(a, c) :- pair(a, b), i(b, _, _, t), i(c, _, u, _), u >= t, u < t + 9.\n",
      "best(a, n) :- i(a, k, s, _), n = count : { i(_, k, u, _), max(u, s) = u, u - s != 0 }.\n"
      "pair(0, 0).\npair(a, c) :- pair(a, b), i(b, _, _, t), i(c, _, u, _), max(u, t) = u, "
      "max(u, t + 9) = t + 9, u - t != 9.\n");
}

// Floats lie in the order of their values, which cells do not tell; NaN lies nowhere.
TEST(BetweenBounds, Floats) {
  const std::string halves =
      ".decl f(n: number, x: float)\nf(n, to_float(s) / 8.0) :- i(n, _, s, _).\n"
      "f(901, 0.0).\nf(902, -0.0).\nf(903, to_float(\"inf\")).\nf(904, to_float(\"-inf\")).\n"
      "f(905, to_float(\"nan\")).\n";
  expect_same_between_bounds(
      halves + "pair(a, b) :- f(a, x), f(b, y), y > x, y < x + 2.5.\n",
      halves + "pair(a, b) :- f(a, x), f(b, y), y - x > 0.0, (x + 2.5) - y > 0.0.\n");
  expect_same_between_bounds(
      halves + "pair(a, b) :- f(a, x), x = 0.0, f(b, y), y >= x, y <= 70.0 + x.\n",
      halves + "pair(a, b) :- f(a, x), x = 0.0, f(b, y), y - x >= 0.0, (70.0 + x) - y >= 0.0.\n");
}

// Under keys, too, and of other columns than the one whose rows are read in order; large numbers
// are compared like that as well, here half of all.
TEST(BetweenBounds, FloatsAndLargeNumbersUnderKeys) {
  const std::string keyed =
      ".decl f(k: number, x: float, n: number)\nf(k, to_float(s) / 8.0, n) :- i(n, k, s, _).\n"
      "f(1, 0.0, 901).\nf(1, -0.0, 902).\nf(2, to_float(\"inf\"), 903).\n"
      "f(2, to_float(\"-inf\"), 904).\nf(2, to_float(\"nan\"), 905).\n"
      ".decl g(k: number, n: number, x: float)\ng(k, n, x) :- f(k, x, n).\n"
      ".decl l(k: number, s: number, n: number)\n"
      "l(k, s * (1 + 99999999 * (n % 2)), n) :- i(n, k, s, _).\n";
  expect_same_between_bounds(
      keyed +
          "pair(a, b) :- f(k, x, a), f(k, y, b), y > x, y < x + 2.5.\n"
          "best(a, n) :- f(k, x, a), n = count : { f(k, y, _), y <= x }.\n",
      keyed +
          "pair(a, b) :- f(k, x, a), f(k, y, b), y - x > 0.0, (x + 2.5) - y > 0.0.\n"
          "best(a, n) :- f(k, x, a), n = count : { f(k, y, _), max(y, x) = x, y + 1.0 >= y }.\n");
  expect_same_between_bounds(
      keyed +
          "pair(a, b) :- g(k, a, x), g(k, b, y), a < b, x >= y - 0.5, x < y + 3.5.\n"
          "best(a, 1) :- g(k, a, x), g(k, b, y), y > x, b > a + 200.\n",
      keyed +
          "pair(a, b) :- g(k, a, x), g(k, b, y), b - a > 0, x - (y - 0.5) >= 0.0, "
          "(y + 3.5) - x > 0.0.\n"
          "best(a, 1) :- g(k, a, x), g(k, b, y), y - x > 0.0, b - a > 200.\n");
  expect_same_between_bounds(
      keyed +
          "pair(a, b) :- l(k, x, a), l(k, y, b), y > x, y < x + 1000000.\n"
          "best(a, n) :- l(k, x, a), n = min y : { l(k, y, _), y > x }.\n",
      keyed +
          "pair(a, b) :- l(k, x, a), l(k, y, b), max(y, x) = y, y - x < 1000000, y != x.\n"
          "best(a, n) :- l(k, x, a), n = min y : { l(k, y, _), max(y, x) = y, y != x }.\n");
}

// What is computed of the column is undone; all of it wraps around.
TEST(BetweenBounds, OfSumsDifferencesAndQuotients) {
  expect_same_between_bounds(
      "pair(a, b) :- i(a, k, s, _), i(b, k, u, _), s - u < 30, u - s < 30, a != b.\n",
      "pair(a, b) :- i(a, k, s, _), i(b, k, u, _), max(s - u, 30) = 30, max(u - s, 30) = 30, "
      "s - u != 30, u - s != 30, a != b.\n");
  expect_same_between_bounds(
      "pair(a, b) :- i(a, _, s, t), i(b, _, u, _), s + u <= 9, t > 5 - u, -u < s + 400.\n",
      "pair(a, b) :- i(a, _, s, t), i(b, _, u, _), max(s + u, 9) = 9, max(t, 5 - u) = t, "
      "t != 5 - u, max(-u, s + 400) = s + 400, -u != s + 400.\n");
  expect_same_between_bounds(
      "pair(a, b) :- i(a, _, s, _), i(b, _, u, _), s / 50 = u / 50.\n"
      "best(a, n) :- i(a, _, s, _), n = count : { i(_, _, u, _), (u - 7) / 100 = s / 100 }.\n",
      "pair(a, b) :- i(a, _, s, _), i(b, _, u, _), 0 = s / 50 - u / 50.\n"
      "best(a, n) :- i(a, _, s, _), n = count : { i(_, _, u, _), 0 = (u - 7) / 100 - s / 100 }.\n");
  expect_same_between_bounds(
      ".decl w(k: number, s: number)\nw(k, s) :- i(_, k, s, _).\n"
      "pair(s, u) :- w(k, s), w(k, u), u - s < 200, s < u.\n",
      ".decl w(k: number, s: number)\nw(k, s) :- i(_, k, s, _).\n"
      "pair(s, u) :- w(k, s), w(k, u), max(u - s, 200) = 200, u - s != 200, max(s, u) = u, s != "
      "u.\n");
}

// Intervals that overlap are one, and so on: what is read between bounds grows.
TEST(BetweenBounds, OfTheRelationThatGrows) {
  const std::string first = "pair(s, t) :- i(n, _, s, t), n % 6 = 0.\n";
  expect_same_between_bounds(
      first + "pair(a, d) :- pair(a, b), pair(c, d), a < c, c <= b, b < d.\n",
      first +
          "pair(a, d) :- pair(a, b), pair(c, d), c - a > 0, max(a, c) = c, min(c, b) = c, "
          "b != d, max(b, d) = d.\n");
  const std::string halves =
      ".decl f(n: number, x: float)\nf(n, to_float(s) / 8.0) :- i(n, _, s, _), n % 3 = 0.\n";
  expect_same_between_bounds(
      halves +
          "f(b + 1000, y + 0.5) :- f(a, x), f(b, y), y > x, y < x + 0.6, b < 4000.\n"
          "pair(a, b) :- f(a, x), f(b, y), x = y.\n",
      halves +
          "f(b + 1000, y + 0.5) :- f(a, x), f(b, y), y - x > 0.0, (x + 0.6) - y > 0.0, b < 4000.\n"
          "pair(a, b) :- f(a, x), f(b, y), x = y.\n");
}

// No row of it comes in order.
TEST(BetweenBounds, OfWhatHasGrownRoundByRound) {
  const std::string grown =
      ".decl grown(n: number, k: number, s: number, t: number)\n"
      "grown(0, k, s, t) :- i(0, k, s, t).\n"
      "grown(n + 1, k, s, t) :- grown(n, _, _, _), i(n + 1, k, s, t).\n";
  expect_same_between_bounds(
      grown + "pair(a, b) :- grown(a, _, s, t), grown(b, _, u, _), s <= u, u < t, a != b.\n",
      grown +
          "pair(a, b) :- grown(a, _, s, t), grown(b, _, u, _), max(s, u) = u, max(u, t) = t, "
          "u - t != 0, a != b.\n");
}

}  // namespace
}  // namespace stratalog::datalog
