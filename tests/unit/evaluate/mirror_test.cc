// SPDX-License-Identifier: Apache-2.0
// Mirrored relations: the same answers whether growing relations are copied to every rank to the
// end, until some round, or never; what travels; and which recursions they are for.
#include "datalog/evaluate/mirror.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "datalog/evaluate/placement.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Joins of growing relations in several orders, a set carried, a negation, a relation without
// columns that turns true in the recursion, and new values.
constexpr const char* kText =
    ".decl e(x: number, y: number)\n.input e\n"
    ".decl p(x: number, y: number)\n.output p\n.decl q(y: number, x: number, n: number)\n.output "
    "q\n"
    ".decl late()\n.output late\n"
    "p(x, y) :- e(x, y).\n"
    "p(x, z) :- p(x, y), p(y, z), x < 40.\n"
    "q(y, x, x + y * 1000000) :- p(x, y), p(y, x), !e(x, y).\n"
    "q(z, x, n) :- q(y, x, n), p(y, z), late().\n"
    "late() :- q(_, x, _), p(x, 7).\n"
    "p(y, x) :- q(x, y, _), late(), e(y, _).\n";

FileTexts some_edges() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{}\t{}\n{}\t{}\n", i, (i * 7 + 3) % 60, i, (i * i + 1) % 60);
  return {{"e.facts", text}};
}

std::uint64_t sent(const EngineOutcome& outcome) {
  std::uint64_t bytes = 0;
  for (const StratumReport& stratum : outcome.report.strata) bytes += stratum.exchanged_bytes;
  return bytes;
}

TEST(Mirror, TheSameAnswersWithCopiesAndWithout) {
  const Program program = compiled(kText);
  const EngineOutcome expected = run_engine(program, some_edges(), 1, {});
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  ASSERT_GT(expected.report.relations[1].rows, 500U);
  for (const int ranks : {2, 3, 7}) {
    std::uint64_t sent_without = 0;
    for (const std::uint64_t limit : {0U, 300U, 1000U, 1U << 24}) {
      SCOPED_TRACE(fmt::format("{} ranks, at most {} rows", ranks, limit));
      RunOptions options;
      options.mirror_limit_rows = limit;
      const EngineOutcome outcome = run_engine(program, some_edges(), ranks, options);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      EXPECT_EQ(outcome.files, expected.files);
      if (limit == 0) sent_without = sent(outcome);
      if (limit == 1U << 24) {
        EXPECT_NE(sent(outcome), sent_without) << "the limit decides";
      }
    }
  }
}

TEST(Mirror, StoppedAtEveryRoundAndGoneOnWithElsewhere) {
  const Program program = compiled(kText);
  const EngineOutcome expected = run_engine(program, some_edges(), 1, {});
  for (int stop = 1; stop < 12; stop += 2) {
    for (const std::uint64_t limit : {500U, 1U << 24}) {
      SCOPED_TRACE(fmt::format("stop {}, at most {} rows", stop, limit));
      const auto disk = std::make_shared<MemoryDisk>();
      RunOptions options;
      options.mirror_limit_rows = limit;
      options.checkpoint.every_iterations = 1;
      int asked = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++asked == stop ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      const EngineOutcome first = run_engine(program, some_edges(), 3, options, hooks, disk);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      if (!first.report.stopped_early) break;
      options.checkpoint.resume = ResumePolicy::kResume;
      options.mirror_limit_rows = stop % 4 == 1 ? limit : 0;
      const EngineOutcome second = run_engine(program, some_edges(), 2, options, {}, disk);
      ASSERT_TRUE(second.status.is_ok()) << second.status.to_string();
      EXPECT_EQ(second.files, expected.files);
    }
  }
}

// Rounds of one tuple: however many there are, no rank needs another one.
TEST(Mirror, NothingTravelsInThinRounds) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += fmt::format("{}\t{}\n", i, i + 1);
  const FileTexts facts{{"e.facts", text}};
  RunOptions options;
  options.allow_pivot = false;
  std::vector<std::uint64_t> bytes;
  for (const int end : {3, 2000}) {
    const Program program = compiled(
        fmt::format(".decl e(x: number, y: number)\n.input e\n.decl at(x: number)\n.output at\n"
                    "at(0).\nat(y) :- at(x), e(x, y), x < {}.\n",
                    end));
    const EngineOutcome one = run_engine(program, facts, 1, options);
    const EngineOutcome two = run_engine(program, facts, 2, options);
    ASSERT_TRUE(two.status.is_ok()) << two.status.to_string();
    EXPECT_EQ(two.files, one.files);
    EXPECT_EQ(two.report.strata.back().iterations, static_cast<std::uint64_t>(end) + 1);
    bytes.push_back(sent(two));
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// What rules make of a large relation may be much, and is dealt; where it is little, all ranks get
// copies before the first round.
TEST(Mirror, FewSeedsOfALargeRelationAreMirroredAfterwards) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += fmt::format("{}\t{}\n", i, i + 1);
  const FileTexts facts{{"e.facts", text}};
  RunOptions options;
  options.allow_pivot = false;
  options.mirror_limit_rows = 1500;
  for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
    for (const int ranks : {2, 3}) {
      std::vector<std::uint64_t> bytes;
      for (const int end : {3, 400}) {
        const Program program = compiled(
            fmt::format(".decl e(x: number, y: number)\n.input e\n.decl at(x: number)\n.output at\n"
                        ".decl last(x: number)\n.output last\nlast(x) :- at(x), !at(x + 1).\n"
                        "at(x) :- e(x, y), y < 2.\nat(y) :- at(x), e(x, y), x < {}.\n",
                        end));
        const EngineOutcome one = run_engine(program, facts, 1, options);
        const EngineOutcome outcome =
            run_engine(program, facts, ranks, options, {}, {}, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, one.files);
        bytes.push_back(outcome.report.strata[1].exchanged_bytes);
      }
      if (space == AddressSpace::kSeparate) {
        EXPECT_GT(bytes[0], 0U);
        EXPECT_EQ(bytes[0], bytes[1]);
      }
    }
}

