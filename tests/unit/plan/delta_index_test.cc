// SPDX-License-Identifier: Apache-2.0
// New tuples are read from the index that is dealt like the search they are for.
#include "datalog/plan/delta_index.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kInputEdges = ".decl e(x: number, y: number)\n.input e\n";

// For each recursive rule of `name`, the columns of the index that its new tuples are read from.
std::vector<std::vector<std::uint32_t>> delta_orders(const std::string& text,
                                                     const std::string& name) {
  const Program program = compiled(kInputEdges + text);
  PlanOptions options;
  options.allow_pivot = false;
  const ProgramPlan plan = planned(program, options);
  std::vector<std::vector<std::uint32_t>> orders;
  for (const RulePlan& rule : plan.strata[stratum_of(program, name)].recursive) {
    const Step& step = rule.steps.front();
    EXPECT_EQ(step.kind, StepKind::kScanDelta);
    orders.push_back(plan.relations[step.relation].indices[step.index].order);
    // Every column still has the variable that the rule says.
    const auto& arguments = program.rules[rule.rule].body[step.literal].atom.arguments;
    for (std::size_t i = 0; i < step.columns.size(); ++i) {
      const ColumnUse& use = step.columns[i];
      if (use.role != ColumnRole::kBind && use.role != ColumnRole::kCarry) continue;
      EXPECT_EQ(use.variable, arguments[orders.back()[i]].variable);
    }
  }
  return orders;
}

using DeltaOrders = std::vector<std::vector<std::uint32_t>>;

TEST(DeltaIndex, BothSidesOfAClosureAreReadByTheColumnTheyMeetIn) {
  EXPECT_EQ(delta_orders(".decl p(x: number, y: number)\np(x, y) :- e(x, y).\n"
                         "p(x, z) :- p(x, y), p(y, z), x < z.\n",
                         "p"),
            (DeltaOrders{{1, 0}, {0, 1}}));
}

TEST(DeltaIndex, AStaticSearchBetweenDoesNotMatter) {
  // New tuples of p(w, z) meet q by w: there is an index of p by its first column.
  const DeltaOrders orders = delta_orders(
      ".decl p(x: number, y: number)\n.decl q(x: number, y: number)\n"
      "p(x, y) :- e(x, y).\nq(x, y) :- p(y, x).\n"
      "p(x, z) :- q(x, w), e(w, _), p(w, z).\n",
      "p");
  for (const auto& order : orders) EXPECT_EQ(order.size(), 2U);
  ASSERT_EQ(orders.size(), 3U);
  EXPECT_EQ(orders[2].front(), 0U);
}

TEST(DeltaIndex, IndicesThatNothingElseNeedsAreNotKeptForIt) {
  // Only the first column of p is ever searched by, so no index stands by the second.
  const std::string text =
      ".decl p(x: number, y: number)\np(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(z, y), p(x, z).\n";
  for (const auto& order : delta_orders(text, "p"))
    EXPECT_EQ(order, (DeltaOrders::value_type{0, 1}));
}

TEST(DeltaIndex, ColumnsComparedWithinTheAtomKeepTheirOrder) {
  const std::string text =
      ".decl p(x: number, y: number, z: number)\np(x, y, y) :- e(x, y).\n"
      "p(x, z, z) :- p(x, y, y), p(y, z, _).\n";
  const Program program = compiled(kInputEdges + text);
  const ProgramPlan plan = planned(program, {});
  for (const RulePlan& rule : plan.strata[stratum_of(program, "p")].rules_of_rounds()) {
    bool has_bound = false;
    for (const ColumnUse& use : rule.steps.front().columns) {
      has_bound |= use.role == ColumnRole::kBind;
      EXPECT_TRUE(has_bound || use.role != ColumnRole::kMatchEarlier);
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
