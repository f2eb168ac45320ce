// SPDX-License-Identifier: Apache-2.0
// Ranks and running totals: counts and sums of what lies between bounds, of groups that are asked
// so often that they are sorted, and of others; of numbers of both signs, small and large ones, and
// floats, of rows and of sets.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

#include "datalog/evaluate/ranked_lists.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

template <typename Number>
Number value_of_group(int group, std::mt19937_64& random) {
  const auto small = static_cast<Number>(random() % 900);
  if constexpr (std::is_floating_point_v<Number>) {
    // Zero of one sign only: as tuples, the two are different.
    return random() % 50 == 0 ? -0.0 : (small - 450.5) / 4;
  } else {
    switch (group % 4) {
      case 0:
        return small;
      case 1:
        return random() % 2 == 0 ? small : static_cast<Number>(-1) - small;
      case 2:
        return static_cast<Number>(random());
      default:
        return random() % 40 == 0 ? static_cast<Number>(random()) : small;
    }
  }
}

std::multiset<std::string> lines_in(const std::string& file) {
  std::istringstream text(file);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}

// What a rule asks of which tuples.
template <typename Number>
struct Question {
  std::string rule;  // of `NAME(g, t, n)`
  bool asks_all = false;  // groups together
  bool is_binary = false;  // of f(g, t)
  bool sums_ids = false;
  std::function<bool(Number u, Number t)> passes;
};

template <typename Number>
void expect_ranks(const char* type) {
  std::mt19937_64 random(8);
  std::set<std::tuple<int, Number, std::int64_t>> tuples;
  std::string facts;
  for (int group = 0; group < 14; ++group)
    for (int n = 3 + (2 * group * group); n > 0; --n)
      tuples.emplace(group, value_of_group<Number>(group, random),
                     static_cast<std::int64_t>(random() % 200) - 100);
  for (const auto& [g, t, i] : tuples) facts += fmt::format("{}\t{}\t{}\n", g, t, i);
  const std::vector<Question<Number>> questions = {
      {.rule = "e(g, t, _), n = count : { e(g, u, _), u > t }.",
       .passes = [](Number u, Number t) { return u > t; }},
      {.rule = "e(g, t, _), n = count : { e(g, u, _), u <= t, u >= t - t }.",
       .passes = [](Number u, Number t) { return u <= t && u >= t - t; }},
      {.rule = "e(g, t, _), n = sum i : { e(g, u, i), t >= u }.",
       .sums_ids = true,
       .passes = [](Number u, Number t) { return u <= t; }},
      {.rule = "e(g, t, _), n = sum k : { k = 1, e(g, u, _), t < u }.",
       .passes = [](Number u, Number t) { return u > t; }},
      {.rule = "f(g, t), n = count : { f(g, u), u < t }.",
       .is_binary = true,
       .passes = [](Number u, Number t) { return u < t; }},
      {.rule = "f(g, t), n = count : { e(_, u, _), u < t }.",
       .asks_all = true,
       .passes = [](Number u, Number t) { return u < t; }},
      // Nothing is ranked: other comparisons come behind.
      {.rule = "e(g, t, _), n = count : { e(g, u, i), u > t, i != i + g - g + 1 }.",
       .passes = [](Number u, Number t) { return u > t; }},
  };
  std::string text = fmt::format(
      ".decl e(g: number, t: {0}, i: number)\n.input e\n.decl f(g: number, t: {0})\n"
      "f(g, t) :- e(g, t, _).\n",
      type);
  for (std::size_t q = 0; q < questions.size(); ++q) {
    text += fmt::format(
        ".decl q{0}(g: number, t: {1}, n: number)\n.output q{0}\nq{0}(g, t, n) :- {2}\n", q, type,
        questions[q].rule);
  }
  const Program program = compiled(text);
  for (const int ranks : {1, 2, 3})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
      const EngineOutcome outcome =
          run_engine(program, {{"e.facts", facts}}, ranks, {}, {}, nullptr, nullptr, {}, space);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      for (std::size_t q = 0; q < questions.size(); ++q) {
        const Question<Number>& question = questions[q];
        std::set<std::string> wanted;
        std::set<std::pair<int, Number>> pairs;
        for (const auto& [g, t, i] : tuples) pairs.emplace(g, t);
        for (const auto& [g, t] : pairs) {
          std::int64_t n = 0;
          if (question.is_binary) {
            for (const auto& [h, u] : pairs) n += h == g && question.passes(u, t) ? 1 : 0;
          } else {
            for (const auto& [h, u, i] : tuples)
              if ((question.asks_all || h == g) && question.passes(u, t))
                n += question.sums_ids ? i : 1;
          }
          wanted.insert(fmt::format("{} {}", g, n));
        }
        std::set<std::string> found;
        for (const std::string& line : lines_in(outcome.files.at(fmt::format("q{}.csv", q))))
          found.insert(line.substr(0, line.find('\t')) + " " + line.substr(line.rfind('\t') + 1));
        EXPECT_TRUE(found == wanted) << question.rule << " of " << type << ", " << ranks;
      }
    }
}

