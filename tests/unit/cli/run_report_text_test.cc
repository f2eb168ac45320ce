// SPDX-License-Identifier: Apache-2.0
// What a run prints and stores about itself, and the exit codes.
#include "cli/run_report_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_code.h"
#include "cli/launch.h"

namespace stratalog::cli {
namespace {

datalog::RunReport example() {
  datalog::RunReport report;
  report.ranks = 2;
  report.print_sizes = {{.name = "path", .rows = 24413481}, {.name = "edge", .rows = 0}};
  report.times = {.join = 6,
                  .exchange = 1,
                  .pack = 0.1,
                  .encode = 0.4,
                  .write = 0.3,
                  .sync = 0.1,
                  .commit = 0.1,
                  .other = 2,
                  .total = 10};
  SaveReport saved;
  saved.generation = "gen-00000001-0000000001";
  saved.bytes = 3U << 20U;
  saved.pack_seconds = 0.05;
  saved.total_seconds = 0.5;
  saved.held_seconds = 0.5;
  report.checkpoints = {saved, saved};
  return report;
}

TEST(RunReportText, FailedCheckpoints) {
  datalog::RunReport report = example();
  report.failed_checkpoints = {{.iteration = 7, .status = Status::no_space("full")},
                               {.iteration = 9,
                                .time = datalog::SaveTime::kAtEnd,
                                .status = Status::no_space("still full")}};
  EXPECT_NE(breakdown_text(report).find("\n2 checkpoints failed\n"), std::string::npos);
  const nlohmann::json failed = report_json(report, "tc.dl")["failed_checkpoints"];
  ASSERT_EQ(failed.size(), 2U);
  EXPECT_EQ(failed[0]["iteration"], 7);
  EXPECT_EQ(failed[0]["at_end"], false);
  EXPECT_EQ(failed[1]["at_end"], true);
  EXPECT_NE(failed[1]["error"].get<std::string>().find("still full"), std::string::npos);

  EXPECT_EQ(
      missing_checkpoint_text(report, "ck", "fast", 0),
      "all results were written, but not the checkpoint of the answer; the newest one in fast "
      "is gen-00000001-0000000001");
  report.stopped_early = true;
  EXPECT_EQ(missing_checkpoint_text(report, "ck", "fast", 15),
            "stopped on signal 15 without a checkpoint; the newest one in fast is "
            "gen-00000001-0000000001; go on with: stratalog resume ck");
  report.checkpoints.clear();
  EXPECT_EQ(missing_checkpoint_text(report, "ck", "fast", 15),
            "stopped on signal 15 without a checkpoint; ck holds no checkpoint of this run");
}

TEST(RunReportText, SizesAsSoufflePrintsThem) {
  using datalog::IoAction;
  datalog::Program program;
  program.relations.resize(3);
  program.relations[0].name = "path";
  program.relations[0].io = {
      {.action = IoAction::kPrintSize},
      {.action = IoAction::kOutput},
      {.action = IoAction::kPrintSize, .parameters = {{"name", "p"}, {"IO", "stdoutprintsize"}}}};
  program.relations[1].name = "other";
  program.relations[2].name = "edge";
  program.relations[2].io = {{.action = IoAction::kPrintSize}};
  datalog::RunReport report;
  report.relations = {{.name = "path", .rows = 24413481}, {.name = "other"}, {.name = "edge"}};
  EXPECT_EQ(print_sizes_text(program, report), "path\t24413481\np\t24413481\nedge\t0\n");
}

TEST(RunReportText, BreakdownWithSharesAndCheckpoints) {
  const std::string text = breakdown_text(example());
  for (const char* part :
       {"join                       6.000   60.0 %", "checkpoint: sync           0.100    1.0 %",
        "total                     10.000",
        "2 checkpoints, 6.0 MiB written, 10.0 % of the time; packing is 10.0 % of checkpoint "
        "time"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("restore"), std::string::npos);
  datalog::RunReport overlapped = example();
  overlapped.checkpoints[0].held_seconds = 0.1;
  EXPECT_NE(breakdown_text(overlapped).find("% of the time and 0.40 s beside the evaluation"),
            std::string::npos);
}

TEST(RunReportText, RowsAppearWhereTheyMeanSomething) {
  datalog::RunReport report = example();
  report.checkpoints.clear();
  report.resumed_from = "gen-1";
  const std::string text = breakdown_text(report);
  EXPECT_EQ(text.find("checkpoint:"), std::string::npos);
  EXPECT_NE(text.find("restore checkpoint"), std::string::npos);
  EXPECT_NE(breakdown_text(datalog::RunReport()).find("total"), std::string::npos)
      << "no division by zero";
}

TEST(RunReportText, JsonHasEverything) {
  const nlohmann::json report = report_json(example(), "tc.dl");
  EXPECT_EQ(report["program"], "tc.dl");
  EXPECT_EQ(report["seconds"]["join"], 6);
  EXPECT_EQ(report["checkpoints"].size(), 2U);
  EXPECT_NEAR(report["pack_share_of_checkpoints"].get<double>(), 0.1, 1e-9);
  EXPECT_NEAR(report["checkpoint_share"].get<double>(), 0.1, 1e-9);
  EXPECT_TRUE(report["resumed_from"].is_null());
}

TEST(ExitCode, TheSameStatusMeansDifferentThingsInDifferentParts) {
  const Status damaged = Status::corruption("x");
  EXPECT_EQ(exit_code_of(Status::ok(), Part::kRun), ExitCode::kDone);
  EXPECT_EQ(exit_code_of(damaged, Part::kCheckpoint), ExitCode::kCheckpointDamaged);
  EXPECT_EQ(exit_code_of(damaged, Part::kFacts), ExitCode::kFacts);
  EXPECT_EQ(exit_code_of(Status::not_found("x"), Part::kCheckpoint), ExitCode::kCheckpointState);
  EXPECT_EQ(exit_code_of(Status::not_found("x"), Part::kProgram), ExitCode::kProgram);
  EXPECT_EQ(exit_code_of(Status::no_space("x"), Part::kRun), ExitCode::kMemoryLimit);
  EXPECT_EQ(exit_code_of(Status::no_space("x"), Part::kOutput), ExitCode::kInputOutput);
  EXPECT_EQ(exit_code_of(Status::no_space("x"), Part::kCheckpoint), ExitCode::kInputOutput);
  EXPECT_EQ(exit_code_of(Status::ranks_disagree("x"), Part::kFacts), ExitCode::kInternal);
}

TEST(Launch, LeavesRanksOut) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(without_ranks({"run", "--ranks", "3", "a.dl"}), (Words{"run", "a.dl"}));
  EXPECT_EQ(without_ranks({"run", "a.dl", "--ranks=3"}), (Words{"run", "a.dl"}));
  EXPECT_EQ(without_ranks({"run", "a.dl"}), (Words{"run", "a.dl"}));
}

}  // namespace
}  // namespace stratalog::cli
