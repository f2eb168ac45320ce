// SPDX-License-Identifier: Apache-2.0
// Aggregates in recursion: the rules that they become, and those that stay refused.
#include <gtest/gtest.h>

#include <initializer_list>
#include <utility>

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

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RecursiveAggregates, SumsOfTerms) {
  const std::string seen = outcome("h(x) :- b(x, k), k < sum s : { c(x, y, s) }.\n");
  EXPECT_TRUE(says(seen, "h#terms1(x, y, s) :- c(x, y, s).")) << seen;
  EXPECT_TRUE(says(seen, "h(x) :- b(x, k), k < value#0, h#total2(x, value#0).")) << seen;
  EXPECT_TRUE(says(seen, "h(x) :- b(x, k), k < 0.")) << seen;
  EXPECT_TRUE(says(seen, "h#total2(x, value#a) <= h#total2(x, value#b) :- value#b > value#a."))
      << seen;
  EXPECT_TRUE(says(seen, " sums h#terms1\n")) << seen;
  EXPECT_FALSE(says(seen, "`h#total2` is always empty")) << seen;
}

TEST(RecursiveAggregates, NothingIsLessThanABound) {
  const std::string seen = outcome("h(x) :- b(x, _), 5 < count : { c(x, _, _) }.\n");
  EXPECT_TRUE(says(seen, "h#terms1(x, _#0, _#1) :- c(x, _#0, _#1).")) << seen;
  EXPECT_FALSE(says(seen, "5 < 0")) << seen;
  EXPECT_TRUE(says(seen, " counts h#terms1\n")) << seen;
}

TEST(RecursiveAggregates, OtherSidesWithGenerators) {
  const std::string refused = " with no aggregate and no range on the other side";
  for (const char* body :
       {"n = count : { c(x, _, _) }, n >= 0 + count : { b(x, _) }",
        "n = count : { c(x, _, _) }, n >= range(0, 3)", "count : { c(x, _, _) } >= range(0, 3)"}) {
    const std::string seen = outcome(std::string("h(x) :- b(x, _), ") + body + ".\n");
    EXPECT_TRUE(says(seen, refused)) << seen;
  }
  EXPECT_FALSE(says(outcome("h(x) :- b(x, _), n = count : { c(x, _, _) }, n < 3.\n"), refused));
}

TEST(RecursiveAggregates, ValuesOfALattice) {
  const std::string seen = outcome("t(x, as(n, T)) :- b(x, _), n = count : { c(x, y, _) }.\n");
  EXPECT_TRUE(says(seen, "h#") || says(seen, "t#total2(x, n)")) << seen;
  EXPECT_TRUE(says(seen, "n = 0")) << seen;
  const std::string least = outcome("l(x, as(m, L)) :- b(x, _), m = min s : { c(x, _, s) }.\n");
  EXPECT_TRUE(says(least, "l#best1(x, s) :- c(x, ")) << least;
  EXPECT_TRUE(says(least, "l#best1(x, m)")) << least;
  EXPECT_FALSE(says(least, "m = 0")) << least;
}

// What a lattice holds changes: it is no part of what tells terms apart.
TEST(RecursiveAggregates, TermsThatGrow) {
  const std::string seen =
      outcome("t(x, as(n, T)) :- b(x, _), n = sum v : { e(x, y, _), t(y, v) }.\n");
  EXPECT_TRUE(says(seen, "t#terms1(x, y, v) :- e(x, y, _), t(y, v).")) << seen;
  EXPECT_TRUE(says(seen, "t#terms1(x, y, value#a) <= t#terms1(x, y, value#b)")) << seen;
}

TEST(RecursiveAggregates, WithoutAKey) {
  const std::string seen = outcome("h(x) :- b(x, k), count : { c(_, _, _) } >= k.\n");
  EXPECT_TRUE(says(seen, "h#terms1(0, _#0, _#1, _#2)")) << seen;
  EXPECT_TRUE(says(seen, "h#total2(0, value#0)")) << seen;
}

