// SPDX-License-Identifier: Apache-2.0
// Restart: a run that stops at any safe point and goes on with another number of ranks ends with
// the same bytes, the same counts of every round and the same iteration numbers as a run that was
// left alone. Once with each stop on its own, once as a chain that stops at every safe point and
// changes the number of ranks each time; random programs too. STRATALOG_PROPERTY_CASES sets the
// number of random programs.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "property/campaign_size.h"
#include "property/engine_runner.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

struct Sample {
  std::string name;
  std::string text;
  FileTexts facts;
};

std::string edges(std::uint64_t seed, std::uint32_t nodes, std::uint32_t count) {
  std::mt19937_64 random(seed);
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i)
    text += fmt::format("{}\t{}\n", random() % nodes, random() % nodes);
  return text;
}

// The first number is one of 40.
std::string triples(std::uint32_t values, std::uint32_t count) {
  std::mt19937_64 random(11);
  std::string text = "1\t3\t3\n";
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t a = random() % values;
    text += fmt::format("{}\t{}\t{}\n", random() % 40, a, (a + 1 + random() % 5) % values);
  }
  return text;
}

std::string chain(std::uint32_t nodes) {
  std::string text;
  for (std::uint32_t i = 0; i + 1 < nodes; ++i) text += fmt::format("{}\t{}\n", i, i + 1);
  return text;
}

std::vector<Sample> samples() {
  const std::string edge = ".decl edge(x: number, y: number)\n.input edge\n";
  const std::string path =
      edge + ".decl path(x: number, y: number)\n.output path\npath(x, y) :- edge(x, y).\n";
  return {
      {.name = "left-linear closure",
       .text = path + "path(x, z) :- path(x, y), edge(y, z).\n",
       .facts = {{"edge.facts", edges(1, 40, 60)}}},
      {.name = "closure with tests of the carried column",
       .text = path + ".decl keep(x: number, y: number)\n.input keep\n"
                      "path(x, z) :- path(x, y), edge(y, z), !keep(x, z), !keep(z, x).\n"
                      "path(x, z) :- path(x, y), edge(z, y), keep(y, x), !edge(x, z).\n",
       .facts = {{"edge.facts", chain(30) + edges(8, 30, 20)}, {"keep.facts", edges(9, 30, 90)}}},
      {.name = "right-linear closure, pivots far apart",
       .text =
           path + "path(x, z) :- edge(x, y), path(y, z).\npath(-5, 9000000000) :- edge(0, _).\n",
       .facts = {{"edge.facts",
                  "0\t1\n1\t2\n2\t9000000000\n9000000000\t-7\n-"
                  "7\t0\n3\t8000000000000\n8000000000000\t3\n"}}},
      {.name = "non-linear closure",
       .text = path + "path(x, z) :- path(x, y), path(y, z).\n",
       .facts = {{"edge.facts", chain(24) + edges(2, 24, 6)}}},
      {.name = "same generation",
       .text = edge + ".decl sg(x: number, y: number)\n.output sg\n"
                      "sg(x, y) :- edge(a, x), edge(a, y), x != y.\n"
                      "sg(x, y) :- edge(a, x), sg(a, b), edge(b, y).\n",
       .facts = {{"edge.facts", edges(3, 30, 40)}}},
      {.name = "mutual recursion",
       .text = edge + ".decl even(x: number)\n.decl odd(x: number)\n.output even\n.output odd\n"
                      "even(0).\nodd(y) :- even(x), edge(x, y).\neven(y) :- odd(x), edge(x, y).\n",
       .facts = {{"edge.facts", chain(12) + "11\t0\n"}}},
      {.name = "orders that change when something is known to be small, or empty",
       .text = ".decl wide(c: number, a: number, b: number)\n.input wide\n"
               ".decl few(c: number)\nfew(c * 0 + 3) :- wide(_, c, c).\n"
               ".decl none(c: number)\nnone(c + 1) :- wide(c, c, c), c > 100.\n"
               ".decl walk(x: number, y: number)\n.output walk\n"
               "walk(x, y) :- wide(c, x, y), few(c).\nwalk(x, y) :- wide(c, x, y), none(c).\n"
               "walk(x, z) :- walk(x, y), walk(y, w), wide(x, w, z).\n"
               "walk(x, z) :- walk(x, y), none(c), walk(c, z), wide(c, y, z).\n"
               ".decl meet(x: number, c: number)\n.output meet\n"
               "meet(x, c) :- wide(v, x, c), few(v).\n"
               "meet(x, c) :- meet(x, y), meet(y, z), walk(v, c), few(v), wide(v, c, z).\n",
       .facts = {{"wide.facts", triples(17, 400)}}},
      {.name = "negation, aggregates, new texts and numbers in several recursive strata",
       .text = path + "path(x, z) :- path(x, y), edge(y, z).\n"
                      ".decl apart(x: number, y: number)\n.output apart\n"
                      "apart(x, y) :- edge(x, _), edge(_, y), !path(x, y).\n"
                      ".decl degree(x: number, n: number)\n.output degree\n"
                      "degree(x, n) :- edge(x, _), n = count : { path(x, _) }.\n"
                      ".decl name(x: number, s: symbol)\n.output name\n"
                      "name(0, \"n\").\n"
                      "name(y, cat(s, \".\", to_string(y * 1000000007))) :- name(x, s), edge(x, "
                      "y), strlen(s) < 45.\n"
                      ".decl grown(x: number)\n.output grown\n"
                      "grown(1).\ngrown((x * 31 + d) % 9007199254740993) :- grown(x), degree(_, "
                      "d), x < 100000000000.\n"
                      ".decl total(n: number, m: number)\n.output total\n"
                      "total(n, m) :- n = count : { name(_, _) }, m = max x : { grown(x) }.\n"
                      ".decl none()\n.output none\nnone() :- !apart(0, 0).\n",
       .facts = {{"edge.facts", "0\t1\n1\t2\n2\t3\n3\t1\n2\t4\n4\t5\n"}}},
  };
}

