// SPDX-License-Identifier: Apache-2.0
// Facts added to a finished run: the result is what a run from nothing with all facts gives, for
// random programs against the oracle and for programs with what the generator has not (eqrel,
// records, counters, choices), on other ranks than the first run, in several portions, and stopped
// and resumed at every safe point on the way. STRATALOG_PROPERTY_CASES sets the number of random
// programs.
#include <gtest/gtest.h>

#include <random>

#include "checkpoint/checkpoint.h"
#include "property/campaign_size.h"
#include "property/engine_runner.h"
#include "property/expected_outcome.h"
#include "property/program_generator.h"

namespace stratalog::datalog {
namespace {

using Portions = std::vector<FileTexts>;  // the first is what the run began with

RunOptions options_for(const RunOptions& way, ResumePolicy resume) {
  RunOptions options = way;
  options.checkpoint.every_iterations = 1;
  options.checkpoint.resume = resume;
  return options;
}

std::vector<RunOptions> ways_to_run() {
  RunOptions usual;
  usual.sweep_anew_min_rows = 4;
  usual.restore_round_bytes = 100;
  RunOptions tuples;
  tuples.allow_pivot = false;
  tuples.allow_sets = false;
  tuples.replicate_limit_rows = 4;
  tuples.mirror_limit_rows = 30;  // dealt in the middle of the run
  tuples.rebalance_min_rows = 3;
  RunOptions little = usual;  // most recursions run by rounds
  little.guess_growth_min_seeds = 0;
  return {usual, hop_options(), tuples, little};
}

// Each line of each file goes to some portion. Files that have no line in a portion are there or
// not, except at the beginning.
Portions dealt(const FileTexts& files, std::size_t portions, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Portions result(portions);
  for (const auto& [name, text] : files) {
    for (std::size_t p = 0; p < portions; ++p)
      if (p == 0 || random() % 4 == 0) result[p][name] = "";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      // Now and then a tuple that is known is added again.
      for (int copies = random() % 8 == 0 ? 2 : 1; copies > 0; --copies)
        result[random() % portions][name] += line + "\n";
    }
  }
  return result;
}

FileTexts all_of(const Portions& portions) {
  FileTexts all;
  for (const FileTexts& portion : portions)
    for (const auto& [name, text] : portion) all[name] += text;
  return all;
}

// One run after the other on the given ranks, taken in turn. With `stop_at` above 0, every run that
// adds facts is stopped at that safe point, and so are those that go on from there.
EngineOutcome run_portions(const Program& program, const Portions& portions,
                           const std::vector<int>& ranks, const RunOptions& way,
                           std::uint64_t stop_at = 0) {
  const auto disk = std::make_shared<MemoryDisk>();
  std::size_t turn = 0;
  const auto next = [&] { return ranks[turn++ % ranks.size()]; };
  EngineOutcome outcome =
      run_engine(program, portions[0], next(), options_for(way, ResumePolicy::kFresh), {}, disk);
  for (std::size_t p = 1; p < portions.size() && outcome.status.is_ok(); ++p) {
    if (portions[p].empty()) continue;
    const FileTexts* added = &portions[p];
    for (bool is_done = false; !is_done && outcome.status.is_ok(); added = nullptr) {
      std::uint64_t polls = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++polls == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      outcome = run_engine(program, {}, next(), options_for(way, ResumePolicy::kResume), hooks,
                           disk, added);
      is_done = !outcome.report.stopped_early;
      if (turn > 500) ADD_FAILURE() << "no end";
      if (turn > 500) return outcome;
    }
  }
  return outcome;
}

TEST(AddedFacts, RandomProgramsAgainstTheOracle) {
  const std::uint64_t last = property_cases(250);
  const std::vector<std::vector<int>> ranks{{1, 1, 1}, {2, 2, 3}, {1, 3, 2}, {3, 1, 4}, {4, 2, 4}};
  std::uint64_t added = 0;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= last; ++seed) {
    const GeneratedProgram generated = ProgramGenerator(seed).generate();
    if (generated.fact_files.empty()) continue;
    const Portions portions = dealt(generated.fact_files, 2 + (seed % 2), seed);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, generated.text));
    std::string problems;
    const auto program = compile_text(generated.text, problems);
    ASSERT_TRUE(program) << problems;
    std::optional<Expected> expected;
    try {
      oracle::Oracle oracle(*program, parse_facts(*program, all_of(portions)), 60'000);
      expected = expectation_of(*program, oracle.run());
    } catch (const oracle::GaveUp&) {
      continue;
    }
    const EngineOutcome outcome =
        run_portions(*program, portions, ranks[seed % ranks.size()],
                     ways_to_run()[seed % ways_to_run().size()], seed % 7 == 0 ? 2 : 0);
    if (outcome.status.code() == StatusCode::kNotSupported) {
      ++refused;
      continue;
    }
    ASSERT_EQ(difference_of_relations(*expected, outcome), "");
    ++added;
  }
  RecordProperty("added", static_cast<int>(added));
  EXPECT_GT(added, refused);
}