TEST(RankedAggregates, OfNumbers) { expect_ranks<std::int64_t>("number"); }
TEST(RankedAggregates, OfUnsignedNumbers) { expect_ranks<std::uint64_t>("unsigned"); }
TEST(RankedAggregates, OfFloats) { expect_ranks<double>("float"); }

// Sums of the bounded column itself.
TEST(RankedAggregates, RunningTotals) {
  std::string facts;
  for (int t = -50; t < 50; ++t) facts += fmt::format("1\t{}\n", 3 * t);
  const Program program = compiled(
      ".decl e(g: number, t: number)\n.input e\n.decl s(t: number, n: number)\n.output s\n"
      "s(t, n) :- e(g, t), n = sum u : { e(g, u), u <= t }.\n"
      ".decl h(g: number, t: number, k: number)\nh(g, t, k) :- e(g, t), k = t % 2.\n"
      ".decl r(t: number, n: number)\n.output r\n"
      "r(t, n) :- h(g, t, _), n = sum u : { h(g, u, _), u <= t }.\n");
  const EngineOutcome outcome = run_engine(program, {{"e.facts", facts}}, 1, {});
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  std::multiset<std::string> wanted;
  int total = 0;
  for (int t = -50; t < 50; ++t) {
    total += 3 * t;
    wanted.insert(fmt::format("{}\t{}", 3 * t, total));
  }
  EXPECT_EQ(lines_in(outcome.files.at("s.csv")), wanted);
  EXPECT_EQ(lines_in(outcome.files.at("r.csv")), wanted);
}

TEST(RankedAggregates, AListIsMadeOnceItIsAskedForOften) {
  const Index index({0, 1}, {});
  RankedLists lists;
  int made = 0;
  const auto ask = [&](RowId row, std::uint64_t size) {
    return lists.find(index, row, size, [&](std::vector<RankedPart>& parts) {
      ++made;
      for (std::uint64_t i = size; i > 0; --i) parts.push_back({2 * i, {.count = 1, .bits = i}});
    });
  };
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(7, 5), nullptr);
  int asked = 1;
  while (ask(3, 100) == nullptr) ASSERT_LT(++asked, 20);
  EXPECT_GT(asked, 3);
  EXPECT_EQ(ask(4, 100), nullptr);
  const RankedList* const list = ask(3, 100);
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(made, 1);
  const PlaceRange ranges[] = {{.first = 3, .last = 6}, {.first = 199, .last = ~std::uint64_t{0}}};
  const FoldedPart found = list->between(ranges);
  EXPECT_EQ(found.count, 3U);
  EXPECT_EQ(found.bits, 2U + 3U + 100U);
  lists.forget();
  EXPECT_EQ(ask(3, 100), nullptr);
}

}  // namespace
}  // namespace stratalog::datalog