RunOptions options_for(const RunOptions& base, ResumePolicy resume) {
  RunOptions options = base;
  options.keep_round_counts = true;
  if (base.checkpoint.every_seconds == 0) options.checkpoint.every_iterations = 1;
  options.checkpoint.resume = resume;
  return options;
}

std::string newest_generation(const std::shared_ptr<MemoryDisk>& disk, std::uint64_t& iteration) {
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  if (!listed.is_ok() || listed.value().empty()) return {};
  EXPECT_EQ(listed.value()[0].condition, GenerationCondition::kValid) << listed.value()[0].reason;
  iteration = listed.value()[0].iteration;
  return listed.value()[0].name;
}

// A run that asks to stop at its `stop_at`-th safe point (counted from 1; 0: never).
struct StoppedRun {
  EngineOutcome outcome;
  std::uint64_t iteration = 0;  // of the last progress before the stop
};

StoppedRun run_until(const Program& program, const FileTexts& facts, int ranks,
                     const RunOptions& base, ResumePolicy resume, std::uint64_t stop_at,
                     const std::shared_ptr<MemoryDisk>& checkpoints) {
  StoppedRun run;
  std::uint64_t polls = 0;
  RunHooks hooks;
  hooks.stop_requested = [&] {
    return ++polls == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
  };
  // Ranks that share memory go on from where others have stopped, and the other way round.
  std::uint64_t iteration = 0;
  newest_generation(checkpoints, iteration);
  const AddressSpace space =
      (stop_at + iteration) % 2 == 0 ? AddressSpace::kSeparate : AddressSpace::kShared;
  RunOptions options = options_for(base, resume);
  if (stop_at % 3 != 0) options.order_slots_min_seeds = 0;
  if (stop_at % 4 == 1) options.guess_growth_min_seeds = 0;
  if (stop_at % 2 != 0) options.sweep_pause_operations = 1;
  run.outcome = run_engine(program, facts, ranks, options, hooks, checkpoints, nullptr, {}, space);
  return run;
}

