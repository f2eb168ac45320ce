// SPDX-License-Identifier: Apache-2.0
// replan_stratum: other orders where sizes are known by then, rules that find nothing, and indices
// that stay what they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "datalog/plan/index_selection.h"
#include "datalog/plan/program_plan.h"
#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kDeclared =
    ".decl e(x: number, y: number, z: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
    ".decl some(x: number)\nsome(x) :- e(x, _, x).\n"
    ".decl made(y: number)\nmade(y) :- f(y, y).\n.decl p(x: number, y: number)\n";

class Replan : public testing::Test {
 protected:
  void read(const std::string& rules) {
    program_ = compiled(kDeclared + rules);
    statistics_.resize(program_.relations.size());
    know("e", 1'000'000, {20'000, 1'000, 500});
    know("f", 500'000, {100'000, 1'000});
    options_.statistics = statistics_;
    plan_ = planned(program_, options_);
  }

  void know(const std::string& relation, std::uint64_t rows, std::vector<std::uint64_t> distinct) {
    statistics_[relation_named(program_, relation)] = {
        .known = true, .rows = rows, .distinct = std::move(distinct)};
  }

  bool replan(const std::string& relation) {
    const auto changed = replan_stratum(program_, options_,
                                        static_cast<std::uint32_t>(stratum_of(program_, relation)),
                                        statistics_, plan_);
    EXPECT_TRUE(changed.is_ok()) << changed.status().to_string();
    return changed.is_ok() && changed.value();
  }

  bool tells(const std::string& part) const {
    return explain(program_, plan_).find(part) != std::string::npos;
  }

  const RelationPlan& plan_of(const std::string& relation) const {
    return plan_.relations[relation_named(program_, relation)];
  }

  // That searches of the stratum find what they look for: in an index that is dealt by columns that
  // they bind, and knows prefixes of that length.
  void expect_served(const std::string& relation) const {
    const StratumPlan& stratum = plan_.strata[stratum_of(program_, relation)];
    for (const auto* list : {&stratum.once, &stratum.rules_of_rounds()})
      for (const RulePlan& rule : *list)
        for (const Step& step : rule.steps) {
          if (step.columns.empty() || step.prefix_length == 0) continue;
          const IndexPlan& index = plan_.relations[step.relation].indices[step.index];
          std::vector<std::uint32_t> bound(index.order.begin(),
                                           index.order.begin() + step.prefix_length);
          std::ranges::sort(bound);
          EXPECT_TRUE(serves_search(plan_.relations[step.relation], index, bound))
              << program_.relations[step.relation].name;
        }
  }

  Program program_;
  PlanOptions options_;
  std::vector<RelationStatistics> statistics_;
  ProgramPlan plan_;
};

TEST_F(Replan, WhatTurnsOutToBeSmallComesFirst) {
  // From `e` on there are five hundred million tuples before `wide` is asked.
  read(
      ".decl wide(x: number)\nwide(x) :- e(x, _, _).\n"
      "p(x, y) :- e(x, y, z), f(w, z), wide(w), some(x).\n");
  know("wide", 40, {40});
  know("some", 400'000, {19'000});
  EXPECT_FALSE(tells("scan wide"));
  const RelationPlan before = plan_of("e");
  EXPECT_TRUE(replan("p"));
  EXPECT_TRUE(tells("scan wide -> search f by (x) -> search e by (z)")) << explain(program_, plan_);
  expect_served("p");
  const RelationPlan& after = plan_of("e");
  ASSERT_GT(after.indices.size(), before.indices.size());
  for (std::size_t i = 0; i < before.indices.size(); ++i) {
    EXPECT_EQ(after.indices[i].order, before.indices[i].order);
    EXPECT_EQ(after.indices[i].searched_lengths, before.indices[i].searched_lengths);
  }
  EXPECT_EQ(after.primary, before.primary);
  EXPECT_FALSE(replan("p")) << "once more says the same";
}

