// SPDX-License-Identifier: Apache-2.0
// Aggregates whose bodies become relations: which do, and how they are restricted.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "datalog/language/compile.h"

namespace stratalog::datalog {
namespace {

const std::string kFacts =
    ".decl e(a: number, b: number)\n.input e\n.decl a(x: number)\n.input a\n"
    ".decl w(a: number, b: number, c: number)\n.input w\n"
    ".decl f(a: number, b: float)\n.input f\n.decl c(x: number, y: number, n: number)\n.output c\n";

// The rules of the program with this one, but without what only declares.
std::string rules_with(const std::string& rule, const CompileOptions& options = {}) {
  const CompileOutcome outcome = compile({.name = "g.dl", .text = kFacts + rule}, options);
  if (!outcome.is_ok()) return render_all(outcome.diagnostics);
  std::string rules;
  for (const Rule& each : outcome.program->rules) rules += each.text + "\n";
  return rules;
}

bool keeps_its_body(const std::string& rule, const CompileOptions& options = {}) {
  return rules_with(rule, options).find("c#") == std::string::npos;
}

TEST(GatheredBodies, WhatTheRuleSaysOfOuterVariablesRestrictsTheRelation) {
  EXPECT_EQ(rules_with("c(x, y, n) :- a(x), a(y), x < y, n = count : { e(x, z), e(y, z) }."),
            "c(x, y, n) :- a(x), a(y), x < y, n = count : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- a(x), a(y), x < y, e(x, z), e(y, z).\n");
}

TEST(GatheredBodies, WhatOnlyMultipliesIsForgotten) {
  EXPECT_EQ(rules_with("c(x, y, n + k) :- e(x, k), w(y, m, m), m > 1, "
                       "n = sum z : { e(x, z), !a(z), e(y, z) }."),
            "c(x, y, n + k) :- e(x, k), w(y, m, m), m > 1, "
            "n = sum z : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- e(x, _), w(y, m, m), m > 1, e(x, z), !a(z), e(y, z).\n");
}

TEST(GatheredBodies, OfExtremesTheTargetIsKept) {
  EXPECT_EQ(rules_with("c(x, y, n) :- a(x), a(y), n = max z * 2 : { w(x, k, z), w(y, k, _) }."),
            "c(x, y, n) :- a(x), a(y), n = max z * 2 : { c#5(x, y, z) } with x, y, c#5(x, y, _).\n"
            "c#5(x, y, z) :- a(x), a(y), w(x, k, z), w(y, k, _).\n");
}

TEST(GatheredBodies, GroupsThatMustHoldSomethingAreNotAskedOfAllPairs) {
  const std::string gathered = "c(x, y, n) :- a(x), a(y), n = count : { c#5(x, y, z) } with x, y, ";
  const auto head_of = [](const std::string& condition) {
    const std::string rules = rules_with(
        "c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, z) }, " + condition + ".");
    return rules.substr(0, rules.find('\n') + 1);
  };
  for (const char* condition : {"n > 0", "n >= 1", "n != 0", "0 < n", "n < 0", "-1 > n"})
    EXPECT_EQ(head_of(condition), gathered + condition + ", c#5(x, y, _).\n");
  for (const char* condition : {"n > -1", "n >= 0", "n != 1", "0 <= n", "n < 7", "n > x"})
    EXPECT_EQ(head_of(condition), gathered + condition + ".\n");
  EXPECT_NE(head_of("n = 7").find("n = 7, c#5(x, y, _)."), std::string::npos);
  EXPECT_EQ(head_of("n = 0").find("c#5(x, y, _)"), std::string::npos);
}

TEST(GatheredBodies, OneAtomThatTellsOfAGroupIsJoined) {
  EXPECT_EQ(rules_with("c(x, y, n) :- a(x), a(y), n = min z : { w(x, z, y), !a(z) }."),
            "c(x, y, n) :- a(x), a(y), n = min z : { w(x, z, y), !a(z) } with x, y, w(x, _, y).\n");
  EXPECT_EQ(rules_with("c(x, y, n) :- a(x), a(y), n = sum z : { w(x, z, y) }, n > 3."),
            "c(x, y, n) :- a(x), a(y), n = sum z : { w(x, z, y) } with x, y, n > 3, w(x, _, y).\n");
  // Of a sum of floats, too: without a term it is 0.
  EXPECT_EQ(rules_with("c(x, y, 1) :- a(x), a(y), s = sum v : { w(x, z, y), f(z, v) }, s > 0.5."),
            "c(x, y, 1) :- a(x), a(y), s = sum v : { w(x, z, y), f(z, v) } with x, y, "
            "s > 0.5, w(x, _, y).\n");
}

TEST(GatheredBodies, WhatTheRuleTiesNeedsNoAtomOfItsGroups) {
  EXPECT_EQ(rules_with("c(x, y, n) :- e(x, y), n = min z : { w(x, z, y) }."),
            "c(x, y, n) :- e(x, y), n = min z : { w(x, z, y) } with x, y.\n");
  EXPECT_EQ(rules_with("c(x, y, n) :- a(x), a(y), n = min z : { e(x, z), z < y }."),
            "c(x, y, n) :- a(x), a(y), n = min z : { e(x, z), z < y } with x, y.\n");
  const std::string planned = rules_with(
      "c(x, y, n) :- a(x), c(y, _, _), n = min z : { w(x, z, y) }. .plan 0: (1, 2)\nc(1, 1, 1).");
  EXPECT_NE(planned.find("{ w(x, z, y) } with x, y.\n"), std::string::npos) << planned;
}

TEST(GatheredBodies, WhatTheRuleSaysAsWellIsJoinedOnce) {
  EXPECT_EQ(rules_with("c(x, y, n) :- e(x, k), e(k, y), n = sum z : { e(x, z), e(z, y) }."),
            "c(x, y, n) :- c#5(x, y, k), n = sum z : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- e(x, z), e(z, y).\n");
  // What else it says of outer variables restricts both.
  EXPECT_EQ(rules_with("c(x, y, n) :- e(x, k), e(y, k), x < y, w(m, x, y), "
                       "n = sum z : { e(x, z), e(y, z) }."),
            "c(x, y, n) :- c#5(x, y, k), x < y, w(m, x, y), "
            "n = sum z : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- w(_, x, y), x < y, e(x, z), e(y, z).\n");
}

TEST(GatheredBodies, WhatIsComputedIsNoColumnAndNeedNotBeComputedAgain) {
  EXPECT_EQ(rules_with("c(x, y, n) :- e(k, x), e(k + 1, y), n = count : { e(z, x), e(z + 1, y) }."),
            "c(x, y, n) :- c#5(x, y, k), n = count : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- e(z, x), e(_2, y), _2 = z + 1.\n");
  // Unless the rule wants it.
  EXPECT_EQ(rules_with("c(x, y, n + q) :- e(k, x), e(q, y), q = k + 1, "
                       "n = count : { e(z, x), e(v, y), v = z + 1 }."),
            "c(x, y, n + q) :- c#5(x, y, k), q = k + 1, n = count : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- e(z, x), e(v, y), v = z + 1.\n");
}

TEST(GatheredBodies, CountsAndSumsOfTheSameGroupsShareARelation) {
  EXPECT_EQ(rules_with("c(x, y, n * s) :- e(x, k), e(k, y), n = sum z : { e(x, z), e(z, y) }, "
                       "s = sum v : { e(x, v), e(v, y) }."),
            "c(x, y, n * s) :- c#5(x, y, k), n = sum z : { c#5(x, y, z) } with x, y, "
            "s = sum v : { c#5(x, y, v) } with x, y.\n"
            "c#5(x, y, z) :- e(x, z), e(z, y).\n");
}

// `_` of the rule may be a variable of the aggregate, and the other way round.
TEST(GatheredBodies, WhatOneSideLeavesOutTheOtherMayName) {
  EXPECT_EQ(rules_with("c(x, y, n) :- w(x, k, _), e(k, y), n = sum v : { w(x, z, v), e(z, y) }."),
            "c(x, y, n) :- c#5(x, y, k, _), n = sum v : { c#5(x, y, z, v) } with x, y.\n"
            "c#5(x, y, z, v) :- w(x, z, v), e(z, y).\n");
  EXPECT_EQ(rules_with("c(x, y, n + m) :- w(x, k, m), e(k, y), "
                       "n = sum z : { w(x, z, _), e(z, y) }."),
            "w#5(a, b) :- w(a, b, _).\n"
            "c(x, y, n + m) :- w(x, k, m), e(k, y), n = sum z : { c#6(x, y, z) } with x, y.\n"
            "c#6(x, y, z) :- w#5(x, z), e(z, y).\n");
}

TEST(GatheredBodies, WhatTheRuleLeavesOutIsNotAnything) {
  // The aggregate's `_` is any value, the rule's is not.
  for (const char* atom : {"w(k, 3, y)", "w(k, k, y)", "w(k, x, y)"})
    EXPECT_TRUE(keeps_its_body(
        fmt::format("c(x, y, n) :- e(x, k), {}, n = sum z : {{ e(x, z), w(z, _, y) }}.", atom)))
        << atom;
  // Two values of the body are one of the rule's.
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), w(k, k, y), n = min z : { e(x, z), w(z, p, y) }."));
}

// In one of them y is a value of its own. (Of floats, an equation may have two.)
TEST(GatheredBodies, GroupsByOtherVariablesAreOthers) {
  const std::string rules = rules_with(
      ".decl r(x: number, q: number, y: float, n: number, c: number)\n.output r\n"
      "r(x, q, y, n, c) :- f(x, k), f(q, k), y = k + 1.0, y = 5.0, "
      "n = count : { y = z + 1.0, f(x, z), f(q, z) }, "
      "c = count : { v = z + 1.0, f(x, z), f(q, z) }.");
  EXPECT_NE(rules.find("n = count : { r#6("), std::string::npos) << rules;
  EXPECT_NE(rules.find("c = count : { r#7("), std::string::npos) << rules;
}

// Their sizes are counted by themselves.
TEST(GatheredBodies, PartsThatHaveNothingInCommonStay) {
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), e(k, y), e(y, m), "
                     "n = sum z : { e(x, z), e(z, y), e(y, q) }."));
}

