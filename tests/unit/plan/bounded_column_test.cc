// SPDX-License-Identifier: Apache-2.0
// Columns that comparisons bound, and the indices in which they stand behind what is searched.
#include "datalog/plan/bounded_column.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kTimes =
    ".decl i(n: number, k: number, s: number, t: number)\n.input i\n"
    ".decl f(n: number, x: float)\n.input f\n.decl g(n: number, x: symbol)\n.input g\n"
    ".decl q(a: number, b: number)\n.output q\n";

// How the last rule of q reads the atom that it comes to second.
std::string second_step(const std::string& rule) {
  const Program program = compiled(kTimes + rule);
  const ProgramPlan plan = planned(program);
  const StratumPlan& stratum = plan.strata[stratum_of(program, "q")];
  const auto& rules = stratum.recursive.empty() ? stratum.once : stratum.recursive;
  const std::string order = explain_order(program, plan, rules.back());
  const std::size_t first = order.find(" -> ");
  return order.substr(first + 4, order.find(" -> ", first + 4) - first - 4);
}

TEST(BoundedColumn, StandsBehindWhatIsSearched) {
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, t), i(b, _, u, _), s <= u, u < t."),
            "scan i between bounds of (s)");
  EXPECT_EQ(second_step("q(a, b) :- i(a, k, s, _), i(b, k, u, _), s + 1 < u."),
            "search i by (k) between bounds of (s)");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, _, t), i(b, _, s, u), a != s, u > t."),
            "scan i between bounds of (t)");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, t), i(b, _, u, v), v < a, s <= u, u < t."),
            "scan i between bounds of (s)")
      << "that of most bounds";
  EXPECT_EQ(second_step("q(a, b) :- f(a, x), f(b, y), y < x."), "scan f between bounds of (x)");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, _), i(b, _, u, _), s / 50 = u / 50."),
            "scan i between bounds of (s)");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, t), i(b, _, u, v), v < a, s - u < 9, u + t > 4."),
            "scan i between bounds of (s)");
  EXPECT_EQ(second_step("q(1, 1).\nq(a, c) :- q(a, b), i(c, _, u, _), u > b, u < b + 9."),
            "scan i between bounds of (s)");
}

TEST(BoundedColumn, OnlyNumbersThatAreComparedWithWhatIsKnown) {
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, _), i(b, _, u, _), u != s."), "scan i");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, _, _), i(b, _, u, v), u < v."), "scan i");
  EXPECT_EQ(second_step("q(a, b) :- i(a, _, s, _), i(b, _, u, _), u * 2 < s."), "scan i");
  EXPECT_EQ(second_step("q(a, b) :- g(a, x), g(b, y), y < x."), "scan g");
  EXPECT_EQ(second_step("q(a, b) :- i(a, k, s, t), i(k, s, t, b), b < a."), "search i by (n, k, s)")
      << "sets of the last column are compared as a whole";
}

// One index for both rules: the searched column, then the bounded one.
TEST(BoundedColumn, SharesAnIndexWithSearches) {
  const Program program = compiled(std::string(kTimes) +
                                   "q(a, b) :- i(a, k, s, _), i(b, k, u, _), s < u.\n"
                                   "q(a, b) :- i(a, _, s, t), i(b, t, s, _).\n");
  const ProgramPlan plan = planned(program);
  const auto& indices = plan.relations[relation_named(program, "i")].indices;
  ASSERT_EQ(indices.size(), 1U);
  EXPECT_EQ(indices[0].order[0], 1U);
  EXPECT_EQ(indices[0].order[1], 2U);
}

// What grows is read between bounds as well, but gets no index of its own under a key.
TEST(BoundedColumn, OfTheRelationThatGrows) {
  EXPECT_EQ(second_step("q(a, b) :- i(a, b, _, _).\nq(c, b) :- q(a, b), q(c, d), c <= b, c > a."),
            "scan q between bounds of (a)");
  const std::string of_groups =
      ".decl r(k: number, a: number, b: number)\nr(k, a, b) :- i(_, k, a, b).\n"
      "r(k, a, d) :- r(k, a, b), r(k, c, d), a < c, c <= b.\nq(a, b) :- r(_, a, b).\n";
  const Program program = compiled(kTimes + of_groups);
  EXPECT_EQ(planned(program).relations[relation_named(program, "r")].indices.size(), 1U);
}

// A carried set bounds nothing: its elements come one by one where a scan would lose a bound.
TEST(BoundedColumn, NeedsWhatWouldMoveAsSets) {
  const auto reason_of = [](const std::string& rule) {
    const Program program = compiled(kTimes + rule);
    return planned(program).strata[stratum_of(program, "q")].once.back().reason;
  };
  EXPECT_EQ(reason_of("q(a, 1) :- i(_, _, a, _), i(_, _, u, _), u > a, u < 500."),
            "tuple at a time");
}

}  // namespace
}  // namespace stratalog::datalog
