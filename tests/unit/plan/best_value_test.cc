// SPDX-License-Identifier: Apache-2.0
// Which rules that subsume keep a best value, and which need joins.
#include "datalog/plan/best_value.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

// "least 2", or nothing. `kind` is that of the last column, `rule` compares tuples of p.
std::string kept(const std::string& rule, const std::string& kind = "number") {
  const Program program = compiled(".decl p(x: number, y: number, v: " + kind +
                                   ")\n.input p\n.decl q(x: number)\n.input q\n" + rule);
  std::string text;
  for (std::uint32_t r = 0; r < program.rules.size(); ++r)
    if (const auto best = find_best_value(program, r);
        best && program.rules[r].role == RuleRole::kSubsumes)
      text += fmt::format("{} {}", best->keeps == KeptValue::kLeast ? "least" : "greatest",
                          best->column);
  return text;
}

TEST(BestValue, OneColumnDiffersAndIsCompared) {
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b < a."), "least 2");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- a > b."), "least 2");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b <= a."), "least 2");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- a < b."), "greatest 2");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b >= a."), "greatest 2");
  EXPECT_EQ(kept("p(a, y, v) <= p(b, y, v) :- a < b.", "symbol"), "greatest 0");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b < a.", "unsigned"), "least 2");
}

// Zeros with different signs are equal, and `<=` lets each dominate the other.
TEST(BestValue, FloatsOnlyWhereEqualOnesStay) {
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b < a.", "float"), "least 2");
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b <= a.", "float"), "");
}

TEST(BestValue, AllElseNeedsJoins) {
  for (const char* rule :
       {"p(x, y, a) <= p(x, y, b) :- b < a, q(x).", "p(x, y, a) <= p(x, y, b) :- b < a, x > 1.",
        "p(x, y, a) <= p(x, y, b) :- b < a + 1.", "p(x, y, a) <= p(x, y, b) :- b != a.",
        "p(x, y, a) <= p(x, y, b) :- b < x, a = a.", "p(x, y, a) <= p(x, z, b) :- b < a, y < z.",
        "p(x, x, a) <= p(x, x, b) :- b < a.", "p(x, 1, a) <= p(x, 1, b) :- b < a.",
        "p(x, _, a) <= p(x, _, b) :- b < a.", "p(x, y, a) <= p(x, x, b) :- b < a, y = y.",
        "p(x, y, _) <= p(x, y, b) :- b < x."})
    EXPECT_EQ(kept(rule), "") << rule;
  EXPECT_EQ(kept("p(x, y, a) <= p(x, y, b) :- b < a.", "symbol"), "");
}

constexpr const char* kBase =
    ".decl e(x: number, y: number, d: number)\n.input e\n.decl p(x: number, y: number, d: number)\n"
    "p(x, y, d) :- e(x, y, d).\np(x, z, d + f) :- p(x, y, d), e(y, z, f).\n";

TEST(BestValue, AllRulesOfAStratumOrNone) {
  const auto planned_best = [](const std::string& text) {
    const Program program = compiled(kBase + text);
    return planned(program).relations[relation_named(program, "p")].best;
  };
  const std::string least = "p(x, y, a) <= p(x, y, b) :- b < a.\n";
  ASSERT_TRUE(planned_best(least).has_value());
  EXPECT_EQ(planned_best(least)->column, 2U);
  EXPECT_TRUE(planned_best(least + least).has_value());
  EXPECT_FALSE(planned_best(least + "p(x, y, a) <= p(x, y, b) :- a < b.\n").has_value());
  EXPECT_FALSE(planned_best(least + "p(x, y, a) <= p(x, z, a) :- z < y.\n").has_value());
}

// A Lub says what becomes of two values, whatever other relations' rules compare.
TEST(BestValue, UnitedValuesInAnyCompany) {
  const std::string lattice =
      ".type M <: number\n.lattice M<> { Bottom -> 0, Lub -> _ bor _, Glb -> _ band _ }\n"
      ".decl m(x: number, v: M<>)\nm(x, as(d, M)) :- p(x, _, d).\np(x, x, v) :- m(x, v).\n";
  for (const char* rule :
       {"p(x, y, a) <= p(x, y, b) :- b < a.\n", "p(x, y, a) <= p(x, y, b) :- b < a, x > 1.\n"}) {
    const Program program = compiled(kBase + lattice + rule);
    const ProgramPlan plan = planned(program);
    const auto& best = plan.relations[relation_named(program, "m")].best;
    ASSERT_TRUE(best.has_value()) << rule;
    EXPECT_EQ(best->keeps, KeptValue::kUnited);
    EXPECT_EQ(best->column, 1U);
    EXPECT_TRUE(program.rules[best->rule].unites_values);
    const bool are_all = plan.relations[relation_named(program, "p")].best.has_value();
    for (const StratumPlan& stratum : plan.strata)
      for (const RulePlan& rejects : stratum.reject)
        EXPECT_EQ(program.rules[rejects.rule].head, relation_named(program, "p"));
    EXPECT_EQ(are_all, std::string(rule).find("x > 1") == std::string::npos);
  }
}

// One float for each key, where joins would leave two that are equal.
TEST(BestValue, FloatsOfLatticesInAnyCompany) {
  const std::string lattice =
      ".type F <: float\n.lattice F<> { Bottom -> 0.0, Lub -> max(_, _), Glb -> min(_, _) }\n"
      ".decl m(x: number, v: F<>)\nm(x, as(d, F)) :- p(x, _, d).\np(x, x, 1) :- m(x, _).\n"
      ".decl all(v: F<>)\nall(v) :- m(_, v).\n";
  const Program program = compiled(kBase + lattice + "p(x, y, a) <= p(x, y, b) :- b < a, x > 1.\n");
  const ProgramPlan plan = planned(program);
  for (const char* name : {"m", "all"}) {
    const auto& best = plan.relations[relation_named(program, name)].best;
    ASSERT_TRUE(best.has_value()) << name;
    EXPECT_EQ(best->keeps, KeptValue::kGreatest);
    EXPECT_TRUE(best->orders_all_floats);
  }
  EXPECT_FALSE(plan.relations[relation_named(program, "p")].best);
}

// Indices that searches of values need do not decide where tuples lie.
TEST(BestValue, ValuesLieTogetherWhateverIsSearched) {
  const Program program = compiled(std::string(kBase) +
                                   "p(x, y, d) :- p(_, _, d), p(x, y, d), e(x, y, _).\n"
                                   "p(x, y, a) <= p(x, y, b) :- b < a.\n");
  const ProgramPlan plan = planned(program);
  const RelationPlan& relation = plan.relations[relation_named(program, "p")];
  const bool lies_by_value =
      std::ranges::any_of(relation.indices, [](const IndexPlan& i) { return i.order[0] == 2; });
  EXPECT_TRUE(lies_by_value);
  ASSERT_TRUE(relation.best.has_value());
  EXPECT_EQ(relation.indices[relation.primary].order.back(), 2U);
}

TEST(BestValue, NoJoinsAndTheValueLast) {
  const Program program = compiled(std::string(kBase) + "p(x, y, a) <= p(x, y, b) :- b < a.\n");
  const ProgramPlan plan = planned(program);
  const RelationPlan& relation = plan.relations[relation_named(program, "p")];
  ASSERT_EQ(relation.indices.size(), 1U);
  EXPECT_EQ(relation.indices[0].order.back(), 2U);
  for (const StratumPlan& stratum : plan.strata) {
    EXPECT_TRUE(stratum.reject.empty());
    EXPECT_TRUE(stratum.retire.empty());
  }
}

}  // namespace
}  // namespace stratalog::datalog