TEST(GatheredBodies, WhatSetsHaveInCommonIsCountedWithoutAList) {
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), e(k, y), n = count : { e(x, z), e(z, y), !a(z) }."));
}

// The relation could not be restricted by it.
TEST(GatheredBodies, WhatARangeOrAnAggregateDecidesIsNotMadeForAll) {
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- x = range(0, 5), e(x, k), e(k, y), "
                     "n = sum z : { e(x, z), e(z, y) }."));
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- x = max q : { e(q, _) }, e(x, k), e(k, y), "
                     "n = sum z : { e(x, z), e(z, y) }."));
}

// What else the body says only leaves less of what the rule finds anyway.
TEST(GatheredBodies, TheBodyMaySayMoreThanTheRule) {
  EXPECT_EQ(rules_with("c(x, y, n) :- e(x, k), e(k, y), "
                       "n = count : { e(x, z), e(z, y), !a(z), z != x }."),
            "c(x, y, n) :- e(x, k), e(k, y), n = count : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- e(x, z), e(z, y), !a(z), z != x.\n");
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), e(k, y), "
                     "n = count : { e(x, z), e(z, y), w(x, z, v) }."));
}

// All groups together would be more than the rule finds.
TEST(GatheredBodies, BodiesOfWhichTheRuleTakesOnlySomeStay) {
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), e(k, y), a(k), n = sum z : { e(x, z), e(z, y) }."));
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- e(x, k), e(k, y), k < 9, n = sum z : { e(x, z), e(z, y) }."));
  EXPECT_TRUE(keeps_its_body(
      "c(x, y, n) :- e(x, k), e(k, y), x = k * 2, n = sum z : { e(x, z), e(z, y) }."));
  EXPECT_TRUE(
      keeps_its_body("c(x, x, x) :- a(x).\n"
                     "c(x, y, n) :- c(x, _, _), e(x, k), e(k, y), "
                     "n = sum z : { e(x, z), e(z, y) }."));
  // Not the same: z is one value within the aggregate.
  EXPECT_TRUE(keeps_its_body(
      "c(x, y, n) :- e(x, k), w(k, m, _), e(m, y), n = sum z : { e(x, z), e(z, y) }."));
}

