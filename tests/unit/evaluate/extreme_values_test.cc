// SPDX-License-Identifier: Apache-2.0
// Least and greatest values of groups: of sets that tell them at once, and of those that do not,
// because they hold numbers of both signs, or large ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// What the numbers of a group are drawn from.
template <typename Number>
Number drawn(int group, std::mt19937_64& random) {
  const auto small = static_cast<Number>(random() % 3000);
  const auto large = static_cast<Number>(random());
  switch (group % 5) {
    case 0:
      return small;
    case 1:
      return static_cast<Number>(-1) - small;  // of unsigned numbers: the greatest there are
    case 2:
      return random() % 2 == 0 ? small : static_cast<Number>(-1) - small;
    case 3:
      return large;
    default:
      return random() % 40 == 0 ? large : small;
  }
}

std::multiset<std::string> lines_of(const std::string& file) {
  std::istringstream text(file);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line + "\n");
  return lines;
}

template <typename Number>
void expect_extremes(const char* type) {
  std::mt19937_64 random(5);
  std::string facts;
  std::map<int, std::vector<Number>> groups;
  for (int group = 0; group < 40; ++group) {
    std::vector<Number>& numbers = groups[group];
    for (int n = group < 5 ? 1 : 1 + (group * group); n > 0; --n)
      numbers.push_back(drawn<Number>(group, random));
    for (const Number number : numbers) facts += fmt::format("{}\t{}\n", group, number);
  }
  std::multiset<std::string> lines;
  for (const auto& [group, numbers] : groups) {
    const auto [least, greatest] = std::ranges::minmax(numbers);
    lines.insert(fmt::format("{}\t{}\t{}\n", group, least, greatest));
  }
  const Program program = compiled(fmt::format(
      ".decl e(x: number, y: {0})\n.input e\n.decl m(x: number, a: {0}, b: {0})\n.output m\n"
      "m(x, a, b) :- e(x, _), a = min y : {{ e(x, y) }}, b = max y : {{ e(x, y) }}.\n",
      type));
  for (const int ranks : {1, 3}) {
    const EngineOutcome outcome = run_engine(program, {{"e.facts", facts}}, ranks, {});
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(lines_of(outcome.files.at("m.csv")), lines) << type << ", " << ranks;
  }
}

TEST(ExtremeValues, OfNumbers) { expect_extremes<std::int64_t>("number"); }
TEST(ExtremeValues, OfUnsignedNumbers) { expect_extremes<std::uint64_t>("unsigned"); }

// The next value and the one before, of one column and under keys: of numbers of both signs, small
// and large ones, of sets and of rows, with and without another column behind.
template <typename Number>
void expect_neighbours(const char* type) {
  std::mt19937_64 random(6);
  std::string facts;
  std::map<int, std::set<Number>> groups;
  for (int group = 0; group < 20; ++group) {
    for (int n = 3 + (group * group); n > 0; --n)
      groups[group].insert(drawn<Number>(group, random));
    int i = 0;
    for (const Number number : groups[group])
      facts += fmt::format("{}\t{}\t{}\n", group, number, i++ % 7);
  }
  std::multiset<std::string> after;
  std::multiset<std::string> before;
  for (const auto& [group, numbers] : groups)
    for (auto at = numbers.begin(); at != numbers.end(); ++at) {
      if (std::next(at) != numbers.end())
        after.insert(fmt::format("{}\t{}\t{}\n", group, *at, *std::next(at)));
      if (at != numbers.begin())
        before.insert(fmt::format("{}\t{}\t{}\n", group, *at, *std::prev(at)));
    }
  // Of all groups together.
  std::multiset<std::string> all_after;
  std::set<Number> all;
  for (const auto& [group, numbers] : groups) all.insert(numbers.begin(), numbers.end());
  for (auto at = all.begin(); std::next(at) != all.end(); ++at)
    all_after.insert(fmt::format("{}\t{}\n", *at, *std::next(at)));
  const Program program = compiled(fmt::format(
      ".decl e(g: number, t: {0}, i: number)\n.input e\n.decl f(g: number, t: {0})\n"
      "f(g, t) :- e(g, t, _).\n.decl h(t: {0})\nh(t) :- e(_, t, _).\n"
      ".decl a(g: number, t: {0}, n: {0})\n.output a\n.decl b(g: number, t: {0}, n: {0})\n"
      ".output b\n.decl c(g: number, t: {0}, n: {0})\n.output c\n"
      ".decl d(g: number, t: {0}, n: {0})\n.output d\n.decl k(t: {0}, n: {0})\n.output k\n"
      ".decl l(t: {0}, n: {0})\n.output l\n"
      "a(g, t, n) :- e(g, t, _), n = min u : {{ e(g, u, _), u > t }}.\n"
      "b(g, t, n) :- e(g, t, _), n = max u : {{ e(g, u, _), t > u }}.\n"
      "c(g, t, n) :- f(g, t), n = min u : {{ f(g, u), u > t }}.\n"
      "d(g, t, n) :- f(g, t), n = max u : {{ f(g, u), u < t, u != t }}.\n"
      "k(t, n) :- h(t), n = min u : {{ h(u), u > t }}.\n"
      "l(t, n) :- h(t), n = min u : {{ e(_, u, _), u >= t, u != t }}.\n",
      type));
  for (const int ranks : {1, 2, 3})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
      const EngineOutcome outcome =
          run_engine(program, {{"e.facts", facts}}, ranks, {}, {}, nullptr, nullptr, {}, space);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      const std::map<std::string, const std::multiset<std::string>*> wanted{
          {"a", &after},  {"b", &before},    {"c", &after},
          {"d", &before}, {"k", &all_after}, {"l", &all_after}};
      for (const auto& [name, lines] : wanted) {
        EXPECT_TRUE(lines_of(outcome.files.at(name + ".csv")) == *lines)
            << name << " of " << type << ", " << ranks;
      }
    }
}

TEST(ExtremeValues, NextToNumbers) { expect_neighbours<std::int64_t>("number"); }
TEST(ExtremeValues, NextToUnsignedNumbers) { expect_neighbours<std::uint64_t>("unsigned"); }

// All elements of a class have the same least one.
TEST(ExtremeValues, OfClasses) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl s(x: number, y: number) eqrel\n"
      "s(x, y) :- e(x, y).\n.decl r(x: number, c: number)\n.output r\n"
      "r(x, c) :- s(x, x), c = min y : { s(x, y) }.\n");
  std::string facts;
  for (int i = -200; i < 200; ++i) {
    facts += fmt::format("{}\t{}\n", i, i + (i % 10 == 9 || i % 10 == -1 ? 0 : 1));
  }
  for (const int ranks : {1, 3}) {
    const EngineOutcome outcome = run_engine(program, {{"e.facts", facts}}, ranks, {});
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    std::istringstream lines(outcome.files.at("r.csv"));
    std::size_t rows = 0;
    for (std::int64_t x = 0, c = 0; lines >> x >> c; ++rows)
      EXPECT_EQ(c, x >= 0 ? x / 10 * 10 : -((-x + 9) / 10) * 10) << x;
    EXPECT_EQ(rows, 400U);
  }
}

}  // namespace
}  // namespace stratalog::datalog