struct Sample {
  std::string name;
  std::string text;
  Portions portions;
};

std::vector<Sample> samples() {
  const std::string path =
      ".decl edge(x: number, y: number)\n.input edge\n.decl path(x: number, y: number)\n"
      ".output path\npath(x, y) :- edge(x, y).\n";
  const Portions edges{{{"edge.facts", "1\t2\n2\t3\n4\t5\n"}},
                       {{"edge.facts", "3\t4\n5\t9000000000\n"}},
                       {{"edge.facts", "9000000000\t1\n7\t8\n1\t2\n"}}};
  return {
      {.name = "decomposable recursion goes on by rounds",
       .text = path + "path(x, z) :- path(x, y), edge(y, z).\n",
       .portions = edges},
      {.name = "what was not decided is found again, what was decided stays",
       .text = path + "path(x, z) :- path(x, y), path(y, z).\n"
                      ".decl apart(x: number, y: number)\n.output apart\n"
                      "apart(x, y) :- edge(x, _), edge(_, y), !path(x, y).\n"
                      ".decl ends(x: number, n: number)\n.output ends\n"
                      "ends(x, n) :- edge(x, _), n = count : { path(x, _) }.\n"
                      ".decl far(x: number)\n.output far\n"
                      "far(x) :- apart(x, _).\nfar(y) :- far(x), edge(x, y).\n"
                      ".decl known(x: number)\n.input known\n.output known\n",
       .portions = {{{"edge.facts", "1\t2\n2\t3\n4\t5\n"}, {"known.facts", "1\n"}},
                    {{"edge.facts", "3\t4\n"}},
                    {{"known.facts", "4\n"}},
                    {{"edge.facts", "6\t1\n5\t6\n"}}}},
      {.name = "equivalence",
       .text = ".decl same(x: symbol, y: symbol) eqrel\n.output same\n"
               ".decl link(x: symbol, y: symbol)\n.input link\n"
               "same(x, y) :- link(x, y).\nsame(x, z) :- same(x, y), jump(y, z).\n"
               ".decl jump(x: symbol, y: symbol)\n.input jump\n"
               ".decl pairs(x: symbol)\n.output pairs\npairs(x) :- same(x, \"a\").\n",
       .portions = {{{"link.facts", "a\tb\nc\td\n"}, {"jump.facts", "x\ty\n"}},
                    {{"link.facts", "d\tx\nnew\tnewer\n"}},
                    {{"jump.facts", "b\tc\n"}, {"link.facts", "newer\tnewest\n"}}}},
      {.name = "records, texts and nullary relations",
       .text = ".type List = [head: symbol, tail: List]\n.decl word(s: symbol)\n.input word\n"
               ".decl list(l: List, n: number)\n.output list\nlist(nil, 0).\n"
               "list([s, l], n + 1) :- list(l, n), word(s), n < 2.\n"
               ".decl go()\n.input go\n.decl gone(s: symbol)\n.output gone\n"
               "gone(cat(s, \"!\")) :- go(), word(s).\n",
       .portions = {{{"word.facts", "a\nb\n"}, {"go.facts", ""}},
                    {{"word.facts", "c\n"}},
                    {{"go.facts", "()\n"}, {"word.facts", "a\n"}},
                    {{"word.facts", "dd\n"}}}},
      {.name = "counters, choices, limits, subsumption and passes start over",
       .text = path + "path(x, z) :- path(x, y), edge(y, z).\n"
                      ".decl id(x: number, y: number, n: number)\n.output id\n"
                      "id(x, y, autoinc()) :- path(x, y).\n"
                      ".decl first(x: number, y: number) choice-domain x\n.output first\n"
                      "first(x, y) :- path(x, y).\n"
                      ".decl best(x: number, y: number) btree_delete\n.output best\n"
                      "best(x, y) :- path(x, y).\nbest(x, y) <= best(x, z) :- y < z.\n"
                      ".decl pass(x: number, n: unsigned)\n.output pass\n"
                      "pass(1, 0).\n"
                      "pass(y, recursive_iteration_cnt()) :- pass(x, _), edge(x, y), "
                      "recursive_iteration_cnt() < 3.\n",
       .portions = edges},
      {.name = "lattices and sums in recursion go on, what a better value takes back starts over",
       .text = ".type Length <: number\n"
               ".lattice Length<> { Bottom -> 1000, Lub -> min(_, _), Glb -> max(_, _) }\n"
               ".type Bits <: number\n.lattice Bits<> { Bottom -> 0, Lub -> _ bor _, Glb -> _ band "
               "_ }\n"
               ".decl edge(x: number, y: number, w: number)\n.input edge\n"
               ".decl far(x: number, y: number, d: Length<>)\n.output far\n"
               "far(x, y, as(w, Length)) :- edge(x, y, w).\n"
               "far(x, z, d + w) :- far(x, y, d), edge(y, z, w).\n"
               ".decl near(x: number, y: number)\n.output near\nnear(x, y) :- far(x, y, 4).\n"
               ".decl set(x: number, s: Bits<>)\n.input set\n.output set\n"
               "set(y, s) :- set(x, s), near(x, y).\n"
               ".decl held(x: number)\n.input held\n.output held\n"
               "held(y) :- edge(_, y, _), sum w : { held(x), edge(x, y, w) } > 4.\n"
               ".decl odd(x: number, d: number)\n.output odd\n"
               "odd(x, d) :- far(x, _, d), d % 2 = 1.\n",
       .portions = {{{"edge.facts", "1\t2\t5\n2\t3\t5\n3\t4\t2\n1\t3\t9\n"},
                     {"set.facts", "1\t1\n2\t6\n"},
                     {"held.facts", "1\n"}},
                    {{"edge.facts", "1\t2\t2\n4\t1\t1\n2\t4\t3\n"}, {"set.facts", "1\t8\n"}},
                    {{"held.facts", "3\n"}, {"edge.facts", "2\t3\t1\n3\t5\t3\n"}},
                    {{"set.facts", "5\t9000000000\n"}, {"edge.facts", "5\t2\t1\n"}}}},
  };
}

