// SPDX-License-Identifier: Apache-2.0
// The engine through its front door, on virtual ranks in memory: limits and errors that are
// everyone's, what the report and the hooks say, and corners that random programs do not reach
// (many columns, empty inputs, ranges at the edges).
#include "datalog/evaluate/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <set>

#include "property/engine_runner.h"
#include "write/faulty_store.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kClosure =
    ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n.output "
    "path\n"
    "path(x, y) :- edge(x, y).\npath(x, z) :- path(x, y), edge(y, z).\n";

std::string ring(int nodes) {
  std::string text;
  for (int i = 0; i < nodes; ++i) text += fmt::format("{}\t{}\n", i, (i + 1) % nodes);
  return text;
}

// The output of relation `out` at 1 and 3 ranks, which must be the same.
std::string output_of(const std::string& text, const FileTexts& facts = {},
                      const std::string& file = "out.csv") {
  const Program program = compiled(text);
  std::string first;
  for (const int ranks : {1, 3}) {
    const EngineOutcome outcome = run_engine(program, facts, ranks, {});
    EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    const auto found = outcome.files.find(file);
    if (found == outcome.files.end()) return "no file " + file;
    if (ranks == 1)
      first = found->second;
    else
      EXPECT_EQ(found->second, first) << "ranks differ";
  }
  return first;
}

TEST(Engine, MemoryLimitIsNoSpaceOnAllRanksAndLeavesTheCheckpoint) {
  const Program program = compiled(kClosure);
  const FileTexts facts{{"edge.facts", ring(1500)}};
  for (const bool pivot : {true, false}) {
    SCOPED_TRACE(pivot ? "pivot" : "rounds");
    RunOptions options;
    options.allow_pivot = pivot;
    options.mirror_limit_rows = 0;  // dealt from the start, so that the end needs most
    const EngineOutcome whole = run_engine(program, facts, 2, options);
    ASSERT_TRUE(whole.status.is_ok()) << whole.status.to_string();

    const auto disk = std::make_shared<MemoryDisk>();
    RunOptions limited = options;
    limited.memory_limit_bytes =
        whole.report.peak_memory_bytes * (pivot ? 14 : 15) / 32;  // a rank needs half of the peak
    limited.checkpoint.every_iterations = pivot ? 100 : 2;
    // run_engine checks that all ranks end with the same Status.
    const EngineOutcome stopped = run_engine(program, facts, 2, limited, {}, disk);
    ASSERT_EQ(stopped.status.code(), StatusCode::kNoSpace) << stopped.status.to_string();
    EXPECT_NE(stopped.status.message().find("memory limit"), std::string::npos)
        << stopped.status.message();
    EXPECT_TRUE(stopped.files.empty());

    RunOptions resumed = options;
    resumed.checkpoint.resume = ResumePolicy::kResume;
    const EngineOutcome outcome = run_engine(program, facts, 5, resumed, {}, disk);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_GT(outcome.report.resumed_iteration, 0U);
    EXPECT_EQ(outcome.files, whole.files);
  }
}

