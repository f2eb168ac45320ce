// SPDX-License-Identifier: Apache-2.0
// Aggregates in recursion: the rules that they become, and those that stay refused.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

// Rules over c(x, y, s), which needs h, and inputs b(x, k) and e(x, y, s).
std::string outcome(const std::string& rules) {
  return outcome_of(
      ".type T <: number\n.lattice T<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }\n"
      ".type L <: number\n.lattice L<> { Bottom -> 9, Lub -> min(_, _), Glb -> max(_, _) }\n"
      ".decl b(x: number, k: number)\n.input b\n.decl e(x: number, y: number, s: number)\n"
      ".input e\n.decl c(x: number, y: number, s: number)\nc(x, y, s) :- e(x, y, s).\n"
      "c(x, y, s) :- h(x), e(x, y, s).\n.decl h(x: number)\n.decl t(x: number, t: T<>)\n"
      "h(x) :- t(x, v), v > 3.\n.decl l(x: number, l: L<>)\nh(x) :- l(x, v), v < 3.\n" +
      rules);
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RecursiveAggregates, SumsOfTerms) {
  const std::string seen = outcome("h(x) :- b(x, k), k < sum s : { c(x, y, s) }.\n");
  EXPECT_TRUE(mentions(seen, "h#terms1(x, y, s) :- c(x, y, s).")) << seen;
  EXPECT_TRUE(mentions(seen, "h(x) :- b(x, k), k < value#0, h#total2(x, value#0).")) << seen;
  EXPECT_TRUE(mentions(seen, "h(x) :- b(x, k), k < 0.")) << seen;
  EXPECT_TRUE(mentions(seen, "h#total2(x, value#a) <= h#total2(x, value#b) :- value#b > value#a."))
      << seen;
  EXPECT_TRUE(mentions(seen, " sums h#terms1\n")) << seen;
  EXPECT_FALSE(mentions(seen, "`h#total2` is always empty")) << seen;
}

TEST(RecursiveAggregates, NothingIsLessThanABound) {
  const std::string seen = outcome("h(x) :- b(x, _), 5 < count : { c(x, _, _) }.\n");
  EXPECT_TRUE(mentions(seen, "h#terms1(x, _#0, _#1) :- c(x, _#0, _#1).")) << seen;
  EXPECT_FALSE(mentions(seen, "5 < 0")) << seen;
  EXPECT_TRUE(mentions(seen, " counts h#terms1\n")) << seen;
}

TEST(RecursiveAggregates, ValuesOfALattice) {
  const std::string seen = outcome("t(x, as(n, T)) :- b(x, _), n = count : { c(x, y, _) }.\n");
  EXPECT_TRUE(mentions(seen, "h#") || mentions(seen, "t#total2(x, n)")) << seen;
  EXPECT_TRUE(mentions(seen, "n = 0")) << seen;
  const std::string least = outcome("l(x, as(m, L)) :- b(x, _), m = min s : { c(x, _, s) }.\n");
  EXPECT_TRUE(mentions(least, "l#best1(x, s) :- c(x, ")) << least;
  EXPECT_TRUE(mentions(least, "l#best1(x, m)")) << least;
  EXPECT_FALSE(mentions(least, "m = 0")) << least;
}

// What a lattice holds changes: it is no part of what tells terms apart.
TEST(RecursiveAggregates, TermsThatGrow) {
  const std::string seen =
      outcome("t(x, as(n, T)) :- b(x, _), n = sum v : { e(x, y, _), t(y, v) }.\n");
  EXPECT_TRUE(mentions(seen, "t#terms1(x, y, v) :- e(x, y, _), t(y, v).")) << seen;
  EXPECT_TRUE(mentions(seen, "t#terms1(x, y, value#a) <= t#terms1(x, y, value#b)")) << seen;
}

TEST(RecursiveAggregates, WithoutAKey) {
  const std::string seen = outcome("h(x) :- b(x, k), count : { c(_, _, _) } >= k.\n");
  EXPECT_TRUE(mentions(seen, "h#terms1(0, _#0, _#1, _#2)")) << seen;
  EXPECT_TRUE(mentions(seen, "h#total2(0, value#0)")) << seen;
}

TEST(RecursiveAggregates, WhatIsRefused) {
  for (const char* rule : {
           "h(x) :- b(x, k), k > sum s : { c(x, _, s) }.",
           "h(x) :- b(x, k), k = sum s : { c(x, _, s) }.",
           "h(x) :- b(x, k), n = count : { c(x, _, _) }, n > 2, n != k.",
           "h(n) :- b(x, _), n = count : { c(x, _, _) }.",
           "l(x, as(n, L)) :- b(x, _), n = count : { c(x, _, _) }.",
           "t(x, as(m, T)) :- b(x, _), m = min s : { c(x, _, s) }.",
           "h(x) :- b(x, k), mean as(s, float) : { c(x, _, s) } > 2.0, k > 1.",
           "h(x) :- b(x, k), k < 1 + sum s : { c(x, _, s) }.",
           "h(x) :- b(x, k), k > min s : { c(x, _, s) }, k < max s : { c(x, _, s) } - 1.",
           "l(x, as(v, L)) :- t(x, v). t(x, as(n, T)) :- b(x, _), n = sum v : { e(x, y, _), l(y, "
           "v) }.",
           "t(x, as(n, T)) :- b(x, _), n = sum v : { e(x, y, _), t(y, v), v < 3 }.",
           "h(x) :- b(x, k), k < sum s : { c(x, y, s), 1 < count : { e(y, _, _) } }.",
           "h(x) :- b(x, k), k < sum -s : { c(x, y, s), e(y, x + 1, _) }.",
       })
    EXPECT_TRUE(mentions(outcome(std::string(rule) + "\n"), "depends on its own aggregate"))
        << rule;
}

}  // namespace
}  // namespace stratalog::datalog