std::string essence(const EngineOutcome& outcome) {
  std::string text = outcome.status.to_string() + "\n" + text_of(outcome.files);
  for (const RelationSize& size : outcome.report.relations)
    text += fmt::format("{}: {} rows\n", size.name, size.rows);
  return text;
}

TEST(AddedFacts, StoppedAtEachSafePointAndResumedOnOtherRanks) {
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    std::string problems;
    const auto program = compile_text(sample.text, problems);
    ASSERT_TRUE(program) << problems;
    const std::string expected =
        essence(run_engine(*program, all_of(sample.portions), 1, RunOptions()));
    for (const RunOptions& way : ways_to_run())
      for (const std::uint64_t stop_at : {0U, 1U, 2U, 3U}) {
        // The first safe point after a restart is the one that was stopped at.
        const std::uint64_t stop = stop_at == 1 ? 0 : stop_at;
        SCOPED_TRACE(fmt::format("stopped at safe point {}, replicate_limit_rows {}", stop,
                                 way.replicate_limit_rows));
        const std::vector<int> ranks =
            stop_at == 0 ? std::vector<int>{1} : std::vector<int>{2, 3, 2, 1, 4, 7};
        EXPECT_EQ(essence(run_portions(*program, sample.portions, ranks, way, stop)), expected);
        if (HasFailure()) return;
      }
  }
}