TEST(GatheredBodies, AtomsOfAPlanStay) {
  const std::string rule =
      "c(x, y, n) :- c(m, m, _), e(x, k), e(k, y), n = sum z : { e(x, z), e(z, y) }.\n";
  const std::string made = "c#5(x, y, z) :- e(x, z), e(z, y).\n";
  EXPECT_EQ(
      rules_with(rule),
      "c(x, y, n) :- c(m, m, _), c#5(x, y, k), n = sum z : { c#5(x, y, z) } with x, y.\n" + made);
  EXPECT_EQ(
      rules_with(rule + ".plan 0: (2, 1, 3)"),
      "c(x, y, n) :- c(m, m, _), e(x, k), e(k, y), n = sum z : { c#5(x, y, z) } with x, y.\n" +
          made);
}

// Wherever the search begins, what it computes may be found in vain.
TEST(GatheredBodies, WhatIsComputedIsJoinedOnceThoughTheRuleTiesIt) {
  EXPECT_EQ(rules_with("c(x, y, n) :- w(x, y, k), k > 2, n = count : { e(z, x), e(z + 1, y) }."),
            "c(x, y, n) :- w(x, y, k), k > 2, n = count : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- w(x, y, k), k > 2, e(z, x), e(_1, y), _1 = z + 1.\n");
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- e(x, y), n = count : { w(x, y, z), a(z + 1) }."));
}

