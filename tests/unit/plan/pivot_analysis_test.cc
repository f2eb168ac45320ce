// SPDX-License-Identifier: Apache-2.0
// Pivot analysis: which columns are carried unchanged, whether the rows of a pivot can be swept,
// and what people are told.
#include "datalog/plan/pivot_analysis.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kEdges =
    ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\np(x, y) :- e(x, y).\n";

// "columns / swept or rounds / reason"
std::string finding(const std::string& text, const std::string& relation = "p") {
  const Program program = compiled(text);
  const PivotFinding found = find_pivot(program, program.strata[stratum_of(program, relation)]);
  std::string columns = "none";
  if (found.pivot) columns = fmt::format("{}", fmt::join(found.pivot->column, ","));
  return fmt::format("{} / {} / {}", columns, found.is_linear ? "swept" : "rounds", found.reason);
}

TEST(PivotAnalysis, LeftLinearClosureCarriesItsFirstColumn) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z).\n"),
            "0 / swept / every recursive rule carries p.x unchanged");
}

TEST(PivotAnalysis, RightLinearClosureCarriesItsLastColumn) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- e(x, y), p(y, z).\n"),
            "1 / swept / every recursive rule carries p.y unchanged");
}

TEST(PivotAnalysis, BothDirectionsTogetherCarryNothing) {
  EXPECT_EQ(
      finding(std::string(kEdges) + "p(x, z) :- e(x, y), p(y, z).\np(x, z) :- p(x, y), e(y, z).\n"),
      "none / rounds / no column is carried unchanged by all recursive rules");
}

TEST(PivotAnalysis, NonLinearClosureCarriesNothing) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), p(y, z), x < z.\n"),
            "none / rounds / no column is carried unchanged by all recursive rules");
}

TEST(PivotAnalysis, ConstantsAndExpressionsInTheHeadEndACarry) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(1, z) :- p(x, y), e(y, z), x != 1.\n"),
            "none / rounds / no column is carried unchanged by all recursive rules");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x + 1, z) :- p(x, y), e(y, z), x < 5.\n"),
            "none / rounds / no column is carried unchanged by all recursive rules");
}

TEST(PivotAnalysis, TwoRecursiveAtomsOfOnePivotRunByRounds) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), p(x, w), e(y, w), e(w, z).\n"),
            "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because "
            "a rule of `p` "
            "joins two recursive atoms");
}

TEST(PivotAnalysis, OtherUsesOfThePivotRunByRounds) {
  const std::string start =
      "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because ";
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), x < z.\n"),
            start + "a rule of `p` also uses the pivot elsewhere");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), x != z + 1.\n"),
            start + "a rule of `p` computes values");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), e(x, _).\n"),
            start + "a rule of `p` also uses the pivot elsewhere");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, x) :- p(x, y), e(y, _).\n"),
            start + "a rule of `p` repeats the pivot");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), z = (y + 1) % 9.\n"),
            start + "a rule of `p` computes values");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), z = range(0, 3), e(y, _).\n"),
            start + "a rule of `p` computes an aggregate or a range");
}

TEST(PivotAnalysis, AtomsThatOnlyTestThePivotAreMasks) {
  const std::string text = std::string(kEdges) +
                           "p(x, z) :- e(5, x), p(x, y), !e(x, z), e(y, z), !e(3, x).\n"
                           "p(x, z) :- p(x, y), e(y, z).\n";
  const Program program = compiled(text);
  const Stratum& stratum = program.strata[stratum_of(program, "p")];
  const PivotFinding found = find_pivot(program, stratum);
  EXPECT_TRUE(found.is_linear) << found.reason;
  ASSERT_EQ(found.masks.size(), 1U);
  EXPECT_EQ(found.masks.begin()->second, (std::vector<std::uint32_t>{0, 2, 4}));
}

TEST(PivotAnalysis, RelationsOfOneColumnAndComparisonsOfThePivotAreMasks) {
  for (const char* test : {"n(x)", "!n(x)", "x % 3 != 0", "x < 7", "x != z", "y != x"}) {
    const std::string text = std::string(kEdges) + ".decl n(x: number)\n.input n\n" +
                             fmt::format("p(x, z) :- p(x, y), e(y, z), {}.\n", test);
    const Program program = compiled(text);
    const PivotFinding found = find_pivot(program, program.strata[stratum_of(program, "p")]);
    EXPECT_TRUE(found.is_linear) << test << ": " << found.reason;
    ASSERT_EQ(found.masks.size(), 1U) << test;
    EXPECT_EQ(found.masks.begin()->second, std::vector<std::uint32_t>{2}) << test;
  }
}

