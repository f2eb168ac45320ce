// SPDX-License-Identifier: Apache-2.0
// `.plan`: one that cannot be its rule's is an error, as in Soufflé; any other says in which order
// the rule's atoms are joined.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "datalog/language/compile.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kEmptyEdges = ".decl e(x: number, y: number)\n";
constexpr const char* kEdges = ".decl e(x: number, y: number) .input e\n";

// The errors, a line each: "line:column: message; hint".
std::string errors_of(const std::string& rules, const std::string& edges = kEdges) {
  const CompileOutcome outcome = compile({.name = "test.dl",
                                          .text = edges +
                                                  ".decl a(x: number) .input a\n"
                                                  ".decl b(x: number) .input b\n" +
                                                  rules},
                                         {});
  std::string text;
  for (const Diagnostic& diagnostic : outcome.diagnostics) {
    if (diagnostic.severity != Severity::kError) continue;
    text += std::to_string(diagnostic.where.place.line) + ":" +
            std::to_string(diagnostic.where.place.column) + ": " + diagnostic.message + "; " +
            diagnostic.hint + "\n";
  }
  return text;
}

TEST(PlanChecks, WhatFitsIsNoError) {
  EXPECT_EQ(errors_of("a(x) :- a(y), e(y, x). .plan 0:(2,1)"), "");
  // Negated atoms and constraints are not counted; one of the versions may be left out.
  EXPECT_EQ(errors_of("a(x) :- a(y), x > 2, !b(x), e(y, x), a(x). .plan 1:(3,2,1)"), "");
  // Through another relation.
  EXPECT_EQ(errors_of("a(x) :- b(x), e(x, _). .plan 0:(2,1)\nb(x) :- a(x)."), "");
  // Both compared atoms count.
  EXPECT_EQ(errors_of("a(x) <= a(y) :- x < y, e(x, y). .plan 0:(3,1,2), 1:(1,2,3)"), "");
  // The last order of a version counts.
  EXPECT_EQ(errors_of("a(x) :- a(y), e(y, x). .plan 0:(7), 0:(2,1)"), "");
}

// Soufflé forgets what no output depends on before it looks at plans.
TEST(PlanChecks, PlansThatNobodyNeedsAreIgnored) {
  const std::string rules = "b(x) :- e(x, y), e(y, _). .plan 0:(2,1)\na(x) :- e(x, x).\n";
  EXPECT_NE(errors_of(rules), "");
  EXPECT_NE(errors_of(rules + ".output b"), "");
  EXPECT_EQ(errors_of(rules + ".output a"), "");
  EXPECT_NE(errors_of(rules + "a(x) :- b(x).\n.printsize a"), "");
  const std::string wrong = "b(x) :- b(y), e(y, x). .plan 1:(2,1), 0:(3,1)\n";
  EXPECT_NE(errors_of(wrong + ".output b"), "");
  EXPECT_EQ(errors_of(wrong + "a(1).\n.output a"), "");
  // A recursion that nothing begins is none of those.
  EXPECT_NE(errors_of(".decl r(x: number)\nr(x) :- r(y), e(y, x). .plan 1:(2,1)\n.output r"), "");
  // Nothing ever fills `e`, whose rules Soufflé forgets as well.
  EXPECT_EQ(errors_of(wrong + "b(1).\n.output b", kEmptyEdges), "");
}

// The orders of the last rule: "delta literal: literals".
std::string orders_of_last(const std::string& rules) {
  const CompileOutcome outcome = compile({.name = "test.dl",
                                          .text = ".decl e(x: number, y: number) .input e\n"
                                                  ".decl a(x: number) .input a\n"
                                                  ".decl b(x: number) .input b\n" +
                                                  rules},
                                         {});
  if (!outcome.program) return render_all(outcome.diagnostics);
  std::string text;
  for (const JoinOrder& order : outcome.program->rules.back().join_orders)
    text += fmt::format("{}: {}\n", order.delta_literal, fmt::join(order.atoms, " "));
  return text;
}