// Everything that must not depend on how often and where a run was interrupted.
std::string essence(const EngineOutcome& outcome) {
  std::string text = text_of(outcome.files);
  for (const RelationSize& size : outcome.report.relations)
    text += fmt::format("{}: {} rows\n", size.name, size.rows);
  for (const StratumReport& s : outcome.report.strata)
    text += fmt::format("{}: {} iterations, {} tuples, new per round [{}]\n", s.relations,
                        s.iterations, s.tuples, fmt::join(s.new_tuples_per_round, " "));
  return text;
}

// A stop at each safe point, each time resumed to the end. Returns how many of the stops were
// inside a recursion.
std::uint64_t check_each_stop(const Program& program, const FileTexts& facts, int from, int to,
                              const RunOptions& base, const std::string& expected) {
  std::uint64_t inside = 0;
  for (std::uint64_t stop_at = 1;; ++stop_at) {
    const auto disk = std::make_shared<MemoryDisk>();
    const StoppedRun stopped =
        run_until(program, facts, from, base, ResumePolicy::kFresh, stop_at, disk);
    EXPECT_TRUE(stopped.outcome.status.is_ok()) << stopped.outcome.status.to_string();
    if (!stopped.outcome.report.stopped_early) {
      EXPECT_EQ(essence(stopped.outcome), expected) << "with checkpoints, not stopped";
      return inside;
    }
    EXPECT_TRUE(stopped.outcome.files.empty()) << "a stopped run writes no outputs";
    std::uint64_t iteration = 0;
    const std::string generation = newest_generation(disk, iteration);
    const StoppedRun resumed = run_until(program, facts, to, base, ResumePolicy::kResume, 0, disk);
    EXPECT_TRUE(resumed.outcome.status.is_ok()) << resumed.outcome.status.to_string();
    EXPECT_EQ(resumed.outcome.report.resumed_from, generation);
    EXPECT_EQ(resumed.outcome.report.resumed_iteration, iteration);
    EXPECT_EQ(essence(resumed.outcome), expected)
        << "stopped at safe point " << stop_at << " on " << from << " ranks, resumed at iteration "
        << iteration << " on " << to;
    inside += resumed.outcome.report.resumed_iteration > 0 ? 1 : 0;
    if (::testing::Test::HasFailure() || stop_at > 500) return inside;
  }
}

// Stops at every safe point; each leg runs on another number of ranks, and in the next one of some
// ways. Returns the number of legs.
std::uint64_t check_chain(const Program& program, const FileTexts& facts,
                          const std::vector<int>& ranks, const std::vector<RunOptions>& ways,
                          const std::string& expected) {
  const auto disk = std::make_shared<MemoryDisk>();
  // The first safe point after a restart is the one that was stopped at.
  for (std::uint64_t leg = 0; leg < 500; ++leg) {
    const StoppedRun run =
        run_until(program, facts, ranks[leg % ranks.size()], ways[leg % ways.size()],
                  leg == 0 ? ResumePolicy::kFresh : ResumePolicy::kResume, leg == 0 ? 1 : 2, disk);
    EXPECT_TRUE(run.outcome.status.is_ok())
        << "leg " << leg << ": " << run.outcome.status.to_string();
    if (!run.outcome.status.is_ok()) return leg;
    if (run.outcome.report.stopped_early) continue;
    EXPECT_EQ(essence(run.outcome), expected) << "a chain of " << leg + 1 << " legs";
    return leg + 1;
  }
  ADD_FAILURE() << "the chain does not come to an end";
  return 0;
}

std::vector<RunOptions> ways_to_run() {
  RunOptions usual;
  RunOptions rounds;
  rounds.allow_pivot = false;
  RunOptions tuples = hop_options();
  tuples.allow_pivot = false;
  tuples.allow_sets = false;
  tuples.mirror_limit_rows = 60;  // dealt in the middle of the run
  tuples.rebalance_min_rows = 3;
  tuples.restore_round_bytes = 64;
  return {usual, rounds, hop_options(), tuples};
}

std::string uninterrupted(const Program& program, const FileTexts& facts) {
  RunOptions options;
  options.keep_round_counts = true;
  const EngineOutcome outcome = run_engine(program, facts, 1, options);
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  return essence(outcome);
}

