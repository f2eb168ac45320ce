// SPDX-License-Identifier: Apache-2.0
// Relations of which one rank would hold too much are dealt anew, while they grow and at the end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Nearly all paths begin in one hub, so that hashing by the searched column puts them on one rank.
TEST(Rebalance, GrowingRelations) {
  const Program program = compiled(
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n.output "
      "path\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z).\n"
      ".decl back(x: number, y: number)\n.output back\nback(y, x) :- path(x, y), !edge(x, y).\n");
  std::string facts;
  for (int i = 10; i < 3000; ++i) facts += fmt::format("0\t{}\n", i);
  for (int i = 3000; i < 3040; ++i) facts += fmt::format("{}\t{}\n", i, i + 1);
  facts += "2999\t3000\n";
  FileTexts expected;
  for (const int ranks : {1, 2, 3, 7}) {
    SCOPED_TRACE(ranks);
    RunOptions options;
    options.allow_pivot = false;
    options.replicate_limit_rows = 0;
    options.rebalance_min_rows = 1000;
    options.mirror_limit_rows = 0;
    const EngineOutcome outcome = run_engine(program, {{"edge.facts", facts}}, ranks, options);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    if (ranks == 1) expected = outcome.files;
    EXPECT_EQ(outcome.files, expected);
    std::uint64_t rebalances = 0;
    for (const StratumReport& stratum : outcome.report.strata) rebalances += stratum.rebalances;
    EXPECT_EQ(rebalances > 0, ranks > 1);
    EXPECT_LT(rebalances, 10U) << "not again and again";

    // Stopped after it was dealt anew, gone on with on as many ranks and on others.
    for (const int next : {ranks, 4}) {
      const auto disk = std::make_shared<MemoryDisk>();
      int asked = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++asked == 4 ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      const EngineOutcome first =
          run_engine(program, {{"edge.facts", facts}}, ranks, options, hooks, disk);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      ASSERT_TRUE(first.report.stopped_early);
      RunOptions resumed = options;
      resumed.checkpoint.resume = ResumePolicy::kResume;
      const EngineOutcome second =
          run_engine(program, {{"edge.facts", facts}}, next, resumed, {}, disk);
      ASSERT_TRUE(second.status.is_ok()) << second.status.to_string();
      EXPECT_EQ(second.files, expected) << next;
    }
  }
}

// The last round finds a third more tuples, all for one key: no reason to look while rules run.
TEST(Rebalance, FinishedRelationsAreLeftBalanced) {
  const Program program = compiled(
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n.output "
      "path\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), path(y, z), x > z.\n");
  std::string facts = "1\t0\n";
  for (int i = 10; i < 2010; ++i) facts += fmt::format("{}\t{}\n", i, i + 10'000);
  for (int i = 0; i < 900; ++i) facts += fmt::format("{}\t1\n", 20'000 + i);
  constexpr int kRanks = 16;
  RunOptions options;
  options.allow_pivot = false;
  options.replicate_limit_rows = 0;
  options.rebalance_min_rows = 1000;
  options.mirror_limit_rows = 0;
  const FileTexts expected = run_engine(program, {{"edge.facts", facts}}, 1, options).files;
  const EngineOutcome outcome = run_engine(program, {{"edge.facts", facts}}, kRanks, options);
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  EXPECT_EQ(outcome.files, expected);
  const StratumReport& closure = outcome.report.strata.back();
  EXPECT_EQ(closure.tuples, 3801U);
  EXPECT_EQ(closure.rebalances, 2U);
  EXPECT_LE(closure.largest_share * kRanks, 2.5);
}

}  // namespace
}  // namespace stratalog::datalog