class OnClosure : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string problems;
    program_ = compile_text(samples().front().text, problems);
    ASSERT_TRUE(program_) << problems;
  }

  EngineOutcome run(ResumePolicy policy, const FileTexts* added, std::uint64_t stop_at = 0) {
    std::uint64_t polls = 0;
    RunHooks hooks;
    hooks.stop_requested = [&] {
      return ++polls == stop_at ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
    };
    hooks.notice = [&](const std::string& line) { notices_ += line + "\n"; };
    return run_engine(*program_, {{"edge.facts", "1\t2\n2\t3\n"}}, 2, options_for({}, policy),
                      hooks, disk_, added);
  }

  std::optional<Program> program_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  FileTexts more_{{"edge.facts", "3\t4\n4\t5\n"}};
  std::string notices_;
};

TEST_F(OnClosure, OnlyFinishedRunsTakeFacts) {
  EXPECT_EQ(run(ResumePolicy::kResume, &more_).status.code(), StatusCode::kNotFound);
  EXPECT_EQ(run(ResumePolicy::kFresh, &more_).status.code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(run(ResumePolicy::kFresh, nullptr, 2).report.stopped_early);
  const EngineOutcome early = run(ResumePolicy::kResume, &more_);
  EXPECT_EQ(early.status.code(), StatusCode::kAlreadyExists) << early.status.to_string();
  EXPECT_NE(early.status.message().find("not finished"), std::string::npos);
  ASSERT_TRUE(run(ResumePolicy::kResume, nullptr).status.is_ok());
  ASSERT_TRUE(run(ResumePolicy::kResume, &more_, 2).report.stopped_early);
  const EngineOutcome twice = run(ResumePolicy::kResume, &more_);
  EXPECT_EQ(twice.status.code(), StatusCode::kAlreadyExists) << twice.status.to_string();
  EXPECT_NE(twice.status.message().find("were being added"), std::string::npos);
  const EngineOutcome ended = run(ResumePolicy::kResume, nullptr);
  ASSERT_TRUE(ended.status.is_ok()) << ended.status.to_string();
  EXPECT_EQ(ended.report.relations[1].rows, 10U);
}

TEST_F(OnClosure, TheCheckpointTellsWhatWasAdded) {
  ASSERT_TRUE(run(ResumePolicy::kFresh, nullptr).status.is_ok());
  ASSERT_TRUE(run(ResumePolicy::kResume, &more_).status.is_ok());
  const auto store = open_memory_store(disk_);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  const auto state = inspect_generation(*store, listed.value()[0].name);
  ASSERT_TRUE(state.is_ok());
  const std::string& json = state.value().engine_state;
  EXPECT_NE(json.find(R"("adding":false)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("facts":[{"relation":"edge","rows":2}])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("continued":[0,1])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("strata_done":[0,1])"), std::string::npos) << json;
  EXPECT_EQ(json.find(R"("stratum":)"), std::string::npos) << json;
}

TEST_F(OnClosure, FoldersWithoutFactsOfTheProgram) {
  ASSERT_TRUE(run(ResumePolicy::kFresh, nullptr).status.is_ok());
  const FileTexts strange{{"edges.facts", "1\t2\n"}};
  const EngineOutcome none = run(ResumePolicy::kResume, &strange);
  EXPECT_EQ(none.status.code(), StatusCode::kNotFound) << none.status.to_string();
  EXPECT_NE(none.status.message().find("edge.facts"), std::string::npos);
  more_["edges.facts"] = "1\t2\n";
  EXPECT_TRUE(run(ResumePolicy::kResume, &more_).status.is_ok());
  EXPECT_NE(notices_.find("edges.facts belongs to no .input"), std::string::npos) << notices_;
  EXPECT_NE(notices_.find("going on: edge, path"), std::string::npos) << notices_;
  const FileTexts malformed{{"edge.facts", "1\t2\nx\t3\n"}};
  const EngineOutcome wrong = run(ResumePolicy::kResume, &malformed);
  EXPECT_EQ(wrong.status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(wrong.status.message().find("edge.facts:2"), std::string::npos);
  // Nothing has happened to the checkpoint.
  EXPECT_EQ(run(ResumePolicy::kResume, nullptr).report.relations[1].rows, 10U);
}

}  // namespace
}  // namespace stratalog::datalog