TEST(Restart, FromEachSafePointOnAnotherNumberOfRanks) {
  struct Move {
    int from;
    int to;
  };
  const std::vector<Move> moves{{1, 3}, {3, 1}, {2, 7}, {7, 4}, {4, 4}};
  std::size_t next = 0;
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    std::string problems;
    const auto program = compile_text(sample.text, problems);
    ASSERT_TRUE(program) << problems;
    const std::string expected = uninterrupted(*program, sample.facts);
    for (const RunOptions& way : ways_to_run()) {
      SCOPED_TRACE(fmt::format(
          "allow_pivot {}, allow_sets {}, replicate_limit_rows {}, mirror_limit_rows {}",
          way.allow_pivot, way.allow_sets, way.replicate_limit_rows, way.mirror_limit_rows));
      const Move move = moves[next++ % moves.size()];
      EXPECT_GT(check_each_stop(*program, sample.facts, move.from, move.to, way, expected), 2U);
      if (HasFailure()) return;
    }
  }
}

// What a restart knows of sizes may have it deal relations by other columns than the run before.
TEST(Restart, OnAsManyRanksAsBefore) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const Program program = compiled(sample.text);
    const std::string expected = uninterrupted(program, sample.facts);
    for (const RunOptions& way : ways_to_run()) {
      check_each_stop(program, sample.facts, 3, 3, way, expected);
      if (HasFailure()) return;
    }
  }
}

TEST(Restart, ChainOfStopsAtEverySafePoint) {
  const std::vector<int> ranks{1, 4, 2, 7, 3, 3, 1};
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    std::string problems;
    const auto program = compile_text(sample.text, problems);
    ASSERT_TRUE(program) << problems;
    const std::string expected = uninterrupted(*program, sample.facts);
    for (const RunOptions& way : ways_to_run()) {
      SCOPED_TRACE(fmt::format(
          "allow_pivot {}, allow_sets {}, replicate_limit_rows {}, mirror_limit_rows {}",
          way.allow_pivot, way.allow_sets, way.replicate_limit_rows, way.mirror_limit_rows));
      EXPECT_GT(check_chain(*program, sample.facts, ranks, {way}, expected), 3U);
      if (HasFailure()) return;
    }
  }
}

// A sweep that was interrupted goes on, whatever is allowed by then.
TEST(Restart, ChainInAnotherWayEachTime) {
  const std::vector<RunOptions> all = ways_to_run();
  RunOptions plain = all[0];
  plain.allow_pivot = plain.allow_sets = false;
  RunOptions swept = all[0];
  swept.allow_sets = false;
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    const Program program = compiled(sample.text);
    const std::string expected = uninterrupted(program, sample.facts);
    for (const std::vector<RunOptions>& ways :
         {std::vector{all[0], plain}, std::vector{swept, plain, all[3]},
          std::vector{all[0], all[3], all[1], swept}, std::vector{all[2], plain, swept}})
      for (const std::vector<int>& ranks : {std::vector{1}, std::vector{3, 3, 2, 1, 7}}) {
        EXPECT_GT(check_chain(program, sample.facts, ranks, ways, expected), 3U);
        if (HasFailure()) return;
      }
  }
}

