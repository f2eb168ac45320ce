// SPDX-License-Identifier: Apache-2.0
// Facts that the calling program holds in memory are not in checkpoints from before they were used:
// who goes on without them is refused, and who has them gets the whole answer.
#include <gtest/gtest.h>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

constexpr int kRanks = 3;

Program counting_program() {
  return compiled(
      ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x), x < 200.\n"
      ".decl q(x: number)\n.output q\nq(-x) :- n(x), x > 190.\n");
}

// q(7) and q(8), on each rank.
RunOptions with_supply() {
  RunOptions options;
  options.supply = [](NewValues& values) -> Result<std::vector<TupleColumns>> {
    std::vector<TupleColumns> facts(2);
    facts[1].columns = {{values.number(7), values.number(8)}};
    facts[1].rows = 2;
    return facts;
  };
  return options;
}

TEST(SuppliedFacts, AreNotMissedWithoutAWord) {
  const Program program = counting_program();
  const FileTexts expected = run_engine(program, {}, kRanks, with_supply()).files;
  for (const std::uint64_t stop_at : {20U, 190U, 100000U}) {
    SCOPED_TRACE(stop_at);
    const auto disk = std::make_shared<MemoryDisk>();
    std::uint64_t polls = 0;
    RunHooks hooks;
    hooks.stop_requested = [&] {
      return ++polls == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
    };
    const EngineOutcome begun = run_engine(program, {}, kRanks, with_supply(), hooks, disk);
    ASSERT_TRUE(begun.status.is_ok()) << begun.status.to_string();
    const bool is_through = polls < stop_at;
    RunOptions again;
    again.checkpoint.resume = ResumePolicy::kResume;
    const EngineOutcome without = run_engine(program, {}, 2, again, {}, disk->clone());
    EXPECT_EQ(without.status.is_ok(), is_through);
    if (!is_through) {
      EXPECT_NE(without.status.message().find("inserted facts into `q`"), std::string::npos)
          << without.status.to_string();
    }
    again.supply = with_supply().supply;
    const EngineOutcome with = run_engine(program, {}, 2, again, {}, disk);
    ASSERT_TRUE(with.status.is_ok()) << with.status.to_string();
    EXPECT_EQ(with.files, expected);
  }
}

}  // namespace
}  // namespace stratalog::datalog