// To make an index takes longer than to go through the relation once.
TEST_F(Replan, AnIndexIsNotMadeForOneScan) {
  const std::string rules =
      "q(x) :- e(x, _, 7).\n.decl q(x: number)\n"
      "p(x, y) :- e(x, y, z), some(x), made(z).\n";
  for (const bool is_there : {false, true}) {
    read(rules);
    know("some", 400'000, {19'000});
    know("made", 2, {2});
    if (is_there) note_indices_read(static_cast<std::uint32_t>(stratum_of(program_, "q")), plan_);
    replan("p");
    EXPECT_EQ(tells("scan made -> search e by (z)"), is_there) << explain(program_, plan_);
    expect_served("p");
  }
}

// But for many readers.
TEST_F(Replan, WhatAnIndexTakesIsSharedByItsReaders) {
  std::string rules = ".decl q(x: number)\n";
  for (int i = 0; i < 9; ++i) rules += "q(x) :- e(x, _, 7), e(x, _, 8).\n";
  read(rules + "p(x, y) :- e(x, y, z), some(x), made(z).\n");
  know("some", 400'000, {19'000});
  know("made", 2, {2});
  EXPECT_TRUE(replan("p"));
  EXPECT_TRUE(tells("scan made -> search e by (z)")) << explain(program_, plan_);
}

TEST_F(Replan, AnOrderThatIsHardlyBetterIsNotTaken) {
  read("p(x, y) :- e(x, y, _), f(x, y), some(x).\n");
  const std::string before = explain(program_, plan_);
  know("some", 15'000, {15'000});
  EXPECT_FALSE(replan("p"));
  EXPECT_EQ(explain(program_, plan_), before);
}

TEST_F(Replan, RulesThatReadSomethingEmptyAreLeftOut) {
  read(
      "p(x, y) :- f(x, y), made(x).\np(x, y) :- f(y, x), !made(x).\np(x, y) :- f(x, y), "
      "some(y).\n");
  know("made", 0, {0});
  EXPECT_TRUE(replan("p"));
  const StratumPlan& stratum = plan_.strata[stratum_of(program_, "p")];
  EXPECT_EQ(stratum.once.size(), 2U);
  EXPECT_FALSE(tells("-> exists made"));
  EXPECT_TRUE(tells("subtract made")) << "nothing is what a negated atom asks for";
}

TEST_F(Replan, WithoutRecursiveRulesNothingIsSwept) {
  read("p(x, y) :- f(x, y).\np(x, z) :- p(x, y), f(y, z), made(y).\n");
  const std::size_t s = stratum_of(program_, "p");
  ASSERT_EQ(plan_.strata[s].strategy, Strategy::kPivot);
  know("made", 0, {0});
  EXPECT_TRUE(replan("p"));
  EXPECT_EQ(plan_.strata[s].strategy, Strategy::kSemiNaive);
  EXPECT_EQ(plan_.strata[s].once.size(), 1U);
  EXPECT_TRUE(plan_.strata[s].rules_of_rounds().empty());
}

TEST_F(Replan, EdgesOfASweepAreFoundInTheNewOrderToo) {
  read("p(x, y) :- f(x, y).\np(x, z) :- p(x, y), e(y, w, v), f(w, z), made(v).\n");
  const std::size_t s = stratum_of(program_, "p");
  ASSERT_EQ(plan_.strata[s].strategy, Strategy::kPivot);
  know("made", 400, {400});
  replan("p");
  EXPECT_EQ(plan_.strata[s].strategy, Strategy::kPivot);
  ASSERT_EQ(plan_.strata[s].recursive.size(), 1U);
  EXPECT_EQ(plan_.strata[s].recursive.front().steps.front().kind, StepKind::kScanDelta);
  expect_served("p");
}