// By time, a checkpoint finds some blocks of pivots at their fixpoint and others where they began;
// whoever goes on by iterations, on other ranks and with other blocks, still counts every round.
TEST(Restart, BlocksOfPivotsAtDifferentRounds) {
  std::string edges = chain(40);
  for (int i = 0; i < 900; ++i)
    edges += fmt::format("{}\t{}\n", 100 + i * 7 % 900, 100 + i * 31 % 900);
  const FileTexts facts{{"edge.facts", edges}};
  const std::string text =
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
      ".output path\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n";
  std::string problems;
  const auto program = compile_text(text, problems);
  ASSERT_TRUE(program) << problems;
  const std::string expected = uninterrupted(*program, facts);
  RunOptions by_time;
  by_time.checkpoint.every_seconds = 1e-9;
  RunOptions by_iterations;
  const std::vector<int> ranks{2, 1, 3, 4, 2, 2, 7};
  std::uint64_t ahead = 0;
  for (const std::uint64_t pattern : {0b0U, 0b10U, 0b100100U, 0b1000U}) {
    const auto disk = std::make_shared<MemoryDisk>();
    bool ended = false;
    for (std::uint64_t leg = 0; leg < 100 && !ended; ++leg) {
      const RunOptions& way = (pattern >> leg & 1) != 0 ? by_iterations : by_time;
      const StoppedRun run =
          run_until(*program, facts, ranks[leg % ranks.size()], way,
                    leg == 0 ? ResumePolicy::kFresh : ResumePolicy::kResume, 2, disk);
      ASSERT_TRUE(run.outcome.status.is_ok()) << leg << ": " << run.outcome.status.to_string();
      ended = !run.outcome.report.stopped_early;
      if (ended) {
        EXPECT_EQ(essence(run.outcome), expected) << "a chain of " << leg + 1 << " legs";
        continue;
      }
      const auto store = open_memory_store(disk);
      const auto listed = list_generations(*store);
      ASSERT_TRUE(listed.is_ok());
      const auto state = inspect_generation(*store, listed.value()[0].name);
      ASSERT_TRUE(state.is_ok());
      ahead += state.value().engine_state.find("tuples_ahead") != std::string::npos ? 1 : 0;
    }
    EXPECT_TRUE(ended) << "the chain does not come to an end";
  }
  EXPECT_GT(ahead, 8U);
}

// How many checkpoints are due in a recursion whose blocks take `block_rounds` rounds, block after
// block on each rank, if every rank waits for the others when its blocks have done `every` rounds
// on average.
std::uint64_t count_due(const std::vector<std::uint64_t>& block_rounds, std::uint64_t ranks,
                        std::uint64_t every) {
  struct Rank {
    std::uint64_t next_block;
    std::uint64_t blocks;
    std::uint64_t done = 0;
    std::uint64_t multiple = 1;
  };
  const std::uint64_t blocks = block_rounds.size();
  std::vector<Rank> all;
  all.reserve(ranks);
  for (std::uint64_t r = 0; r < ranks; ++r)
    all.push_back({.next_block = r, .blocks = (blocks - r + ranks - 1) / ranks});
  for (std::uint64_t due = 0;; ++due) {
    bool ended = true;
    for (Rank& rank : all) {
      for (; rank.next_block < blocks && rank.done < rank.multiple * every * rank.blocks;
           rank.next_block += ranks)
        rank.done += block_rounds[rank.next_block];
      ended = ended && rank.next_block >= blocks;
      while (rank.done >= rank.multiple * every * rank.blocks) ++rank.multiple;
    }
    if (ended) return due;
  }
}

