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
            "c(x, y, n) :- a(x), a(y), n = max z * 2 : { c#5(x, y, z) } with x, y.\n"
            "c#5(x, y, z) :- a(x), a(y), w(x, k, z), w(y, k, _).\n");
}

// Each binding finds little, or nothing would be found sooner.
TEST(GatheredBodies, BodiesOfTiedVariablesStay) {
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- e(x, y), n = count : { e(x, z), e(y, z) }."));
  EXPECT_TRUE(keeps_its_body("c(x, y, n) :- e(x, k), e(y, k), n = count : { e(x, z), e(y, z) }."));
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

TEST(GatheredBodies, WhatCouldComeOutOtherwiseStays) {
  // In another order, a sum of floats is another one.
  const std::string sums = rules_with(
      ".decl s(x: number, y: number, n: float)\n.output s\n"
      "s(x, y, n) :- a(x), a(y), n = sum v : { f(x, v), f(y, v) }.");
  EXPECT_EQ(sums.find("s#"), std::string::npos);
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
