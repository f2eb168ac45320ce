// SPDX-License-Identifier: Apache-2.0
// Closures of two of their own tuples: which are rewritten, and how.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "datalog/language/compile.h"

namespace stratalog::datalog {
namespace {

std::string closure_rules(const std::string& text, const CompileOptions& options) {
  const CompileOutcome outcome = compile({.name = "c.dl", .text = text}, options);
  if (!outcome.is_ok()) return render_all(outcome.diagnostics);
  std::string rules;
  for (const Rule& rule : outcome.program->rules) rules += rule.text + "\n";
  return rules;
}

CompileOptions rules_as_written() {
  CompileOptions options;
  options.magic_sets = MagicSets::kMark;
  return options;
}

bool stays(const std::string& text) {
  return closure_rules(text, {}) == closure_rules(text, rules_as_written());
}

const std::string kEdge = ".decl e(a: number, b: number)\n.input e\n";
const std::string kPath = ".decl p(a: number, b: number)\n";
const std::string kCopy = "p(x, y) :- e(x, y).\n";
const std::string kJoint = "p(x, z) :- p(x, y), p(y, z).\n";

TEST(LinearClosures, StepsOfOneRelationAreThatRelation) {
  EXPECT_EQ(closure_rules(kEdge + kPath + kCopy + kJoint, {}),
            "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z).\n");
  EXPECT_EQ(closure_rules(kEdge + kPath + kCopy + "p(x, z) :- p(y, z), p(x, y).\n", {}),
            "p(x, y) :- e(x, y).\np(x, z) :- e(y, z), p(x, y).\n");
}

TEST(LinearClosures, OtherStepsAreHeldByARelationOfTheirOwn) {
  EXPECT_EQ(
      closure_rules(kEdge + kPath + kCopy + "p(y, x) :- e(x, y), x < 5.\np(1, 2).\n" + kJoint, {}),
      "p#2(x, y) :- e(x, y).\np#2(y, x) :- e(x, y), x < 5.\np#2(1, 2).\n"
      "p(x, z) :- p(x, y), p#2(y, z).\np(a, b) :- p#2(a, b).\n");
}

// Their caller may have facts for p.
TEST(LinearClosures, CallersWithFactsHaveARelationOfSteps) {
  CompileOptions options;
  options.other_facts = OtherFacts::kFromCaller;
  const CompileOutcome outcome =
      compile({.name = "c.dl", .text = kEdge + kPath + kCopy + kJoint}, options);
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_EQ(outcome.program->relations[1].facts_into, RelationId{2});
  EXPECT_EQ(outcome.program->relations[2].name, "p#2");
}

TEST(LinearClosures, StepsGoBothWaysWhereThePathsDo) {
  EXPECT_EQ(closure_rules(kEdge + kPath + kCopy + kJoint + "p(x, y) :- p(y, x).\n", {}),
            "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p#2(y, z).\np(a, b) :- p#2(a, b).\n"
            "p#2(a, b) :- e(a, b).\np#2(a, b) :- e(b, a).\n");
}

TEST(LinearClosures, ColumnsBesideThePathAndTestsOfItsMiddleStay) {
  EXPECT_EQ(closure_rules(".decl e(k: symbol, a: number, b: number)\n.input e\n"
                          ".decl ok(k: symbol, a: number)\n.input ok\n"
                          ".decl p(a: number, k: symbol, b: number)\np(x, k, y) :- e(k, x, y).\n"
                          "p(x, k, z) :- p(x, k, y), ok(k, y), p(y, k, z), y % 3 != 0.\n",
                          {}),
            "p#3(x, k, y) :- e(k, x, y).\n"
            "p(x, k, z) :- p(x, k, y), ok(k, y), p#3(y, k, z), y % 3 != 0.\n"
            "p(a, k, b) :- p#3(a, k, b).\n");
}

TEST(LinearClosures, PathsThatEndElsewhereHaveNoDetours) {
  EXPECT_EQ(closure_rules(kEdge + kPath + kCopy + "p(x, z) :- p(x, y), p(y, z), z != x.\n", {}),
            "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z), z != x.\n");
  const std::string floats =
      ".decl e(a: float, b: float)\n.input e\n"
      ".decl p(a: float, b: float)\np(x, y) :- e(x, y).\n";
  EXPECT_TRUE(stays(floats + "p(x, z) :- p(x, y), p(y, z), z != x.\n"));
}

// A path that must end well in every part is not one whose last step must.
TEST(LinearClosures, TestsOfTheEndsMatter) {
  for (const char* test : {"x < 5", "z < 5", "e(x, _)", "!e(y, z)", "x < z", "x != z + 0"})
    EXPECT_TRUE(
        stays(kEdge + kPath + kCopy + fmt::format("p(x, z) :- p(x, y), p(y, z), {}.\n", test)))
        << test;
}

TEST(LinearClosures, OtherRecursionsStay) {
  for (const char* rule :
       {"p(x, z) :- p(y, x), p(y, z).\n", "p(x, z) :- p(x, y), p(z, y).\n",
        "p(x, z) :- p(x, y), p(y, w), p(w, z).\n", "p(x, x) :- p(x, y), p(y, x).\n",
        "p(x, z) :- p(x, _), p(_, z).\n", "p(z, x) :- p(x, y), p(y, z).\n"})
    EXPECT_TRUE(stays(kEdge + kPath + kCopy + rule)) << rule;
  EXPECT_TRUE(stays(kEdge + kPath + kCopy + kJoint + "p(x, z) :- e(x, y), p(y, z).\n"));
  // Steps that come of paths.
  EXPECT_TRUE(stays(kEdge + kPath +
                    ".decl q(a: number, b: number)\nq(x, y) :- p(y, x), e(x, y).\n" +
                    "p(x, y) :- q(x, y).\n" + kCopy + kJoint));
}

// Where it matters in which pass a tuple comes, or somebody has said how to join.
TEST(LinearClosures, WhoCountsPassesSeesTheRulesAsWritten) {
  EXPECT_TRUE(stays(kEdge + kPath + kCopy + kJoint + ".limitsize p(n=10)\n"));
  EXPECT_TRUE(stays(kEdge + ".decl p(a: number, b: number) choice-domain a\n" + kCopy + kJoint));
  EXPECT_TRUE(stays(kEdge + ".decl p(a: number, b: number) eqrel\n" + kCopy + kJoint));
  EXPECT_TRUE(stays(kEdge + kPath + ".input p\n" + kCopy + kJoint));
  EXPECT_TRUE(stays(kEdge + kPath + ".decl d = debug_delta(p)\n" + kCopy + kJoint));
  EXPECT_TRUE(stays(kEdge + kPath + kCopy + kJoint + ".plan 0:(2,1)\n"));
}

}  // namespace
}  // namespace stratalog::datalog