// Where ranks own many blocks of pivots, checkpoints by iterations are due by the rounds that
// blocks have done on average. Each is sound on any number of ranks, with as many blocks or few.
TEST(Restart, ManyBlocksOfPivotsByIterations) {
  constexpr std::uint32_t kLanes = 512;  // of a block, if a rank has four such
  constexpr std::uint32_t kNodes = 16 * kLanes;
  std::string text;
  std::vector<std::uint64_t> block_rounds(kNodes / kLanes, 0);
  for (std::uint32_t first = 0; first < kNodes;) {
    const std::uint32_t last = std::min(kNodes - 1, first + 2 + (first / 300 * 7 % 23));
    for (std::uint32_t x = first; x < last; ++x) {
      text += fmt::format("{}\t{}\n", x, x + 1);
      // Paths of one edge are seeds; the last round finds nothing.
      std::uint64_t& rounds = block_rounds[x / kLanes];
      rounds = std::max<std::uint64_t>(rounds, last - x);
    }
    first = last + 1;
  }
  const FileTexts facts{{"edge.facts", text}};
  std::string problems;
  const auto program = compile_text(
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
      ".output path\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n",
      problems);
  ASSERT_TRUE(program) << problems;
  const std::string expected = uninterrupted(*program, facts);
  for (const int way : {0, 1, 2, 3}) {
    const int ranks = 1 + way % 2;
    const bool within_blocks = way >= 2;
    SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, within_blocks ? "within blocks" : "between"));
    RunOptions options = options_for({}, ResumePolicy::kFresh);
    options.checkpoint.every_iterations = 3;
    options.checkpoint.writer.keep_generations = 100;
    if (within_blocks) options.sweep_pause_operations = 1;
    const auto disk = std::make_shared<MemoryDisk>();
    const EngineOutcome outcome = run_engine(*program, facts, ranks, options, {}, disk);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(essence(outcome), expected);
    const std::uint64_t due = count_due(block_rounds, static_cast<std::uint64_t>(ranks), 3);
    EXPECT_GE(due, 2U);
    // And the one at the end. Ranks do not wait for each other where no checkpoint is passed over
    // as far as they know; a block that is longer than all before may pass one.
    if (ranks == 1) {
      EXPECT_EQ(outcome.report.checkpoints.size(), due + 1);
    }
    EXPECT_LE(outcome.report.checkpoints.size(), due + 1);
    EXPECT_GE(outcome.report.checkpoints.size(), 3U);

    const auto store = open_memory_store(disk);
    const auto listed = list_generations(*store);
    ASSERT_TRUE(listed.is_ok());
    std::uint64_t ahead = 0;
    for (const GenerationSummary& generation : listed.value()) {
      const auto state = inspect_generation(*store, generation.name);
      ASSERT_TRUE(state.is_ok());
      ahead += state.value().engine_state.find("tuples_ahead") != std::string::npos ? 1 : 0;
      for (const int others : {1, 2, 3, 7}) {
        RunOptions again = options_for({}, ResumePolicy::kResume);
        again.checkpoint.every_iterations = 3;
        again.checkpoint.writer.keep_generations = 100;
        again.checkpoint.generation = generation.name;
        const auto copy = disk->clone();  // who goes on from an older one retires the newer
        const EngineOutcome resumed = run_engine(*program, facts, others, again, {}, copy);
        ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
        EXPECT_EQ(resumed.report.resumed_from, generation.name);
        EXPECT_EQ(essence(resumed), expected) << generation.name << " on " << others << " ranks";
      }
    }
    EXPECT_EQ(ahead + 1, outcome.report.checkpoints.size());
  }
}

// Ranks that are in the middle of their only block are not waited for: a checkpoint finds it where
// it began, and who is stopped there, or goes on, ends like one that was left alone.
TEST(Restart, WithinTheOnlyBlockOfARank) {
  const FileTexts facts{{"edge.facts", chain(60)}};
  std::string problems;
  const auto program = compile_text(
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
      ".output path\npath(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n",
      problems);
  ASSERT_TRUE(program) << problems;
  const std::string expected = uninterrupted(*program, facts);
  std::uint64_t stopped = 0;
  for (const int ranks : {1, 2, 3})
    for (const std::uint64_t stop_at : {0, 1, 3, 5}) {
      SCOPED_TRACE(fmt::format("{} ranks, stopped at {}", ranks, stop_at));
      RunOptions options;
      options.keep_round_counts = true;
      options.checkpoint.every_seconds = 1e-9;
      options.sweep_pause_operations = 1;
      std::uint64_t looks = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++looks == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      const auto disk = std::make_shared<MemoryDisk>();
      const EngineOutcome first = run_engine(*program, facts, ranks, options, hooks, disk);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      stopped += first.report.stopped_early ? 1 : 0;
      if (stop_at == 0) {
        EXPECT_EQ(essence(first), expected);
        // Before the block, within it, and at the end. Several ranks may be through before they
        // have an answer.
        EXPECT_GT(first.report.checkpoints.size(), ranks == 1 ? 3U : 0U);
      }
      options.checkpoint.resume = ResumePolicy::kResume;
      const EngineOutcome again = run_engine(*program, facts, 4 - ranks, options, {}, disk);
      ASSERT_TRUE(again.status.is_ok()) << again.status.to_string();
      EXPECT_EQ(essence(again), expected);
    }
  EXPECT_GE(stopped, 3U);
}