// A relation of a decomposable stratum may lie by the column that its rules carry, whatever an
// index begins with that nobody searched.
TEST(ServesSearch, AnIndexThatNobodySearchedMayLieByAPivot) {
  const IndexPlan scanned{.order = {1, 0}, .searched_lengths = {}};
  const IndexPlan searched{.order = {1, 0}, .searched_lengths = {1}};
  RelationPlan relation;
  EXPECT_TRUE(serves_search(relation, scanned, {1}));
  relation.may_lie_by_pivot = true;
  EXPECT_FALSE(serves_search(relation, scanned, {1}));
  EXPECT_TRUE(serves_search(relation, searched, {1}));
  EXPECT_TRUE(serves_search(relation, scanned, {})) << "a scan finds all";
  EXPECT_TRUE(serves_search(relation, scanned, {0, 1})) << "all columns are known";
}

TEST(ServesSearch, ShorterPrefixesNeedADirectoryAndTheDealing) {
  const RelationPlan relation;
  const IndexPlan by_two{.order = {2, 0, 1}, .searched_lengths = {2}};
  EXPECT_TRUE(serves_search(relation, by_two, {0, 2}));
  EXPECT_FALSE(serves_search(relation, by_two, {2})) << "dealt by two columns";
  EXPECT_FALSE(serves_search(relation, by_two, {0, 1}));
  const IndexPlan by_one{.order = {2, 0, 1}, .searched_lengths = {1}};
  EXPECT_TRUE(serves_search(relation, by_one, {2}));
  EXPECT_TRUE(serves_search(relation, by_one, {0, 2})) << "rows have such prefixes";
}

// One binding is compared with all tuples as quickly as an index of them is made.
TEST_F(Replan, IndicesForBoundsAreMadeForManyBindings) {
  const auto bounds = [&](std::uint64_t rows) {
    read("p(a, b) :- made(a), e(b, y, z), y > a, y < a + 9, z != b.\n");
    EXPECT_TRUE(tells("scan made -> scan e between bounds of (y)"));
    know("some", 20'000, {20'000});
    know("made", rows, {rows});
    EXPECT_EQ(replan("p"), rows == 1);
    return tells("scan e between bounds of (y)");
  };
  EXPECT_TRUE(bounds(200));
  EXPECT_FALSE(bounds(1));
}

TEST_F(Replan, OrdersOfTheProgramsOwnStay) {
  read(
      "p(x, y) :- f(x, y).\np(x, y) :- p(x, w), e(w, y, z), some(w), made(z). .plan 0:(1,2,3,4)\n");
  know("some", 3, {3});
  know("made", 2, {2});
  EXPECT_FALSE(replan("p"));
}

// A growing relation of the stratum gets the index that its new order searches, and may end in
// another column.
TEST_F(Replan, RelationsOfTheStratumGetWhatTheyNeed) {
  read(
      ".decl q(x: number, y: number, z: number)\nq(x, y, z) :- e(x, y, z), some(y).\n"
      "q(x, y, z) :- q(y, x, w), q(w, z, y), made(z).\n");
  know("some", 900, {900});
  know("made", 1, {1});
  replan("q");
  expect_served("q");
  EXPECT_LT(plan_of("q").primary, plan_of("q").indices.size());
}

// `made` has one index, whose sets are of no use; once it is known to be small, another is worth
// it.
TEST_F(Replan, CountsTakeWholeSetsWhereAnIndexIsWorthItByThen) {
  read(
      ".decl kept(x: number, y: number)\nkept(x, y) :- f(x, y), y > 3.\n"
      ".decl counted(x: number, y: number, n: number)\n.output counted\n"
      "counted(x, y, n) :- f(x, y), n = count : { f(x, z), kept(z, y) }.\n"
      ".decl q(y: number)\n.output q\nq(y) :- kept(1, y).\n");
  EXPECT_FALSE(tells("in sets of z"));
  know("kept", 4'000'000, {100'000, 900});
  EXPECT_FALSE(replan("counted") && tells("in sets of z"));
  know("kept", 1'000, {900, 900});
  EXPECT_TRUE(replan("counted"));
  EXPECT_TRUE(tells("in sets of z")) << explain(program_, plan_);
  expect_served("counted");
}

}  // namespace
}  // namespace stratalog::datalog
