// SPDX-License-Identifier: Apache-2.0
// Which rules move whole sets although other atoms restrict them.
#include "datalog/plan/carry_analysis.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

// The rules of p as `explain` prints them.
std::string explained(const std::string& rules) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
      ".decl u(x: number)\n.input u\n.decl p(x: number, y: number, z: number)\n" +
      rules);
  const std::string text = explain(program, planned(program));
  return text.substr(text.find("stratum 3: "));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CarryAnalysis, TheLastVariableOfATriangleIsAnIntersection) {
  const std::string text = explained("p(x, y, z) :- e(x, y), e(y, z), e(x, z).\n");
  EXPECT_TRUE(holds(text, "intersect with e by")) << text;
  EXPECT_TRUE(holds(text, "set at a time")) << text;
}

TEST(CarryAnalysis, SeveralAtomsMayRestrictASet) {
  const std::string text = explained("p(x, y, z) :- f(x, y), e(x, z), !f(y, z), e(y, z).\n");
  EXPECT_TRUE(holds(text, "intersect with e by (x)")) << text;
  EXPECT_TRUE(holds(text, "subtract f by (x)")) << text;
}

TEST(CarryAnalysis, WhatElseReadsTheVariableNeedsItsValues) {
  for (const char* rule : {
           "p(x, y, z) :- e(x, y), e(y, z), e(x, z), z * 2 != 6.\n",
           "p(x, y, z) :- e(x, y), e(y, z), e(x, z), z != y + 1.\n",
           "p(x, z, z) :- e(x, y), e(y, z), e(x, z).\n",
           "p(x, y, z) :- f(x, y), e(x, z), e(z, z).\n",
       })
    EXPECT_FALSE(holds(explained(rule), "`z` moves")) << rule;
}

TEST(CarryAnalysis, ComparisonsRestrictASet) {
  for (const char* rule : {
           "p(x, y, z) :- e(x, y), e(y, z), e(x, z), z != 3.\n",
           "p(x, y, z) :- e(x, y), e(y, z), e(x, z), x < z, z <= 7.\n",
       }) {
    const std::string text = explained(rule);
    EXPECT_TRUE(holds(text, "`z` moves")) << text;
    EXPECT_TRUE(holds(text, "filter sets")) << text;
  }
}

TEST(CarryAnalysis, AComparedSetIsSecondToOneThatIsNot) {
  const std::string text =
      explained(".decl q(x: number, y: number)\n.output q\nq(x, y) :- e(x, y), x < 3.\n");
  EXPECT_TRUE(holds(text, "`y` moves")) << text;
}

// The pivot's sets are there, others would have to be made.
TEST(CarryAnalysis, ThePivotOfASweepIsFirstThoughItIsCompared) {
  const std::string text = explained(
      ".decl c(x: number, y: number)\nc(x, y) :- e(x, y).\nc(x, z) :- c(x, y), e(y, z).\n"
      ".decl q(x: number, y: number)\n.output q\nq(x, y) :- c(x, y), x < 3.\n");
  EXPECT_TRUE(holds(text, "`x` moves as whole sets from `c` to `q`")) << text;
}

TEST(CarryAnalysis, RulesThatComputeRestrictNoSets) {
  EXPECT_FALSE(holds(explained("p(x, y + 1, z) :- e(x, y), e(y, z), e(x, z).\n"), "intersect"));
}

TEST(CarryAnalysis, AFinishedRelationOfOneColumnRestrictsASet) {
  const std::string text = explained("p(y, y, z) :- f(7, y), e(y, z), u(z).\n");
  EXPECT_TRUE(holds(text, "intersect with u\n")) << text;
  EXPECT_TRUE(holds(explained("p(y, y, z) :- f(7, y), e(y, z), !u(z).\n"), "subtract u\n"));
}

// Of what grows no rank has everything.
TEST(CarryAnalysis, AGrowingOneOfOneColumnStaysATest) {
  const std::string text = explained(
      ".decl g(x: number)\ng(z) :- p(z, _, _).\ng(z) :- u(z).\n"
      "p(y, y, z) :- f(7, y), e(y, z).\np(y, x, z) :- p(y, x, z), g(z), f(x, y).\n");
  EXPECT_TRUE(holds(text, "exists g by (x)")) << text;
  EXPECT_FALSE(holds(text, "intersect with g")) << text;
}

TEST(CarryAnalysis, AJoinThroughTheVariableIsNoFilter) {
  EXPECT_FALSE(holds(explained("p(x, x, z) :- e(x, z), f(z, _).\n"), "intersect"));
}

// One witness is enough for each `x`, but not for a set of them.
TEST(CarryAnalysis, AnExistentialScanLooksForWitnesses) {
  const auto of_one_column = [](const std::string& body) {
    return explained("p(0, 0, 0) :- u(0).\n.decl w(x: number)\nw(x) :- " + body + ".\n");
  };
  for (const char* body : {"e(x, _), e(y, _), !f(x, y)", "e(x, y), f(z, w), z < y, w > x"})
    EXPECT_FALSE(holds(of_one_column(body), "`x` moves")) << body;
  for (const char* body : {"e(x, y), f(z, w), z < y", "e(x, y), f(y, w), w > x"})
    EXPECT_TRUE(holds(of_one_column(body), "`x` moves")) << of_one_column(body);
}

TEST(CarryAnalysis, CountsAreOfWholeSetsWhereOtherAtomsRestrictThem) {
  const std::string rule = "p(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, z), !f(3, z) }.\n";
  EXPECT_TRUE(holds(explained(rule),
                    "aggregate n in sets of z {search e by (x) -> subtract f by (x) -> "
                    "intersect with e by (x)}"))
      << explained(rule);
  EXPECT_TRUE(holds(explained("p(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, z), u(z) }.\n"),
                    "intersect with u}"));
  // Nothing restricts z, or its values are asked for.
  for (const char* other : {
           "p(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, w) }.\n",
           "p(x, y, n) :- e(x, y), n = sum z : { e(x, z), e(y, z) }.\n",
           "p(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, z), z % 3 = 1 }.\n",
       })
    EXPECT_FALSE(holds(explained(other), "in sets of")) << other;
}

// Of rules and of aggregates alike.
TEST(CarryAnalysis, WhereSetsAreNotAllowedNothingIsCountedInThem) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, n: number)\n"
      "p(x, n) :- e(x, y), n = count : { e(x, z), e(y, z) }.\n");
  EXPECT_TRUE(holds(explain(program, planned(program)), "in sets of z"));
  EXPECT_FALSE(holds(explain(program, planned(program, {.statistics = {}, .allow_sets = false})),
                     "in sets of z"));
}

// Fewer questions than it takes to make find what they look for one by one.
TEST(CarryAnalysis, ManyCountsAreWorthAnIndex) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
      ".decl p(x: number, y: number, n: number)\n"
      "p(x, y, n) :- e(x, y), n = count : { e(x, z), f(z, y) }.\n"
      ".decl q(x: number)\nq(y) :- f(1, y).\n");
  const auto explained_with = [&](std::uint64_t asking, std::uint64_t asked) {
    PlanOptions options;
    options.statistics = {{.known = true, .rows = asking, .distinct = {asking, asking}},
                          {.known = true, .rows = asked, .distinct = {asked, asked}}};
    return explain(program, planned(program, options));
  };
  EXPECT_TRUE(holds(explained_with(100'000, 1'000), "intersect with f by (y)"));
  EXPECT_FALSE(holds(explained_with(1'000, 100'000), "intersect with f"));
}

}  // namespace
}  // namespace stratalog::datalog
