// SPDX-License-Identifier: Apache-2.0
// Magic sets: which relations are restricted, by which rules, and which stay whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "datalog/language/compile.h"

namespace stratalog::datalog {
namespace {

// The rules, one a line, without facts of the program itself.
std::string rules_of(const std::string& text, const CompileOptions& options = {}) {
  const CompileOutcome outcome = compile({.name = "m.dl", .text = text}, options);
  if (!outcome.is_ok()) return render_all(outcome.diagnostics);
  std::string rules;
  for (const Rule& rule : outcome.program->rules)
    if (!rule.body.empty() ||
        outcome.program->relations[rule.head].name.find('#') != std::string::npos)
      rules += rule.text + "\n";
  return rules;
}

CompileOptions with_magic(const std::string& relations, const std::string& except = "") {
  CompileOptions options;
  options.pragmas = {{.name = "magic-transform", .value = relations},
                     {.name = "magic-transform-exclude", .value = except}};
  return options;
}

std::string magic(const std::string& text) { return rules_of(text, with_magic("*")); }

// Whether the rules are those of the program without magic sets.
bool stays_whole(const std::string& text) { return magic(text) == rules_of(text); }

const std::string kEdgeRelation = ".decl edge(a: number, b: number)\n.input edge\n";
const std::string kPathRules = kEdgeRelation +
                               ".decl path(a: number, b: number)\n"
                               "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n";
const std::string kAskedFrom2 = ".decl out(b: number)\n.output out\nout(y) :- path(2, y).\n";

TEST(MagicSets, ARelationIsComputedFromWhatIsAskedFor) {
  EXPECT_EQ(magic(kPathRules + kAskedFrom2),
            "path(x, y) :- path#3(x), edge(x, y).\n"
            "path(x, z) :- path(x, y), edge(y, z).\n"
            "path#3(2).\n"
            "out(y) :- path(2, y).\n");
}

TEST(MagicSets, TuplesThatNobodyAskedForAreNotGoneOnFrom) {
  EXPECT_EQ(magic(kPathRules + "path(7, 8).\n" + kAskedFrom2),
            "path(x, y) :- path#3(x), edge(x, y).\n"
            "path(x, z) :- path#3(x), path(x, y), edge(y, z).\n"
            "path#3(2).\n"
            "out(y) :- path(2, y).\n");
}

TEST(MagicSets, DemandsPassFromRuleToRule) {
  EXPECT_EQ(magic(kEdgeRelation +
                  ".decl path(a: number, b: number)\n"
                  "path(x, y) :- edge(x, y).\npath(x, z) :- edge(x, y), path(y, z).\n" +
                  kAskedFrom2),
            "path(x, y) :- path#3(x), edge(x, y).\n"
            "path#3(y) :- path#3(x), edge(x, y).\n"
            "path(x, z) :- path#3(x), edge(x, y), path(y, z).\n"
            "path#3(2).\n"
            "out(y) :- path(2, y).\n");
}

// What the body makes is not what was asked for, whatever constant stands in another atom.
TEST(MagicSets, AConstantOfTheBodyAsksForNothing) {
  EXPECT_EQ(magic(kEdgeRelation + ".decl p(a: number, b: number)\n"
                                  "p(x, y) :- edge(x, y).\np(x, y + 1) :- p(x, 0), edge(x, y).\n"
                                  ".decl out(b: number)\n.output out\nout(2) :- p(2, 7).\n"),
            "p(x, y) :- p#3(x, y), edge(x, y).\n"
            "p#3(x, 0) :- p#3(x, _).\n"
            "p(x, y + 1) :- p#3(x, _2), p(x, 0), edge(x, y), y + 1 = _2.\n"
            "p#3(2, 7).\nout(2) :- p(2, 7).\n");
}

// Relations are not copied for each way in which they are asked for.
TEST(MagicSets, EachWayHasItsDemand) {
  EXPECT_EQ(magic(kPathRules + kAskedFrom2 + "out(x) :- path(x, 5).\n"),
            "path(x, y) :- path#3(x), edge(x, y).\n"
            "path(x, y) :- path#4(y), edge(x, y).\n"
            "path(x, z) :- path#3(x), path(x, y), edge(y, z).\n"
            "path#4(y) :- path#4(z), edge(y, z).\n"
            "path(x, z) :- path#4(z), path(x, y), edge(y, z).\n"
            "path#3(2).\n"
            "out(y) :- path(2, y).\n"
            "path#4(5).\n"
            "out(x) :- path(x, 5).\n");
}

TEST(MagicSets, WhatNoOutputNeedsGoes) {
  EXPECT_EQ(magic(kPathRules + ".decl out(b: number)\n.output out\nout(y) :- edge(2, y).\n"),
            "out(y) :- edge(2, y).\n");
}

TEST(MagicSets, WhatIsAskedForAsAWholeStaysWhole) {
  EXPECT_TRUE(stays_whole(kPathRules + ".output path\n" + kAskedFrom2));
  EXPECT_TRUE(stays_whole(kPathRules + kAskedFrom2 + "out(y) :- path(_, y).\n"));
  EXPECT_TRUE(
      stays_whole(kPathRules + ".decl n(c: number)\n.output n\nn(c) :- c = count : path(2, _).\n"));
  EXPECT_TRUE(stays_whole(kPathRules + ".decl out(b: number)\n.output out\n"
                                       "out(y) :- edge(_, y), !path(2, y).\n"));
}

// And what they depend on: their tuples depend on what there is not, or on when it comes.
TEST(MagicSets, WhatLiesBelowNegationsAndChoicesStaysWhole) {
  const std::string asked = ".decl out(b: number)\n.output out\nout(y) :- q(2, y).\n";
  const std::string q = "q(x, y) :- path(x, y).\n";
  EXPECT_TRUE(stays_whole(kPathRules + ".decl q(a: number, b: number)\n" + q +
                          ".decl out(b: number)\n.output out\nout(y) :- edge(_, y), !q(2, y).\n"));
  EXPECT_TRUE(
      stays_whole(kPathRules + ".decl q(a: number, b: number) choice-domain a\n" + q + asked));
  EXPECT_TRUE(
      stays_whole(kPathRules + ".decl q(a: number, b: number)\n.limitsize q(n=5)\n" + q + asked));
  EXPECT_TRUE(stays_whole(kPathRules + ".decl q(a: number, b: number)\n" + q +
                          "q(x, a) <= q(x, b) :- a < b.\n" + asked));
  EXPECT_TRUE(stays_whole(kPathRules +
                          ".decl q(a: number, b: unsigned)\n"
                          "q(x, recursive_iteration_cnt()) :- path(x, _).\n"
                          ".decl out(b: unsigned)\n.output out\nout(y) :- q(2, y).\n"));
}

// Also where an aggregate counts it.
TEST(MagicSets, WhatLiesBelowCountedPassesStaysWhole) {
  EXPECT_TRUE(stays_whole(kPathRules +
                          ".decl q(a: number, b: unsigned)\n"
                          "q(x, n) :- path(x, _), n = sum recursive_iteration_cnt() : edge(x, _).\n"
                          ".decl out(b: unsigned)\n.output out\nout(y) :- q(2, y).\n"));
}

// A demand for n - 1 made of one for n would never end.
TEST(MagicSets, WhatIsComputedIsNotAskedFor) {
  EXPECT_TRUE(
      stays_whole(".decl fib(n: number, v: number)\nfib(0, 1).\nfib(1, 1).\n"
                  "fib(n, a + b) :- fib(n - 1, a), fib(n - 2, b), n < 30.\n"
                  "fib(x + 1, 0) :- fib(x, _), x < 0.\n"
                  ".decl out(v: number)\n.output out\nout(v) :- fib(y, v), y = 3 + 4.\n"));
}

TEST(MagicSets, NamesOfValuesPassOn) {
  EXPECT_EQ(magic(kPathRules + ".decl out(b: number)\n.output out\n"
                               "out(y) :- path(x, y), x = 2, y > 3, y != x.\n"),
            "path(x, y) :- path#3(x), edge(x, y).\n"
            "path(x, z) :- path(x, y), edge(y, z).\n"
            "path#3(x) :- x = 2.\n"
            "out(y) :- path(x, y), x = 2, y > 3, y != x.\n");
}

// No atom may bind what an aggregate or a range gives.
TEST(MagicSets, WhatBodiesMakeIsCompared) {
  EXPECT_EQ(magic(kEdgeRelation + ".decl n(a: number, c: number)\n"
                                  "n(x, c) :- edge(x, _), c = count : { edge(x, _) }.\n"
                                  "n(x, c) :- edge(x, _), c = range(0, x).\n"
                                  "n(x, y + 1) :- edge(x, y).\n"
                                  "n(x, 7 / y) :- edge(x, y).\n"
                                  ".decl out(c: number)\n.output out\n"
                                  "out(1) :- n(7, 2).\n"),
            "n(x, c) :- n#3(x, _3), edge(x, _), c = count : { edge(x, _1) } with x, c = _3.\n"
            "n(x, c) :- n#3(x, _2), edge(x, _), c = range(0, x), c = _2.\n"
            "n(x, y + 1) :- n#3(x, _2), edge(x, y), y + 1 = _2.\n"
            "n(x, 7 / y) :- n#3(x, _), edge(x, y).\n"
            "n#3(7, 2).\nout(1) :- n(7, 2).\n");
}

TEST(MagicSets, EquivalencesArePairedFromWhatTheyNeed) {
  EXPECT_TRUE(stays_whole(kEdgeRelation +
                          ".decl same(a: number, b: number) eqrel\n"
                          "same(x, y) :- edge(x, y).\n"
                          ".decl out(b: number)\n.output out\nout(y) :- same(2, y).\n"));
}

TEST(MagicSets, RulesWithPlansStayAsTheyAre) {
  EXPECT_TRUE(stays_whole(kEdgeRelation +
                          ".decl path(a: number, b: number)\n"
                          "path(x, y) :- edge(x, y).\n"
                          "path(x, z) :- path(x, y), edge(y, z).\n.plan 0:(1,2)\n" +
                          kAskedFrom2));
}

TEST(MagicSets, OnlyWhatIsWished) {
  const std::string program = kPathRules + kAskedFrom2;
  EXPECT_EQ(rules_of(program, with_magic("edge, path")), rules_of(program))
      << "names are taken as they are, with their blanks";
  EXPECT_EQ(rules_of(program, with_magic("edge,path")), magic(program));
  EXPECT_EQ(rules_of(program, with_magic("*", "path")), rules_of(program));
  EXPECT_EQ(rules_of(program, with_magic("")), rules_of(program));
  EXPECT_EQ(rules_of(".pragma \"magic-transform\" \"path\"\n" + program), magic(program));
  std::string qualified = program;
  const std::size_t at = qualified.find("\npath(");
  qualified.insert(at, " magic");
  EXPECT_EQ(rules_of(qualified), magic(program));
  qualified.replace(at, 6, " no_magic");
  EXPECT_EQ(rules_of(qualified, with_magic("*")), rules_of(program));
}

TEST(MagicSets, ProblemsAreTold) {
  const auto told = [](const std::string& text, const CompileOptions& options) {
    return render_all(compile({.name = "m.dl", .text = text}, options).diagnostics);
  };
  EXPECT_NE(
      told(kPathRules + kAskedFrom2, with_magic("pth"))
          .find("command line:1:9: warning: `.pragma \"magic-transform\"` names `pth`, which is no "
                "relation that is computed"),
      std::string::npos)
      << told(kPathRules + kAskedFrom2, with_magic("pth"));
  EXPECT_NE(told(kPathRules, with_magic("*")).find("nothing is put out"), std::string::npos);
  EXPECT_NE(told(kPathRules + kAskedFrom2, with_magic("a\"b")).find("has a quote"),
            std::string::npos);
  EXPECT_EQ(told(kPathRules + kAskedFrom2, with_magic("*")), "");
}

}  // namespace
}  // namespace stratalog::datalog