// The pivots that pass alone would have to be kept once more for each other value.
TEST(PivotAnalysis, MasksOfThePivotAloneAndBesideOthersDoNotMix) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), x < 7, x != z.\n"),
            "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because "
            "a rule of `p` tests the pivot alone and beside other values");
}

TEST(PivotAnalysis, FloatsAndWhatCanFailAreNoMasks) {
  const std::string decl =
      ".decl e(x: float, y: float)\n.input e\n.decl p(x: float, y: float)\np(x, y) :- e(x, y).\n";
  EXPECT_EQ(finding(decl + "p(x, z) :- p(x, y), e(y, z), x != z.\n"),
            "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because "
            "a rule of `p` also uses the pivot elsewhere");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), 7 / x > 1.\n"),
            "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because "
            "a rule of `p` computes values");
}

TEST(PivotAnalysis, ComparisonsThatComputeWithoutThePivotAreSwept) {
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), (y + z) % 3 != 0.\n"),
            "0 / swept / every recursive rule carries p.x unchanged");
  EXPECT_EQ(finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), 7 / y > 1.\n"),
            "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because "
            "a rule of `p` computes values");
}

TEST(PivotAnalysis, AtomsThatBindWithThePivotAreNoMasks) {
  const std::string start =
      "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because ";
  // z is found by way of the pivot only, or joins nothing else; the last one tests it with itself.
  for (const char* rule :
       {"p(x, z) :- p(x, y), e(x, z).\n", "p(x, w) :- p(x, y), e(x, z), e(z, w).\n",
        "p(x, z) :- p(x, y), e(y, z), !e(x, x).\n"})
    EXPECT_EQ(finding(std::string(kEdges) + rule),
              start + "a rule of `p` also uses the pivot elsewhere");
}

TEST(PivotAnalysis, AColumnThatNothingTestsIsBetterThanOneWithMasks) {
  EXPECT_EQ(finding(".decl e(a: number, b: number)\n.input e\n"
                    ".decl p(x: number, y: number, z: number)\np(a, b, 0) :- e(a, b).\n"
                    "p(x, y, w) :- p(x, y, z), e(z, w), !e(x, w).\n"),
            "1 / swept / every recursive rule carries p.y unchanged");
}

TEST(PivotAnalysis, TestsOfOtherColumnsAreSwept) {
  EXPECT_EQ(
      finding(std::string(kEdges) + "p(x, z) :- p(x, y), e(y, z), y != z, !e(z, z), y < 7.\n"),
      "0 / swept / every recursive rule carries p.x unchanged");
}

TEST(PivotAnalysis, MutualRecursionMayCarryThroughDifferentColumns) {
  EXPECT_EQ(finding(std::string(kEdges) + ".decl q(a: number, b: number)\nq(z, x) :- p(x, y), e(y, "
                                          "z).\np(x, z) :- q(y, x), e(y, z).\n"),
            "0,1 / swept / every recursive rule carries p.x, q.b unchanged");
  EXPECT_EQ(finding(std::string(kEdges) + ".decl q(a: number, b: number)\nq(x, z) :- p(x, y), e(y, "
                                          "z).\np(x, z) :- q(y, x), e(y, z).\n"),
            "none / rounds / no column is carried unchanged by all recursive rules");
}

TEST(PivotAnalysis, RelationsOfOneColumnHaveNothingToSweep) {
  EXPECT_EQ(
      finding(
          ".decl e(x: number)\n.input e\n.decl p(x: number)\np(x) :- e(x).\np(x) :- p(x), e(x).\n"),
      "0 / rounds / every recursive rule carries p.x unchanged; evaluated by rounds because `p` "
      "has no column "
      "beside the pivot");
  EXPECT_EQ(finding(".decl e(x: number)\n.input e\n.decl p()\np() :- e(1).\np() :- p(), e(2).\n"),
            "none / rounds / no column is carried unchanged by all recursive rules");
}

TEST(PivotAnalysis, TheColumnThatCanBeSweptIsPreferred) {
  // Both x and y are carried, but x is used elsewhere.
  EXPECT_EQ(
      finding(".decl e(a: number, b: number)\n.input e\n.decl p(x: number, y: number, z: number)\n"
              "p(a, b, 0) :- e(a, b).\np(x, y, w) :- p(x, y, z), e(z, w), x != w.\n"),
      "1 / swept / every recursive rule carries p.y unchanged");
}

}  // namespace
}  // namespace stratalog::datalog