// What a rule makes of an aggregate goes the way of the lattice, or it is refused.
TEST(RecursiveAggregates, ValuesOfHeads) {
  const std::string more =
      ".type U <: unsigned\n.lattice U<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }\n"
      ".type F <: float\n.lattice F<> { Bottom -> 0, Lub -> max(_, _), Glb -> min(_, _) }\n"
      ".type B <: number\n.lattice B<> { Bottom -> 0, Lub -> _ bor _, Glb -> _ band _ }\n"
      ".decl u(x: number, u: U<>)\nh(x) :- u(x, _).\n"
      ".decl f(x: number, f: F<>)\nh(x) :- f(x, _).\n"
      ".decl m(x: number, m: B<>)\nh(x) :- m(x, _).\n";
  const auto of = [&](const std::string& head, const std::string& aggregate) {
    return outcome(more + head + " :- b(x, k), n = " + aggregate + " : { c(x, _, s) }.\n");
  };
  for (const auto* head : {
           "t(x, as(2 * n - k + 7, T))",
           "t(x, as(as(n, number) / 3, T))",
           "t(x, as(max(n, k) - min(-n, 0), T))",
           "t(x, as(k, T))",
           "l(x, as(100 - n, L))",
           "l(x, as(n * -3, L))",
           "u(x, as(n, U))",
           "u(x, to_unsigned(n) * as(k, unsigned) + 1u)",
           "f(x, as(to_float(n) * 0.5, F))",
           "m(x, as(k, B))",
       })
    EXPECT_FALSE(says(of(head, "count"), "error: ")) << head << of(head, "count");
  for (const auto& [head, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"t(x, as(100 - n, T))",
            "this expression falls while `n` grows, but `T<>` keeps the greatest value"},
           {"t(x, as(n * -1, T))", "this expression falls while `n` grows"},
           {"t(x, as(n % 2, T))", "this expression is not known to rise while `n` grows"},
           {"t(x, as(n bxor 1, T))", "is not known to rise"},
           {"t(x, as(n bshl k, T))", "is not known to rise"},
           {"t(x, as(n * k, T))", "is not known to rise"},
           {"t(x, as(n - 2 * n, T))", "is not known to rise"},
           {"t(x, as(100 / n, T))", "is not known to rise"},
           {"t(x, as(as(n, float), T))", "is not known to rise"},
           {"t(x, as(strlen(to_string(n)), T))", "is not known to rise"},
           {"l(x, as(n + 1, L))",
            "this expression rises while `n` grows, but `L<>` keeps the least value"},
           {"l(x, as(n % 2, L))", "this expression is not known to fall while `n` grows"},
           {"u(x, as(n - 1, U))", "is not known to rise"},
           {"u(x, to_unsigned(n) - 1u)", "is not known to rise"},
           {"u(x, as(n + -1, U))", "is not known to rise"},
           {"f(x, as(n, F))", "is not known to rise"},
           {"m(x, as(n, B))", "keeps neither the greatest nor the least value"},
           {"h(n)", "this attribute would have to be of a lattice `T<>`"},
       })
    EXPECT_TRUE(says(of(head, "count"), why)) << head << of(head, "count");
  EXPECT_FALSE(says(of("l(x, as(n + k, L))", "min s"), "error: "));
  EXPECT_FALSE(says(of("t(x, as(k - n, T))", "min s"), "error: "));
  EXPECT_TRUE(says(of("t(x, as(n + k, T))", "min s"), "falls while `n` falls, but `T<>`"));
}

// Other literals of the rule may take notice of what grows no more than of the aggregate.
TEST(RecursiveAggregates, ValuesOfOtherAtoms) {
  const auto of = [](const std::string& head, const std::string& body) {
    return outcome("t(x, as(k, T)) :- h(x), b(x, k).\n" + head + " :- " + body + ".\n");
  };
  EXPECT_FALSE(
      says(of("t(x, as(v + n, T))", "t(x, v), v > 3, n = count : { c(x, _, _) }"), "error: "));
  for (const auto* body : {
           "t(x, v), n = count : { c(x, _, _) }, n > v",
           "t(x, v), count : { c(x, _, _) } >= v",
           "t(x, v), e(v, _, _), 2 < count : { c(x, _, _) }",
           "t(x, v), 2 < count : { c(x, _, s), s < v }",
           "t(x, 3), 2 < count : { c(x, _, _) }",
           "b(x, k), 2 < count : { c(x, _, _), t(x, 3) }",
           "b(x, k), 2 < count : { c(x, y, _), t(y, k) }",
       })
    EXPECT_TRUE(says(of("h(x)", body), "error: ")) << body << of("h(x)", body);
  EXPECT_TRUE(
      says(of("h(v)", "t(x, v), 2 < count : { c(x, _, _) }"), "depends on its own aggregate"));
  EXPECT_TRUE(
      says(of("c(x, a, y) <= c(x, b, y) :- a < b.\nh(x)", "c(x, y, s), 2 < count : { h(_) }"),
           "tuples of `c` are subsumed while it is evaluated"));
}

// What only a test inside names comes from atoms outside.
TEST(RecursiveAggregates, KeysThatTheBodyDoesNotBind) {
  const std::string seen = outcome("h(y) :- e(x, y, _), count : { h(z), z <= x, z > y } >= 1.\n");
  EXPECT_TRUE(says(seen, "h#terms1(x, y, z) :- h(z), z <= x, z > y, e(x, y, _).")) << seen;
  EXPECT_TRUE(says(outcome("h(y) :- e(x, y, _), k = x + 1, 1 < count : { h(z), z < k }.\n"),
                   "depends on its own aggregate"));
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
    EXPECT_TRUE(says(outcome(std::string(rule) + "\n"), "depends on its own aggregate")) << rule;
}

}  // namespace
}  // namespace stratalog::datalog