// Nodes that follow each other have numbers far apart, so pivots are dealt in an order of their
// own. Blocks are of other widths where there are other numbers of ranks, and the next stratum
// reads the rows where they lie, or as tuples.
TEST(Restart, PivotsOutOfTheOrderOfTheirNumbers) {
  constexpr std::uint32_t kNodes = 3001;
  const auto name = [](std::uint32_t node) { return 10 + (node * 1237U) % kNodes; };
  std::string text;
  std::string marks;
  for (std::uint32_t first = 0; first < kNodes;) {
    const std::uint32_t last = std::min(kNodes - 1, first + 2 + (first / 300 * 7 % 23));
    for (std::uint32_t x = first; x < last; ++x)
      text += fmt::format("{}\t{}\n", name(x), name(x + 1));
    if (first % 3 == 0) marks += fmt::format("{}\n", name(last));
    first = last + 1;
  }
  const FileTexts facts{{"edge.facts", text}, {"mark.facts", marks}};
  std::string problems;
  const auto program = compile_text(
      ".decl edge(x: number, y: number)\n.input edge\n.decl mark(x: number)\n.input mark\n"
      ".decl path(x: number, y: number)\n.output path\npath(x, y) :- edge(x, y).\n"
      "path(x, z) :- path(x, y), edge(y, z).\n"
      ".decl leads(x: number, y: number)\n.output leads\nleads(x, y) :- mark(y), path(x, y).\n"
      ".decl all(x: number, y: number)\n.output all\nall(y, x) :- path(x, y).\n",
      problems);
  ASSERT_TRUE(program) << problems;
  const std::string expected = uninterrupted(*program, facts);
  for (const int ranks : {1, 2, 5}) {
    RunOptions options = options_for({}, ResumePolicy::kFresh);
    options.checkpoint.every_iterations = 3;
    options.checkpoint.writer.keep_generations = 100;
    options.read_swept_min_rows = ranks == 2 ? ~std::uint64_t{0} : 1;
    const auto disk = std::make_shared<MemoryDisk>();
    const EngineOutcome outcome = run_engine(*program, facts, ranks, options, {}, disk);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(essence(outcome), expected) << ranks << " ranks";
    const auto store = open_memory_store(disk);
    const auto listed = list_generations(*store);
    ASSERT_TRUE(listed.is_ok());
    EXPECT_GE(listed.value().size(), 2U);
    const auto state = inspect_generation(*store, listed.value().front().name);
    ASSERT_TRUE(state.is_ok());
    EXPECT_NE(state.value().engine_state.find("\"sparse\":true"), std::string::npos)
        << state.value().engine_state;
    for (const GenerationSummary& generation : listed.value()) {
      for (const int others : {1, 3, 7}) {
        RunOptions again = options_for({}, ResumePolicy::kResume);
        again.read_swept_min_rows = options.read_swept_min_rows;
        again.checkpoint.generation = generation.name;
        const EngineOutcome resumed = run_engine(*program, facts, others, again, {}, disk->clone());
        ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
        EXPECT_EQ(essence(resumed), expected)
            << generation.name << " of " << ranks << " on " << others << " ranks";
      }
    }
  }
}

TEST(Restart, RandomProgramsInChains) {
  const std::uint64_t last = property_cases(40);
  const std::vector<int> ranks{2, 1, 3, 5};
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    const GeneratedProgram generated = ProgramGenerator(seed).generate();
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, generated.text));
    std::string problems;
    const auto program = compile_text(generated.text, problems);
    ASSERT_TRUE(program) << problems;
    const std::string expected = uninterrupted(*program, generated.fact_files);
    const std::vector<RunOptions> all = ways_to_run();
    check_chain(*program, generated.fact_files, ranks, {all[seed % 4], all[seed / 4 % 4]},
                expected);
    if (HasFailure()) return;
  }
}