// Every rank finds far more in one round than may be mirrored: that goes to its owners and not to
// everybody.
TEST(Mirror, ARoundThatOutgrowsTheMirrorsIsDealtAtOnce) {
  std::string starts;
  for (int i = 0; i < 1500; ++i) starts += fmt::format("{}\n", i * 3);
  std::string steps;
  for (int i = 1; i <= 100; ++i) steps += fmt::format("{}\n", i);
  const FileTexts facts{{"s.facts", starts}, {"e.facts", steps}};
  for (const char* limit_size : {"", ".limitsize p(n=2000)\n"}) {
    const Program program = compiled(fmt::format(
        ".decl s(x: number)\n.input s\n.decl e(x: number)\n.input e\n"
        ".decl p(x: number, y: number)\n.output p\n{}"
        ".decl last(x: number)\n.output last\n"
        "p(x, 0) :- s(x).\np(x, y) :- p(x, 0), e(y).\np(y, x) :- p(x, y), x = 3, y > 98.\n"
        "last(x) :- p(x, 100), p(x, 1).\n",
        limit_size));
    const EngineOutcome expected = run_engine(program, facts, 1, {});
    ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
    for (const int ranks : {2, 3, 7}) {
      SCOPED_TRACE(fmt::format("{} ranks {}", ranks, limit_size));
      std::vector<std::uint64_t> bytes;
      for (const std::uint64_t limit : {0U, 20000U}) {
        RunOptions options;
        options.mirror_limit_rows = limit;
        options.allow_pivot = false;
        const EngineOutcome outcome = run_engine(program, facts, ranks, options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
        bytes.push_back(sent(outcome));
      }
      EXPECT_GT(bytes[1], 0U);
      EXPECT_LT(bytes[1], bytes[0] + bytes[0] / 2) << "what one owner needs goes to one";
    }
  }
}

TEST(Mirror, AnErrorOfOneRankInARoundAloneIsEveryones) {
  const Program program = compiled(
      ".decl e(x: number)\n.input e\n.decl out(x: number)\n.output out\n"
      "out(x) :- e(x).\nout(y) :- out(x), out(z), e(y), 100 / (50 - x) > z - 1000.\n");
  const EngineOutcome outcome = run_engine(program, {{"e.facts", "1\n50\n"}}, 3, {});
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument) << outcome.status.to_string();
}

TEST(Mirror, WhichRecursionsItIsFor) {
  const std::string start = ".decl e(x: number, y: number)\n.input e\n";
  const auto allows = [&](const std::string& text) {
    const Program program = compiled(start + text);
    const auto plan = plan_program(program, {});
    EXPECT_TRUE(plan.is_ok());
    bool any = false;
    for (const StratumPlan& stratum : plan.value().strata) any |= stratum.may_be_mirrored;
    return any;
  };
  const std::string rules = "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), p(y, z), x < z.\n";
  EXPECT_TRUE(allows(".decl p(x: number, y: number)\n" + rules));
  EXPECT_FALSE(allows(".decl p(x: number, y: number) eqrel\n" + rules));
  EXPECT_FALSE(allows(".decl p(x: number, y: number) choice-domain x\n" + rules));
  EXPECT_FALSE(
      allows(".decl p(x: number, y: number)\n" + rules + "p(x, y) <= p(x, z) :- y <= z.\n"));
  EXPECT_FALSE(
      allows(".decl p(x: number, y: number)\np(x, y) :- e(x, y).\n"
             "p(x, z) :- p(x, y), e(y, z).\n"))
      << "a pivot";
}

TEST(Mirror, HopsAreFoundInThePlan) {
  const auto hops = [](const std::string& rules, bool without_e = false) {
    const Program program = compiled(
        ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n"
        "p(x, y) :- e(x, y).\n" +
        rules);
    const auto plan = plan_program(program, {.statistics = {}, .allow_pivot = false});
    EXPECT_TRUE(plan.is_ok());
    const auto placements = plan_placements(program, plan.value());
    const auto is_empty = [&](RelationId r) { return r == 0 && without_e; };
    for (std::uint32_t s = 0; s < program.strata.size(); ++s)
      if (program.strata[s].is_recursive)
        return has_hops(program, plan.value(), s, placements, is_empty);
    ADD_FAILURE() << "no recursion";
    return false;
  };
  EXPECT_TRUE(hops("p(x, z) :- p(x, y), e(y, w), p(w, z).\n"));
  EXPECT_FALSE(hops("p(x, z) :- p(x, y), e(y, w), p(w, z).\n", true)) << "e has no tuples";
  EXPECT_FALSE(hops("p(a, b) :- e(x, a), p(x, y), e(y, b).\n")) << "one growing atom";
  EXPECT_FALSE(hops("p(x, z) :- p(x, y), p(x, z), e(y, z).\n")) << "both by x";
}

}  // namespace
}  // namespace stratalog::datalog
