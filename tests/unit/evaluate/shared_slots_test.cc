// SPDX-License-Identifier: Apache-2.0
// Strata run by pivot on ranks that are threads: they read each other's static relations, one of
// them orders the slots for all, and they sweep each other's blocks. The answers, and what
// checkpoints hold, are those of ranks that share nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Two relations that feed each other, keys of two columns and of one, a static join, a cross
// product, a constant in a head, and in `kept` a test of the pivot.
std::string program_text(std::string_view test = "") {
  return fmt::format(
      ".decl e(x: number, y: number)\n.input e\n"
      ".decl kind(y: number, k: number)\n.input kind\n"
      ".decl extra(k: number)\nextra(1). extra(2).\n"
      ".decl half(x: number)\nhalf(x) :- e(x, _), x % 2 = 0.\n"
      ".decl p(who: number, x: number)\n.decl q(who: number, x: number, k: number)\n"
      ".output p\n.output q\n"
      "p(x, y) :- e(x, y).\n"
      "p(w, z) :- p(w, y), e(y, z){}.\n"
      "q(w, y, k) :- p(w, y), kind(y, k).\n"
      "q(w, y, k) :- q(w, y, _), extra(k).\n"
      "p(w, z) :- q(w, y, 3), e(z, y).\n",
      test);
}

// Small components, so that there are many pivots and few tuples of each.
FileTexts program_facts(int nodes) {
  constexpr int kComponent = 17;
  std::string edges;
  std::string kinds;
  for (int i = 0; i < nodes; ++i) {
    const int first = i - (i % kComponent);
    edges += fmt::format("{}\t{}\n", i, first + ((i + 1) % kComponent));
    if (i % 10 == 0) edges += fmt::format("{}\t{}\n", i, first + ((i * 31) % kComponent));
    if (i % 4 == 0) kinds += fmt::format("{}\t{}\n", i, i % 40);
  }
  return {{"e.facts", edges}, {"kind.facts", kinds}};
}

EngineOutcome run_in(AddressSpace space, const Program& program, const FileTexts& facts, int ranks,
                     const RunOptions& options,
                     const std::shared_ptr<MemoryDisk>& checkpoints = nullptr) {
  return run_engine(program, facts, ranks, options, {}, checkpoints, nullptr, {}, space);
}

TEST(SharedSlots, TheSameAnswersAsOfRanksThatShareNothing) {
  const FileTexts facts = program_facts(2800);
  for (const std::string_view test :
       {"", ", !e(z, w)", ", w != z", ", !extra(w), !e(5, w)", ", w % 3 != 0, w < 2000",
        ", half(w), w != 4, (y + z) % 5 != 0"}) {
    const bool looks_up = test.find("w)") != std::string_view::npos;
    const Program program = compiled(program_text(test));
    RunOptions rounds;
    rounds.allow_pivot = false;
    const FileTexts expected = run_engine(program, facts, 1, rounds).files;
    for (const int ranks : {1, 2, 3, 7})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
        for (const std::uint64_t copied : {0U, 1U << 20}) {
          SCOPED_TRACE(fmt::format("test `{}`, {} ranks, {}, {} rows copied", test, ranks,
                                   space == AddressSpace::kShared, copied));
          RunOptions options;
          options.replicate_limit_rows = copied;
          options.keep_round_counts = true;
          const EngineOutcome outcome = run_in(space, program, facts, ranks, options);
          ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
          EXPECT_EQ(outcome.files, expected);
          const bool by_pivot =
              ranks == 1 || copied != 0 || (space == AddressSpace::kShared && !looks_up);
          EXPECT_EQ(outcome.report.strata.back().strategy == Strategy::kPivot, by_pivot);
        }
  }
}

// Nothing is copied to all ranks, neither edges nor seeds.
TEST(SharedSlots, ThreadsNeedLessMemoryAndMail) {
  const Program program = compiled(program_text());
  const FileTexts facts = program_facts(20000);
  const EngineOutcome apart = run_in(AddressSpace::kSeparate, program, facts, 3, {});
  const EngineOutcome together = run_in(AddressSpace::kShared, program, facts, 3, {});
  ASSERT_TRUE(together.status.is_ok()) << together.status.to_string();
  EXPECT_EQ(together.files, apart.files);
  EXPECT_LT(together.report.peak_memory_bytes * 10, apart.report.peak_memory_bytes * 9);
  EXPECT_LT(together.report.strata.back().exchanged_bytes,
            apart.report.strata.back().exchanged_bytes);
}

// Stopped in the midst, by time and by rounds, and gone on with where ranks share other things.
TEST(SharedSlots, CheckpointsOfThreadsAreThoseOfRanks) {
  const Program program = compiled(program_text());
  const FileTexts facts = program_facts(2800);
  const EngineOutcome whole = run_engine(program, facts, 1, {});
  ASSERT_TRUE(whole.status.is_ok()) << whole.status.to_string();
  std::uint64_t in_the_midst = 0;
  for (const std::uint64_t every : {0U, 20U})
    for (const std::uint64_t stop_at : {1U, 2U, 3U, 5U, 9U}) {
      const AddressSpace second =
          stop_at % 2 == 0 ? AddressSpace::kSeparate : AddressSpace::kShared;
      SCOPED_TRACE(fmt::format("every {} rounds, stopped at {}", every, stop_at));
      const auto disk = std::make_shared<MemoryDisk>();
      std::uint64_t polls = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++polls == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      RunOptions options;
      options.checkpoint.every_iterations = every;
      if (every == 0) options.checkpoint.every_seconds = 1e-6;
      const EngineOutcome first =
          run_engine(program, facts, 3, options, hooks, disk, nullptr, {}, AddressSpace::kShared);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      if (first.files != whole.files) ++in_the_midst;
      RunOptions again;
      again.checkpoint.resume = ResumePolicy::kResume;
      const EngineOutcome resumed = run_in(second, program, facts, 2, again, disk);
      ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
      EXPECT_EQ(resumed.files, whole.files);
    }
  EXPECT_GT(in_the_midst, 4U);
}

}  // namespace
}  // namespace stratalog::datalog