TEST(Engine, FailedCheckpointsAreInTheReport) {
  const Program program = compiled(kClosure);
  const FileTexts facts{{"edge.facts", ring(200)}};
  RunOptions options;
  options.allow_pivot = false;
  options.checkpoint.every_iterations = 50;
  for (const FaultSpan span : {FaultSpan::kOnce, FaultSpan::kPersistent}) {
    for (const int ranks : {1, 3}) {
      const auto counter = std::make_shared<FaultCounter>(
          FaultPlan{.fail_at = 40, .error_number = ENOSPC, .span = span});
      std::vector<std::string> failures;
      std::vector<std::string> notices;
      RunHooks hooks;
      hooks.failure = [&](const std::string& text) { failures.push_back(text); };
      hooks.notice = [&](const std::string& text) { notices.push_back(text); };
      // Only one rank's disk is full.
      std::atomic<bool> is_taken = false;
      const auto front = [&](Store& inner) {
        return open_faulty_store(
            inner, is_taken.exchange(true) ? std::make_shared<FaultCounter>(FaultPlan()) : counter);
      };
      const EngineOutcome outcome = run_engine(program, facts, ranks, options, hooks,
                                               std::make_shared<MemoryDisk>(), nullptr, front);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      EXPECT_TRUE(counter->has_fired());
      EXPECT_EQ(outcome.report.relations[1].rows, 200U * 200U);
      EXPECT_FALSE(outcome.files.empty()) << "outputs are written all the same";
      const auto& failed = outcome.report.failed_checkpoints;
      EXPECT_EQ(failures.size(), failed.size());
      for (const std::string& notice : notices)
        EXPECT_EQ(notice.find("failed"), std::string::npos) << notice;
      ASSERT_FALSE(failed.empty());
      for (const FailedCheckpoint& checkpoint : failed)
        EXPECT_EQ(checkpoint.status.code(), StatusCode::kNoSpace) << checkpoint.status.to_string();
      const FailedCheckpoint* missing = missing_checkpoint(outcome.report);
      if (span == FaultSpan::kOnce) {
        EXPECT_EQ(failed.size(), 1U);
        EXPECT_EQ(missing, nullptr) << "the last checkpoint holds the answer";
      } else {
        ASSERT_NE(missing, nullptr);
        EXPECT_EQ(missing->time, SaveTime::kAtEnd);
        EXPECT_EQ(failed.front().time, SaveTime::kOnTheWay);
      }
    }
  }
}

TEST(Engine, FollowingEdgesObeysTheMemoryLimit) {
  // Few facts, but 90,000 keys; and pivots for several blocks, so that slots are ordered before the
  // sweep begins.
  const Program program = compiled(
      ".decl step(a: number, b: number)\n.input step\n"
      ".decl at(a: number, b: number, who: number)\n"
      ".decl found(n: number)\n.output found\n"
      "at(w % 300, w % 299, w) :- w = range(0, 4000).\n"
      "at(c, b, w) :- at(a, b, w), step(a, c).\n"
      "at(a, c, w) :- at(a, b, w), step(b, c).\n"
      "found(count : { at(_, _, 7) }).\n");
  const FileTexts facts{{"step.facts", ring(300)}};
  for (const int ranks : {1, 3}) {
    RunOptions limited;
    limited.memory_limit_bytes = 2'000'000;
    const EngineOutcome stopped = run_engine(program, facts, ranks, limited);
    ASSERT_EQ(stopped.status.code(), StatusCode::kNoSpace) << stopped.status.to_string();
    EXPECT_NE(stopped.status.message().find("edges of a pivot recursion"), std::string::npos)
        << stopped.status.message();
    EXPECT_TRUE(stopped.files.empty());
  }
}