TEST(PlanChecks, OrdersBecomePlacesInTheBody) {
  EXPECT_EQ(orders_of_last("a(x) :- a(y), x > 2, !b(x), e(y, x), a(x). .plan 1:(3,2,1)"),
            "4: 4 3 0\n");
  EXPECT_EQ(orders_of_last("a(x) :- e(y, x), a(y), a(x). .plan 1:(1,2,3), 0:(3,1,2)"),
            "1: 2 0 1\n2: 0 1 2\n");
  EXPECT_EQ(orders_of_last("a(x) :- a(y), e(y, x). .plan 0:(7), 0:(2,1)"), "0: 1 0\n");
  // Only what is in the same recursion counts.
  EXPECT_EQ(orders_of_last("b(1).\na(x) :- b(y), e(y, x), a(y). .plan 0:(3,1,2)"), "2: 2 0 1\n");
  EXPECT_EQ(orders_of_last("a(x) <= a(y) :- x < y, e(x, y). .plan 0:(3,1,2), 1:(2,1,3)"),
            "0: 2 0 1\n1: 1 0 2\n");
  // Parts of the body that share nothing with the rest are not taken out of it.
  EXPECT_EQ(orders_of_last("a(x) :- a(x), e(y, z), e(z, y). .plan 0:(2,3,1)"), "0: 1 2 0\n");
}

TEST(PlanChecks, VersionsThatARuleDoesNotHave) {
  EXPECT_EQ(errors_of("a(x) :- a(y), e(y, x). .plan 0:(2,1), 1:(1,2)"),
            "4:39: this rule has no version 1; it has 1 atom in its own recursion: version 0 "
            "only\n");
  EXPECT_EQ(errors_of("a(x) :- a(y), a(x), e(y, x). .plan 99999999999999999999:(1,2,3)"),
            "4:36: this rule has no version 999999999999999999; it has 2 atoms in its own "
            "recursion: versions 0 to 1\n");
}

TEST(PlanChecks, OrdersOfOtherAtoms) {
  const std::string hint =
      "name all atoms of the body that are not negated, from 1 on and with inline relations "
      "written out, or leave `.plan` away\n";
  EXPECT_EQ(errors_of("a(x) :- a(y), e(y, x). .plan 0:(3,2,1)"),
            "4:30: this order has 3 atoms, the rule has 2; " + hint);
  EXPECT_EQ(errors_of("a(x) :- a(y), e(y, x). .plan 0:()"),
            "4:30: this order has 0 atoms, the rule has 2; " + hint);
  for (const char* order : {"(1,1)", "(0,1)", "(2,3)"})
    EXPECT_EQ(errors_of(std::string("a(x) :- a(y), e(y, x). .plan 0:") + order),
              "4:30: this order does not name each of the atoms 1 to 2 once; atoms count from 1 in "
              "the order in which the body has them\n");
}

TEST(PlanChecks, RulesWithoutRecursion) {
  EXPECT_EQ(errors_of("a(x) :- e(x, y), e(y, x). .plan 0:(2,1)"),
            "4:33: `.plan` of a rule that is not recursive; leave `.plan` away: join orders are "
            "chosen from the sizes at run time\n");
  // One of the rules that it stands for is enough.
  EXPECT_NE(errors_of("a(x) :- a(y), e(y, x) ; e(x, x), b(x). .plan 0:(2,1)"), "");
}

TEST(PlanChecks, PlansBehindOtherThings) {
  EXPECT_EQ(errors_of("a(1). .plan 0:()"),
            "4:7: `.plan` belongs behind a rule; a fact has nothing to join: leave `.plan` away\n");
  for (const char* text : {".plan 0:(1)", "a(x) :- a(x).\n.output a\n.plan 0:(1)",
                           "a(x) :- a(x). .plan 0:(1) .plan 0:(1)"})
    EXPECT_NE(errors_of(text).find("`.plan` belongs behind a rule; write it after"),
              std::string::npos)
        << text;
}

TEST(PlanChecks, InComponentsAndBesideInlineRelations) {
  const std::string component =
      ".comp C { .decl r(x: number)\nr(x) :- a(x).\nr(x) :- r(y), e(y, x). .plan 0:(2,1)%s "
      "}\n.init c = C\n";
  const auto with = [&](const std::string& more) {
    std::string text = component;
    return text.replace(text.find("%s"), 2, more);
  };
  EXPECT_EQ(errors_of(with("")), "");
  EXPECT_NE(errors_of(with(", 1:(1,2)")).find("this rule has no version 1"), std::string::npos);
  // Written out, the rule has three atoms.
  const std::string inlined =
      ".decl i(x: number, y: number) inline\ni(x, y) :- e(x, z), e(z, y).\n";
  EXPECT_EQ(errors_of(inlined + "a(x) :- a(y), i(y, x). .plan 0:(2,3,1)"), "");
  EXPECT_NE(errors_of(inlined + "a(x) :- a(y), i(y, x). .plan 0:(2,1)")
                .find("this order has 2 atoms, the rule has 3"),
            std::string::npos);
}

}  // namespace
}  // namespace stratalog::datalog