TEST(Restart, KeepsOnlyAsManyGenerationsAsAsked) {
  const Sample sample = samples().front();
  std::string problems;
  const auto program = compile_text(sample.text, problems);
  ASSERT_TRUE(program) << problems;
  for (const std::uint32_t keep : {2U, 3U}) {
    const auto disk = std::make_shared<MemoryDisk>();
    RunOptions options = options_for({}, ResumePolicy::kFresh);
    options.checkpoint.writer.keep_generations = keep;
    const EngineOutcome outcome = run_engine(*program, sample.facts, 3, options, {}, disk);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    ASSERT_GT(outcome.report.checkpoints.size(), keep);
    const auto store = open_memory_store(disk);
    auto listed = list_generations(*store);
    ASSERT_TRUE(listed.is_ok());
    // Retired ones may stay as the files on which kept ones build.
    std::erase_if(listed.value(), [](const GenerationSummary& generation) {
      return generation.condition != GenerationCondition::kValid;
    });
    ASSERT_EQ(listed.value().size(), keep);
    // The older one is as good a start as the newest.
    options.checkpoint.resume = ResumePolicy::kResume;
    options.checkpoint.generation = listed.value().back().name;
    const EngineOutcome again = run_engine(*program, sample.facts, 2, options, {}, disk);
    ASSERT_TRUE(again.status.is_ok()) << again.status.to_string();
    EXPECT_EQ(again.report.resumed_from, listed.value().back().name);
    EXPECT_EQ(essence(again), essence(outcome));
  }
}

// Each stratum counts its own iterations: that an earlier one ended with the same number changes
// nothing.
TEST(Restart, CheckpointsAreDueByTheIterationsOfTheRunningStratum) {
  const std::string text =
      ".decl edge(x: number, y: number)\n.input edge\n"
      ".decl a(x: number)\na(0).\na(y) :- a(x), edge(x, y), x < 4.\n"
      ".decl b(x: number)\n.output b\nb(x) :- a(x), x = 0.\nb(y) :- b(x), edge(x, y).\n";
  std::string problems;
  const auto program = compile_text(text, problems);
  ASSERT_TRUE(program) << problems;
  RunOptions options = options_for({}, ResumePolicy::kFresh);
  options.checkpoint.every_iterations = 5;
  const auto disk = std::make_shared<MemoryDisk>();
  std::vector<std::uint64_t> saved;
  RunHooks hooks;
  hooks.progress = [&](const Progress& progress) {
    if (progress.phase == Phase::kCheckpointing) saved.push_back(progress.iteration);
  };
  const EngineOutcome outcome =
      run_engine(*program, {{"edge.facts", chain(9)}}, 2, options, hooks, disk);
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  // a: rounds 1..5, saved at 5; b: rounds 1..9, saved at 5; at the end.
  EXPECT_EQ(saved, (std::vector<std::uint64_t>{5, 5, 9}));
}

TEST(Restart, RefusesWhatItShould) {
  const Sample sample = samples().front();
  std::string problems;
  const auto program = compile_text(sample.text, problems);
  ASSERT_TRUE(program) << problems;
  const auto disk = std::make_shared<MemoryDisk>();
  const auto run = [&](ResumePolicy policy, const Program& what) {
    return run_engine(what, sample.facts, 2, options_for({}, policy), {}, disk);
  };
  EXPECT_EQ(run(ResumePolicy::kResume, *program).status.code(), StatusCode::kNotFound);
  const EngineOutcome first = run(ResumePolicy::kResumeOrFresh, *program);
  ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
  EXPECT_TRUE(first.report.resumed_from.empty());
  EXPECT_EQ(run(ResumePolicy::kFresh, *program).status.code(), StatusCode::kAlreadyExists);
  // The finished run is its own last checkpoint: nothing is left to do, the outputs are written
  // again.
  const EngineOutcome again = run(ResumePolicy::kResumeOrFresh, *program);
  EXPECT_FALSE(again.report.resumed_from.empty());
  EXPECT_EQ(essence(again), essence(first));
  const auto other = compile_text(samples()[2].text, problems);
  ASSERT_TRUE(other) << problems;
  EXPECT_EQ(run(ResumePolicy::kResume, *other).status.code(), StatusCode::kInvalidArgument);
  const EngineOutcome forced = run(ResumePolicy::kFreshForced, *program);
  EXPECT_TRUE(forced.report.resumed_from.empty());
  EXPECT_EQ(essence(forced), essence(first));
}

}  // namespace
}  // namespace stratalog::datalog