TEST(Engine, AnErrorOfOneRankIsEveryones) {
  // Only one rank has the row with the zero, in the first round or in a late one.
  const Program first = compiled(
      ".decl e(x: number)\n.input e\n.decl out(x: number)\n.output out\nout(100 / x) :- e(x).\n");
  const Program late = compiled(
      ".decl e(x: number)\n.input e\n.decl out(x: number)\n.output out\n"
      "out(20).\nout(x - 1) :- out(x), e(y), y < 3, 100 / x > 0.\n");
  std::string facts;
  for (int i = 0; i < 50; ++i) facts += fmt::format("{}\n", i);
  for (const int ranks : {1, 2, 5}) {
    RunOptions options;
    options.replicate_limit_rows = 0;
    const EngineOutcome one = run_engine(first, {{"e.facts", facts}}, ranks, options);
    EXPECT_EQ(one.status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(one.status.message().find("case.dl:5:1: division by zero"), std::string::npos)
        << one.status.message();
    const EngineOutcome two = run_engine(late, {{"e.facts", facts}}, ranks, options);
    EXPECT_EQ(two.status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(two.status.message().find("case.dl:6:"), std::string::npos) << two.status.message();
    EXPECT_TRUE(two.files.empty());
  }
}

TEST(Engine, FaultyFactsAreEveryonesErrorToo) {
  const EngineOutcome outcome =
      run_engine(compiled(kClosure), {{"edge.facts", "1\t2\n2\tx\n"}}, 3, {});
  EXPECT_EQ(outcome.status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(outcome.status.message().find("edge.facts:2"), std::string::npos)
      << outcome.status.message();
  EXPECT_EQ(run_engine(compiled(kClosure), {}, 3, {}).status.code(), StatusCode::kNotFound);
}

TEST(Engine, AggregatesInAggregates) {
  EXPECT_EQ(output_of(".decl e(x: number)\n.decl out(x: number)\n.output out\ne(1). e(5). e(9).\n"
                      "out(n) :- n = sum m : { e(x), m = count : { e(y), y <= x } }.\n"),
            "6\n");
}

TEST(Engine, ManyCheckpointsInOneStratum) {
  // More safe points than doublings fit into the 64 bits of a round count.
  RunOptions options;
  options.checkpoint.every_iterations = 1;
  const auto disk = std::make_shared<MemoryDisk>();
  const EngineOutcome outcome =
      run_engine(compiled(kClosure), {{"edge.facts", ring(70)}}, 2, options, {}, disk);
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  EXPECT_GE(outcome.report.checkpoints.size(), 69U);
}

TEST(Engine, EmptyInputsOnManyRanks) {
  const EngineOutcome outcome = run_engine(compiled(kClosure), {{"edge.facts", ""}}, 7, {});
  ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  EXPECT_EQ(outcome.files, (FileTexts{{"path.csv", ""}}));
  for (const StratumReport& stratum : outcome.report.strata) EXPECT_EQ(stratum.iterations, 0U);
  EXPECT_TRUE(run_engine(compiled(""), {}, 3, {}).status.is_ok()) << "the empty program";
}

TEST(Engine, ReportsSizesRoundsAndConsole) {
  const Program program =
      compiled(std::string(kClosure) +
               ".printsize path\n.printsize edge\n.decl go()\ngo().\n.output go(IO=stdout)\n");
  for (const int ranks : {1, 4}) {
    RunOptions options;
    options.keep_round_counts = true;
    const EngineOutcome outcome =
        run_engine(program, {{"edge.facts", "0\t1\n1\t2\n2\t3\n"}}, ranks, options);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    const RunReport& report = outcome.report;
    EXPECT_EQ(report.ranks, ranks);
    ASSERT_EQ(report.print_sizes.size(), 2U);
    std::map<std::string, std::uint64_t> sizes;
    for (const RelationSize& size : report.print_sizes) sizes[size.name] = size.rows;
    EXPECT_EQ(sizes, (std::map<std::string, std::uint64_t>{{"path", 6}, {"edge", 3}}));
    EXPECT_EQ(report.relations.size(), 3U);
    ASSERT_EQ(report.console.size(), 1U);
    EXPECT_NE(report.console[0].find("()"), std::string::npos) << report.console[0];
    bool met = false;
    for (const StratumReport& stratum : report.strata) {
      if (stratum.relations != "path") continue;
      met = true;
      EXPECT_EQ(stratum.iterations, 3U);
      EXPECT_EQ(stratum.tuples, 6U);
      EXPECT_EQ(stratum.new_tuples_per_round, (std::vector<std::uint64_t>{3, 2, 1}));
      EXPECT_EQ(stratum.strategy, Strategy::kPivot);
      if (ranks == 1) {
        EXPECT_EQ(stratum.exchanged_bytes, 0U);
      }
    }
    EXPECT_TRUE(met);
    EXPECT_GT(report.peak_memory_bytes, 0U);
    EXPECT_TRUE(report.resumed_from.empty());
  }
}

TEST(Engine, ProgressIsToldInOrder) {
  const Program program = compiled(kClosure);
  for (const bool pivot : {true, false}) {
    std::vector<Phase> phases;
    std::uint64_t iteration = 0;
    double loaded_after = 0;  // seconds
    Progress last;
    RunHooks hooks;
    hooks.progress = [&](const Progress& progress) {
      last = progress;
      if (progress.phase == Phase::kLoading) loaded_after = progress.elapsed_seconds;
      if (progress.phase == Phase::kEvaluating) {
        EXPECT_GT(progress.stratum_seconds, 0);
        EXPECT_LE(progress.stratum_seconds, progress.elapsed_seconds - loaded_after);
      }
      if (phases.empty() || phases.back() != progress.phase) phases.push_back(progress.phase);
      if (progress.phase != Phase::kEvaluating || progress.relations != "path") return;
      EXPECT_GE(progress.iteration, iteration);
      iteration = progress.iteration;
    };
    RunOptions options;
    options.allow_pivot = pivot;
    const EngineOutcome outcome =
        run_engine(program, {{"edge.facts", ring(40)}}, 3, options, hooks);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(phases, (std::vector<Phase>{Phase::kLoading, Phase::kEvaluating, Phase::kOutput}));
    if (!pivot) {
      EXPECT_EQ(iteration, 40U);
    }
    EXPECT_EQ(last.phase, Phase::kOutput);
    EXPECT_EQ(last.memory_bytes, outcome.report.peak_memory_bytes);
    EXPECT_GT(last.memory_bytes, 0U);
    EXPECT_GT(last.exchanged_bytes, 0U);
    EXPECT_EQ(last.checkpoints, 0U);

    iteration = 0;
    options.checkpoint.every_iterations = 10;
    const EngineOutcome saved = run_engine(program, {{"edge.facts", ring(40)}}, 3, options, hooks,
                                           std::make_shared<MemoryDisk>());
    ASSERT_TRUE(saved.status.is_ok()) << saved.status.to_string();
    EXPECT_EQ(last.phase, Phase::kOutput);
    EXPECT_EQ(last.checkpoints, saved.report.checkpoints.size());
    EXPECT_GT(last.checkpoint_seconds, 0);
  }
}

// Of thousands of thin rounds few have a safe point, or are timed; all count, and the last one is
// told.
TEST(Engine, ThinRoundsPassBetweenSafePoints) {
  constexpr std::uint64_t kRounds = 30000;
  const Program program = compiled(
      fmt::format(".decl n(x: number)\nn(0).\nn(x + 1) :- n(x), x < {}.\n.printsize n\n", kRounds));
  for (const int ranks : {1, 2}) {
    std::uint64_t asked = 0;
    std::uint64_t told = 0;
    Progress last;
    RunHooks hooks;
    hooks.stop_requested = [&] {
      ++asked;
      return StopRequest::kNone;
    };
    hooks.progress = [&](const Progress& progress) {
      if (progress.phase != Phase::kEvaluating) return;
      ++told;
      last = progress;
    };
    const EngineOutcome outcome = run_engine(program, {}, ranks, {}, hooks);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    ASSERT_EQ(outcome.report.print_sizes.front().rows, kRounds + 1);
    EXPECT_EQ(last.iteration, kRounds + 1);
    EXPECT_EQ(last.total_tuples, kRounds + 1);
    EXPECT_GT(asked, 3U);
    EXPECT_LT(asked, kRounds / 10);
    EXPECT_LT(told, kRounds / 10);
    const TimeBreakdown& times = outcome.report.times;
    EXPECT_GT(times.join, 0);
    EXPECT_GT(times.deduplicate, 0);
    EXPECT_LE(times.join + times.exchange + times.deduplicate, times.total * ranks * 1.01);
  }
}

// And checkpoints by rounds come at their rounds nevertheless.
TEST(Engine, ThinRoundsStopForCheckpoints) {
  const Program program =
      compiled(".decl n(x: number)\nn(0).\nn(x + 1) :- n(x), x < 1000.\n.output n\n");
  for (const int ranks : {1, 2}) {
    RunOptions options;
    options.checkpoint.every_iterations = 90;
    const auto disk = std::make_shared<MemoryDisk>();
    const EngineOutcome outcome = run_engine(program, {}, ranks, options, {}, disk);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(outcome.report.checkpoints.size(), 12U) << "11 on the way, one at the end";
  }
}

TEST(Engine, OneHeavyKeyIsJoinedOnSeveralRanks) {
  // Key 0 has 6,000 rows of `wide`, so that its bucket is split where relations stay dealt.
  const Program program = compiled(
      ".decl wide(k: number, v: number)\n.input wide\n.decl probe(k: number, t: number)\n.input "
      "probe\n"
      ".decl out(t: number, v: number)\n.output out\nout(t, v) :- probe(k, t), wide(k, v).\n"
      ".decl missing(t: number)\n.output missing\nmissing(t) :- probe(k, t), !wide(k, _).\n"
      ".decl closed(k: number, v: number)\n.output closed\nclosed(k, v) :- probe(k, v).\n"
      "closed(k, v) :- closed(k, w), wide(w, v).\n");
  std::string wide;
  for (int v = 0; v < 6000; ++v) wide += fmt::format("0\t{}\n", v);
  for (int k = 1; k < 200; ++k) wide += fmt::format("{}\t{}\n", k, k);
  std::string probe = "0\t1\n0\t0\n5\t2\n300\t3\n301\t4\n";
  std::string expected;
  for (int t = 0; t < 2; ++t)
    for (int v = 0; v < 6000; ++v) expected += fmt::format("{}\t{}\n", t, v);
  expected += "2\t5\n";
  std::string closed_at_one;
  for (const int ranks : {1, 2, 4, 7}) {
    RunOptions options;
    options.replicate_limit_rows = 0;
    const EngineOutcome outcome =
        run_engine(program, {{"wide.facts", wide}, {"probe.facts", probe}}, ranks, options);
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(outcome.files.at("out.csv"), expected) << ranks;
    EXPECT_EQ(outcome.files.at("missing.csv"), "3\n4\n") << ranks;
    if (ranks == 1) closed_at_one = outcome.files.at("closed.csv");
    EXPECT_EQ(outcome.files.at("closed.csv"), closed_at_one) << ranks;
    EXPECT_GT(closed_at_one.size(), 6000U);
  }
}

TEST(Engine, AsManyColumnsAsThereMayBe) {
  std::string attributes;
  std::string variables;
  std::string shifted;
  std::string line;
  for (int c = 0; c < 64; ++c) {
    attributes += fmt::format("{}c{}: number", c == 0 ? "" : ", ", c);
    variables += fmt::format("{}x{}", c == 0 ? "" : ", ", c);
    shifted += fmt::format("{}x{}", c == 0 ? "" : ", ", (c + 1) % 64);
    line += fmt::format("{}{}", c == 0 ? "" : "\t", c);
  }
  const std::string text = fmt::format(
      ".decl in({0})\n.input in\n.decl out({0})\n.output out\n.printsize out\nout({1}) :- "
      "in({1}).\nout({2}) :- out({1}).\n",
      attributes, variables, shifted);
  const std::string output = output_of(text, {{"in.facts", line + "\n"}});
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 64) << "all rotations";
  EXPECT_EQ(output.substr(0, line.size()), line);
}

TEST(Engine, Ranges) {
  const auto range = [](const std::string& arguments, const std::string& kind = "number") {
    std::string lines = output_of(
        fmt::format(".decl out(x: {})\n.output out\nout(x) :- x = range({}).\n", kind, arguments));
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    return lines;
  };
  EXPECT_EQ(range("0, 3"), "0 1 2 ");
  EXPECT_EQ(range("3, 0"), "1 2 3 ") << "downwards from 3, without 0";
  EXPECT_EQ(range("2, 2"), "");
  EXPECT_EQ(range("0, 10, 4"), "0 4 8 ");
  EXPECT_EQ(range("10, 0, -5"), "5 10 ");
  EXPECT_EQ(range("0, 10, -1"), "") << "a step away from the end";
  EXPECT_EQ(range("5, 9, 0"), "5 ");
  EXPECT_EQ(range("5, 5, 0"), "");
  EXPECT_EQ(range("9223372036854775805, 9223372036854775807"),
            "9223372036854775805 9223372036854775806 ");
  EXPECT_EQ(range("9223372036854775800, 9223372036854775807, 5"),
            "9223372036854775800 9223372036854775805 ")
      << "stops where the numbers end";
  EXPECT_EQ(range("0.0, 1.0, 0.25", "float"), "0 0.25 0.5 0.75 ");
  EXPECT_EQ(range("2u, 5u", "unsigned"), "2 3 4 ");
}

TEST(Engine, AggregatesOfNothingAndOfEverything) {
  const std::string start =
      ".decl none(x: number)\n.decl e(x: number, y: number)\ne(1, 10). e(1, 20). e(2, 10). e(3, "
      "-5).\n"
      ".decl out(what: symbol, n: number)\n.output out\n";
  EXPECT_EQ(output_of(start + "out(\"count\", n) :- n = count : { none(_) }.\nout(\"sum\", n) :- n "
                              "= sum x : { none(x) }.\n"
                              "out(\"min\", n) :- n = min x : { none(x) }.\nout(\"max\", n) :- n = "
                              "max x : { none(x) }.\n"),
            "count\t0\nsum\t0\n");
  // Equal values of different tuples count each.
  EXPECT_EQ(output_of(start + "out(\"count\", n) :- n = count : { e(_, _) }.\nout(\"sum\", n) :- n "
                              "= sum y : { e(_, y) }.\n"
                              "out(\"min\", n) :- n = min y : { e(_, y) }.\nout(\"max\", n) :- n = "
                              "max y : { e(_, y) }.\n"
                              "out(\"pairs\", n) :- n = count : { e(_, y), e(x, y) }.\n"),
            "count\t4\nmax\t20\nmin\t-5\npairs\t4\nsum\t35\n");
  // Grouped by an outer variable.
  EXPECT_EQ(output_of(start + "out(to_string(x), n) :- e(x, _), n = sum y : { e(x, y) }.\n"),
            "1\t30\n2\t10\n3\t-5\n");
}

TEST(Engine, GuardsKeepErrorsAwayWhereverTheyStand) {
  EXPECT_EQ(output_of(".decl e(x: number)\n.decl out(x: number)\n.output out\ne(0). e(1). e(5).\n"
                      "out(y) :- e(x), y = 10 / x, x != 0.\n"),
            "2\n10\n");
}

// Rules that begin with constants: in rounds of few new tuples they are looked at first, by columns
// of the prefix and of the set, and in rounds of many they are not.
TEST(Engine, RulesWhoseConstantsNoNewTupleHas) {
  const Program program = compiled(
      ".decl s(x: number, n: number)\n.output s\n"
      "s(0, 0).\ns(1, n) :- s(0, n).\ns(2, n) :- s(1, n).\ns(0, n + 1) :- s(2, n), n < 50.\n"
      "s(9, x) :- s(x, 7), x = 2.\ns(8, x) :- s(x, 77).\ns(7, n) :- s(6, n).\n"
      "s(3, m) :- s(2, 10), m = range(0, 20).\ns(4, m) :- s(3, m), m < 5.\n"
      "s(5, m) :- s(4, 3), m = 1.\n");
  std::string expected;
  for (int x = 0; x < 3; ++x)
    for (int n = 0; n <= 50; ++n) expected += fmt::format("{}\t{}\n", x, n);
  for (int m = 0; m < 20; ++m) expected += fmt::format("3\t{}\n", m);
  for (int m = 0; m < 5; ++m) expected += fmt::format("4\t{}\n", m);
  expected += "5\t1\n9\t2\n";
  const auto lines_of = [](const std::string& text) {
    std::multiset<std::string> lines;
    for (std::size_t from = 0; from < text.size(); from = text.find('\n', from) + 1)
      lines.insert(text.substr(from, text.find('\n', from) - from));
    return lines;
  };
  for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
    for (const int ranks : {1, 2, 3})
      for (const bool sets : {false, true})
        for (const std::uint64_t mirror_limit : {0U, 100000U}) {
          RunOptions options;
          options.allow_sets = sets;
          options.mirror_limit_rows = mirror_limit;
          const EngineOutcome outcome =
              run_engine(program, {}, ranks, options, {}, {}, nullptr, {}, space);
          ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
          EXPECT_EQ(lines_of(outcome.files.at("s.csv")), lines_of(expected)) << ranks;
        }
}

}  // namespace
}  // namespace stratalog::datalog
