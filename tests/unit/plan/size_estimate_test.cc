// SPDX-License-Identifier: Apache-2.0
// What is guessed of relations that rules fill, and that orders follow it.
#include "datalog/plan/size_estimate.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

using Values = std::vector<std::uint64_t>;

constexpr const char* kText =
    ".decl e(x: number, y: number)\n.input e\n.decl small(y: number)\n.input small\n"
    ".decl p(x: number, y: number)\n"
    "p(x, y) :- e(x, y), small(y).\np(x, z) :- p(x, y), p(y, z), x != z.\n";

std::vector<RelationStatistics> sizes_of_facts() {
  return {{.known = true, .rows = 100'000, .distinct = {20'000, 30'000}},
          {.known = true, .rows = 40, .distinct = {40}}};
}

TEST(SizeEstimate, ValuesOfDerivedColumnsComeFromTheirSources) {
  const Program program = compiled(kText);
  const auto sizes = estimate_sizes(program, sizes_of_facts());
  EXPECT_EQ(sizes[0].rows, 100'000U) << "what is known stays";
  const RelationStatistics& p = sizes[relation_named(program, "p")];
  EXPECT_FALSE(p.known);
  EXPECT_EQ(p.distinct, (Values{20'000, 40})) << "the smaller of the columns that a value is in";
  EXPECT_EQ(p.rows, 800'000U) << "no more than all combinations";
}

TEST(SizeEstimate, ConstantsFactsAndComputedValues) {
  const Program program = compiled(
      ".decl p(x: number, y: number)\np(1, 7).\np(2, 7).\np(3, 7).\n"
      ".decl q(x: number, y: number)\nq(x + 1, 5) :- p(x, _).\n.decl empty(x: number)\n");
  const auto sizes = estimate_sizes(program, {});
  EXPECT_EQ(sizes[0].distinct, (Values{3, 3}));
  EXPECT_EQ(sizes[1].distinct, (Values{kUnknownDistinct, 1}));
  EXPECT_EQ(sizes[2].rows, 1U);
}

TEST(SizeEstimate, NothingKnownOfInputs) {
  const Program program = compiled(kText);
  const auto sizes = estimate_sizes(program, {});
  EXPECT_EQ(sizes[relation_named(program, "p")].distinct,
            (Values{kUnknownDistinct, kUnknownDistinct}));
  EXPECT_EQ(sizes[relation_named(program, "p")].rows, kUnknownRows);
}

// Greedily, `look` would come second: five tuples for each. But it leads to a product with `type`.
TEST(LiteralOrder, AnOrderThatBeginsWellMayEndBadly) {
  const Program program = compiled(
      ".decl call(m: number, b: number, k: number)\n.input call\n"
      ".decl type(h: number, t: number)\n.input type\n"
      ".decl look(t: number, k: number, m: number)\n.input look\n"
      ".decl new(b: number, h: number)\n.input new\n"
      ".decl points(b: number, h: number)\npoints(b, h) :- new(b, h).\n"
      "points(m, h) :- points(b, h), reach(m).\n.decl reach(m: number)\nreach(0).\n"
      "reach(t) :- reach(m), call(m, b, k), points(b, h), type(h, c), look(c, k, t).\n");
  PlanOptions options;
  options.statistics = {
      {.known = true, .rows = 50'000, .distinct = {10'000, 30'000, 9'000}},
      {.known = true, .rows = 30'000, .distinct = {30'000, 1'000}},
      {.known = true, .rows = 45'000, .distinct = {1'000, 9'000, 20'000}},
      {.known = true, .rows = 40'000, .distinct = {40'000, 30'000}},
  };
  const ProgramPlan plan = planned(program, options);
  EXPECT_NE(explain(program, plan)
                .find("new tuples of reach -> search call by (m) -> search points by (b) -> search "
                      "type by (h) -> search look by (t, k)"),
            std::string::npos)
      << explain(program, plan);
}

constexpr const char* kGrowing =
    ".decl p(x: number, z: number)\n.input p\n.decl q(x: number, r: number, z: number)\n.input q\n"
    ".decl u(w: number, r: number, z: number)\n.input u\n"
    "q(x, r, z) :- p(x, y), q(y, r, z).\np(x, z) :- p(y, w), u(w, r, z), q(x, r, y).\n";

TEST(SizeEstimate, WhatWasReadIsTheLeastOfARelationThatRulesFillAsWell) {
  const Program program = compiled(kGrowing);
  const auto sizes =
      estimate_sizes(program, {{.rows = 3'000'000, .distinct = {100'000, 50'000}},
                               {.rows = 9, .distinct = {9, 4, 9}},
                               {.known = true, .rows = 90'000, .distinct = {80'000, 400, 90'000}}});
  EXPECT_FALSE(sizes[0].known);
  EXPECT_EQ(sizes[0].rows, 3'000'000U) << "more than is assumed of an unknown relation";
  EXPECT_EQ(sizes[0].distinct, (Values{100'000, 90'000})) << "z can be any of u";
  EXPECT_EQ(sizes[1].distinct, (Values{100'000, 4, 9}));
}

// A value of `r` is in 225 tuples of u, a value of `y` in few of p: u is searched by both.
TEST(LiteralOrder, ManyTuplesOfAPropertyAreNotWalkedWhereARelationThatGrowsNamesTheirEnds) {
  const Program program = compiled(kGrowing);
  PlanOptions options;
  options.statistics = {{.rows = 350'000, .distinct = {160'000, 160'000}},
                        {.rows = 300'000, .distinct = {160'000, 400, 90'000}},
                        {.known = true, .rows = 90'000, .distinct = {80'000, 400, 90'000}}};
  const ProgramPlan plan = planned(program, options);
  EXPECT_NE(explain(program, plan).find("new tuples of q -> search p by (x) -> search u by (w, r)"),
            std::string::npos)
      << explain(program, plan);
}

}  // namespace
}  // namespace stratalog::datalog
