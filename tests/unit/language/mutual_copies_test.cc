// SPDX-License-Identifier: Apache-2.0
// Relations that copy each other: which rules go, and which take their place.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "datalog/language/compile.h"

namespace stratalog::datalog {
namespace {

std::string rules_of_copies(const std::string& text, const CompileOptions& options = {}) {
  const CompileOutcome outcome = compile({.name = "m.dl", .text = text}, options);
  if (!outcome.is_ok()) return render_all(outcome.diagnostics);
  std::string rules;
  for (const Rule& rule : outcome.program->rules) rules += rule.text + "\n";
  return rules;
}

bool is_as_written(const std::string& text) {
  CompileOptions as_written;
  as_written.magic_sets = MagicSets::kMark;
  return rules_of_copies(text) == rules_of_copies(text, as_written);
}

std::size_t recursions_of(const std::string& text) {
  const CompileOutcome outcome = compile({.name = "m.dl", .text = text}, {});
  EXPECT_TRUE(outcome.is_ok());
  return outcome.is_ok() ? static_cast<std::size_t>(std::ranges::count_if(
                               outcome.program->strata,
                               [](const Stratum& stratum) { return stratum.is_recursive; }))
                         : 0;
}

const std::string kHas =
    ".decl e(a: number, b: number)\n.input e\n"
    ".decl has(a: number, b: number)\n.decl of(a: number, b: number)\n";
const std::string kHasEdges = "has(x, y) :- e(x, y).\n";
const std::string kThere = "of(y, x) :- has(x, y).\n";
const std::string kBack = "has(x, y) :- of(y, x).\n";

TEST(MutualCopies, WhatOnlyComesBackGoes) {
  const std::string text = kHas + kHasEdges + kBack + kThere;
  EXPECT_EQ(rules_of_copies(text), kHasEdges + kThere);
  EXPECT_EQ(recursions_of(text), 0U);
  // Whichever is declared first.
  EXPECT_EQ(rules_of_copies(kHas + "of(x, y) :- e(x, y).\n" + kBack + kThere),
            "of(x, y) :- e(x, y).\n" + kBack);
}

TEST(MutualCopies, ThreeColumnsThatTurnComeBackByTheOtherTurnOnly) {
  const std::string names =
      ".decl e(a: number, b: number, c: number)\n.input e\n"
      ".decl p(a: number, b: number, c: number)\n.decl q(a: number, b: number, c: number)\n"
      "p(x, y, z) :- e(x, y, z).\nq(x, y, z) :- p(y, z, x).\n";
  EXPECT_EQ(recursions_of(names + "p(y, z, x) :- q(x, y, z).\n"), 0U);
  EXPECT_TRUE(is_as_written(names + "p(x, y, z) :- q(y, z, x).\n"));
}

TEST(MutualCopies, FewRulesOfTheCopyAreWrittenForBoth) {
  const std::string more = "has(x, y) :- e(x, z), e(z, y).\nhas(3, 4).\n";
  EXPECT_EQ(rules_of_copies(kHas + kHasEdges + more + "of(x, x) :- e(x, _).\nof(1, 2).\n" + kBack +
                            kThere),
            kHasEdges + more + "of(x, x) :- e(x, _).\nof(1, 2).\n" + kThere +
                "has(x, x) :- e(x, _).\nhas(2, 1).\n");
}

TEST(MutualCopies, WhatTheCopyComputesIsComputedOnce) {
  const std::string text = kHas + kHasEdges + "has(x, y) :- e(x, z), e(z, y).\n" +
                           "of(x, y + 1) :- e(x, y).\n" + kBack + kThere;
  EXPECT_EQ(rules_of_copies(text),
            kHasEdges + "has(x, y) :- e(x, z), e(z, y).\n" + "of#3(x, y + 1) :- e(x, y).\n" +
                "has(x, y) :- of#3(y, x).\n" + kThere + "of(y, x) :- of#3(y, x).\n");
  EXPECT_EQ(recursions_of(text), 0U);
}

TEST(MutualCopies, CallersWithFactsHaveARelationForThem) {
  CompileOptions options;
  options.other_facts = OtherFacts::kFromCaller;
  const CompileOutcome outcome =
      compile({.name = "m.dl", .text = kHas + kHasEdges + kBack + kThere}, options);
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_EQ(outcome.program->relations[2].facts_into, RelationId{3});
  EXPECT_EQ(outcome.program->relations[1].facts_into, std::nullopt);
  EXPECT_EQ(outcome.program->rules[1].text, "has(x, y) :- of#3(y, x).");
}

TEST(MutualCopies, ARelationMayCopyItself) {
  const std::string near =
      ".decl e(a: number, b: number)\n.input e\n"
      ".decl near(a: number, b: number)\nnear(x, y) :- e(x, y).\n";
  EXPECT_EQ(rules_of_copies(near + "near(x, y) :- near(y, x).\n"),
            "near(x, y) :- e(x, y).\nnear(y, x) :- e(x, y).\n");
  EXPECT_EQ(rules_of_copies(near + "near(x, y) :- near(x, y).\n"), "near(x, y) :- e(x, y).\n");
  // Steps that go both ways are the business of closures.
  EXPECT_EQ(recursions_of(near + "near(x, y) :- near(y, x).\nnear(x, z) :- near(x, y), e(y, z).\n"),
            1U);
}

TEST(MutualCopies, OtherReasonsForARecursionStay) {
  const std::string text = kHas + kHasEdges + "has(x, z) :- of(y, x), e(y, z).\n" + kBack + kThere;
  EXPECT_EQ(rules_of_copies(text), kHasEdges + "has(x, z) :- of(y, x), e(y, z).\n" + kThere);
  EXPECT_EQ(recursions_of(text), 1U);
}

TEST(MutualCopies, ClosuresBehindACopyAreClosures) {
  EXPECT_EQ(
      rules_of_copies(kHas + kHasEdges + "has(x, z) :- has(x, y), has(y, z).\n" + kBack + kThere),
      kHasEdges + "has(x, z) :- has(x, y), e(y, z).\n" + kThere);
}

TEST(MutualCopies, PlansOfOtherRulesMoveAlong) {
  const CompileOutcome outcome =
      compile({.name = "m.dl",
               .text = kHas + kHasEdges + kBack + kThere +
                       ".decl j(a: number, b: number)\n.output j\nj(x, y) :- e(x, y).\n"
                       "j(x, z) :- e(x, y), j(y, z). .plan 0:(2,1)\n"},
              {});
  ASSERT_TRUE(outcome.is_ok()) << render_all(outcome.diagnostics);
  for (const Rule& rule : outcome.program->rules)
    EXPECT_EQ(rule.join_orders.size(), rule.body.size() == 2 ? 1U : 0U) << rule.text;
}

TEST(MutualCopies, RelationsThatHoldMoreOrLessThanTheirRulesSayStay) {
  EXPECT_TRUE(is_as_written(kHas + ".input has, of\n" + kHasEdges + kBack + kThere));
  EXPECT_TRUE(is_as_written(kHas + ".limitsize has(n=5)\n" + kHasEdges + kBack + kThere));
  EXPECT_TRUE(is_as_written(
      ".decl e(a: number, b: number)\n.input e\n.decl has(a: number, b: number) choice-domain a\n"
      ".decl of(a: number, b: number)\n" +
      kHasEdges + kBack + kThere));
  EXPECT_TRUE(
      is_as_written(".decl e(a: number, b: number)\n.input e\n.decl has(a: number, b: number)\n"
                    ".decl of(a: number, b: number) eqrel\n" +
                    kHasEdges + kBack + kThere));
  EXPECT_TRUE(is_as_written(kHas + ".decl d(a: number, b: number) = debug_delta(has)\n" +
                            kHasEdges + kBack + kThere));
  EXPECT_TRUE(is_as_written(kHas + kHasEdges + kBack + kThere +
                            "has(x, y) :- has(x, y), y < recursive_iteration_cnt().\n"));
  EXPECT_TRUE(
      is_as_written(kHas + kHasEdges + kBack + kThere + "has(x, a) <= has(x, b) :- a < b.\n"));
}

TEST(MutualCopies, WhatComesBackChangedStays) {
  EXPECT_TRUE(is_as_written(kHas + kHasEdges + "has(x, y) :- of(x, y).\n" + kThere));
  EXPECT_TRUE(is_as_written(kHas + kHasEdges + "has(x, y) :- of(y, x), x < 5.\n" + kThere));
  EXPECT_TRUE(is_as_written(kHas + kHasEdges + "has(x, x) :- of(x, x).\n" + kThere));
  EXPECT_TRUE(is_as_written(kHas + kHasEdges + "has(x, y) :- of(y, x).\nof(x, 1) :- has(_, x).\n"));
}

}  // namespace
}  // namespace stratalog::datalog