// Each binding finds little, or nothing would be found sooner.
TEST(GatheredBodies, BodiesOfTiedVariablesStay) {
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, z) }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- e(x, y), n = max z : { w(x, z, k), w(y, z, k) }."));
  EXPECT_TRUE(keeps_its_body("c(x, x, n) :- a(x), n = count : { e(x, z), e(z, _) }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { w(x, y, z), a(z) }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { e(x, y) }."));
}

// A product, or a comparison, is no smaller as a relation.
TEST(GatheredBodies, BodiesThatJoinNothingStay) {
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, v) }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, v), z < v }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { e(x, z), z < y }."));
}

TEST(GatheredBodies, SumsOfFloatsAreTheSameInAnyOrder) {
  for (const char* const function : {"sum", "mean"}) {
    const std::string rules =
        rules_with(fmt::format(".decl s(x: number, y: number, n: float)\n.output s\n"
                               "s(x, y, n) :- a(x), a(y), n = {} v : {{ f(x, v), f(y, v) }}.",
                               function));
    EXPECT_NE(rules.find("s#"), std::string::npos) << rules;
  }
}

TEST(GatheredBodies, WhatCouldComeOutOtherwiseStays) {
  // In another order, what a library folds may be another value.
  const std::string folds = rules_with(
      ".functor g(float, float): float\n.decl s(x: number, y: number, n: float)\n.output s\n"
      "s(x, y, n) :- a(x), a(y), n = @@g v : 0.0, { f(x, v), f(y, v) }.");
  EXPECT_EQ(folds.find("s#"), std::string::npos);
  EXPECT_NE(folds.find("s(x, y, n)"), std::string::npos);
  // Of other bindings it could fail.
  EXPECT_TRUE(keeps_its_body(
      "c(x, y, n) :- a(x), a(y), x != y, n = count : { e(x, z), e(y, z), 6 / z = 2 }."));
  // Ranges are no relations, by which the body could be restricted.
  EXPECT_TRUE(keeps_its_body(
      "c(x, y, n) :- x = range(0, 9), y = range(0, 9), n = count : { e(x, z), e(y, z) }."));
}

// What the recursion finds is not known before.
TEST(GatheredBodies, BindingsOfTheRecursionDoNotRestrict) {
  EXPECT_TRUE(
      keeps_its_body("c(x, x, x) :- a(x).\n"
                     "c(x, y, n) :- c(x, _, _), a(y), n = count : { e(x, z), e(y, z) }."));
}

TEST(GatheredBodies, BodiesStayWhereADemandRestrictsTheRule) {
  CompileOptions options;
  options.magic_sets = MagicSets::kApply;
  options.pragmas.push_back({.name = "magic-transform", .value = "*"});
  const std::string rule = "c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, z) }.\n";
  EXPECT_FALSE(keeps_its_body(rule, {}));
  EXPECT_EQ(rules_with(rule, options).find("c#5"), std::string::npos);
}

// They are proved as they stand.
TEST(GatheredBodies, QuestionsSeeTheRulesAsWritten) {
  CompileOptions options;
  options.magic_sets = MagicSets::kMark;
  EXPECT_TRUE(
      keeps_its_body("c(x, y, n) :- a(x), a(y), n = count : { e(x, z), e(y, z) }.", options));
}

}  // namespace
}  // namespace stratalog::datalog
