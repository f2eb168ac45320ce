// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads take the rows of a scan in turns: each row once, in every round, and only
// where no answer depends on the order.
#include "datalog/evaluate/scan_turns.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

TEST(ScanTurns, EachIsTakenOnceUntilTheyAreRenewed) {
  ScanTurns turns;
  for (const std::uint64_t expected : {0U, 1U, 2U}) EXPECT_EQ(turns.take(), expected);
  turns.renew();
  EXPECT_EQ(turns.take(), 0U);
}

TEST(ScanTurns, OnlyFoldsOfLibrariesDependOnTheOrder) {
  const auto allows = [](const std::string& rule) {
    return allows_any_order(compiled(
        ".decl f(x: float, n: number)\n.input f\n.decl o(x: float)\n.output o\n.decl i(n: number)\n"
        ".output i\n.functor g(float, float): float\n" +
        rule + "\n"));
  };
  EXPECT_TRUE(allows("o(x) :- f(x, _)."));
  EXPECT_TRUE(allows("i(s) :- s = sum n : { f(_, n) }."));
  EXPECT_TRUE(allows("o(s) :- s = max x : { f(x, _) }."));
  EXPECT_TRUE(allows("o(s) :- s = sum x : { f(x, _) }."));
  EXPECT_TRUE(allows("o(s) :- s = mean x : { f(x, _) }."));
  EXPECT_FALSE(allows("o(s) :- s = @@g x : 0.0, { f(x, _) }."));
  EXPECT_FALSE(allows("i(n) :- n = count : { f(y, _), s = @@g x : 0.0, { f(x, _) }, y < s }."));
}

// The rows of a few keys make nearly all of the work, many times over; and a scan of a relation
// that does not grow comes first, in rounds whose growing relations are copied and dealt.
TEST(ScanTurns, EveryRowIsTakenInEveryRound) {
  const Program program = compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n.output p\n"
      "p(x, y) :- e(x, y).\np(x, z) :- e(y, z), p(x, y).\n.plan 0:(1,2)\n"
      ".decl q(x: number, y: number)\n.output q\nq(x, y) :- e(x, y).\n"
      "q(x, z) :- q(x, y), q(y, z), x < 45.\n");
  std::string facts;
  for (int i = 0; i < 60; ++i) facts += fmt::format("{}\t{}\n", i, i + 1);
  for (int i = 100; i < 1500; ++i) facts += fmt::format("{}\t{}\n{}\t3\n", i % 2 * 40, i, i);
  const FileTexts files{{"e.facts", facts}};
  const EngineOutcome expected = run_engine(program, files, 1, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  for (const int ranks : {2, 3, 7})
    for (const std::uint64_t mirror_limit : {0U, 3000U, 1U << 20U}) {
      RunOptions options;
      options.allow_pivot = false;
      options.mirror_limit_rows = mirror_limit;
      options.replicate_limit_rows = 0;
      const EngineOutcome outcome =
          run_engine(program, files, ranks, options, {}, {}, nullptr, {}, AddressSpace::kShared);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      // Told without showing how they differ: they are long.
      EXPECT_TRUE(outcome.files == expected.files)
          << ranks << " ranks, mirrors of " << mirror_limit;
    }
}

}  // namespace
}  // namespace stratalog::datalog
