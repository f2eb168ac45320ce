// SPDX-License-Identifier: Apache-2.0
// Seeds of strata that run by pivot: those that are rows of relations which each rank has a copy of
// do not travel, others do, and the answers are the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

constexpr int kNodes = 3000;

struct SeedCase {
  const char* name;
  const char* rules;  // without recursion
  bool travels;
};

std::string closure_text(const SeedCase& seeds) {
  return fmt::format(
      ".decl e(x: number, y: number)\n.input e\n"
      ".decl kind(y: number, k: number)\n.input kind\n"
      ".decl p(w: number, x: number)\n.output p\n"
      "{}p(w, z) :- p(w, y), e(y, z).\n",
      seeds.rules);
}

FileTexts component_facts() {
  constexpr int kComponent = 17;
  std::string edges;
  std::string kinds;
  for (int i = 0; i < kNodes; ++i) {
    const int first = i - (i % kComponent);
    edges += fmt::format("{}\t{}\n", i, first + ((i + 1) % kComponent));
    if (i % 4 == 0) kinds += fmt::format("{}\t{}\n", i, i % 40);
  }
  return {{"e.facts", edges}, {"kind.facts", kinds}, {"p.facts", "3\t4\n2990\t2991\n"}};
}

TEST(PivotSeeds, RowsOfCopiesDoNotTravel) {
  const SeedCase cases[] = {
      {"all", "p(x, y) :- e(x, y).\n", false},
      {"some", "p(x, y) :- e(x, y), x < 1500, !kind(y, 8).\n", false},
      {"constants", "p(0, y) :- e(0, y).\np(x, 5) :- e(x, 6).\n", false},
      {"two rules", "p(x, y) :- e(x, y), x > 2000.\np(y, x) :- e(x, y), x < 100.\n", false},
      {"no seed", "p(x, y) :- e(x, y), x > y, x < 0.\n", false},
      {"a join", "p(x, z) :- e(x, y), e(y, z).\n", true},
      {"computed", "p(x - 1, y) :- e(x, y), x > 0.\n", true},
      {"a fact", "p(7, 8).\np(x, y) :- e(x, y).\n", true},
      {"facts of a file", ".input p\np(x, y) :- e(x, y).\n", true},
  };
  for (const SeedCase& one : cases) {
    const Program program = compiled(closure_text(one));
    RunOptions rounds;
    rounds.allow_pivot = false;
    const FileTexts expected = run_engine(program, component_facts(), 1, rounds).files;
    for (const std::uint64_t least : {std::uint64_t{0}, std::uint64_t{1} << 30})  // ordered, or not
      for (const int ranks : {2, 3, 7}) {
        SCOPED_TRACE(fmt::format("{}, {} ranks, ordered from {}", one.name, ranks, least));
        RunOptions options;
        options.order_slots_min_seeds = least;
        const EngineOutcome outcome = run_engine(program, component_facts(), ranks, options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected);
        const StratumReport& last = outcome.report.strata.back();
        EXPECT_EQ(last.strategy, Strategy::kPivot);
        // The stratum copies edges, and the join of seeds and the negation other rows.
        const auto others = static_cast<std::uint64_t>(ranks - 1);
        const std::uint64_t copies = (kNodes + kNodes / 4) * 2 * sizeof(Cell) * others;
        const std::uint64_t edges = kNodes * 2 * sizeof(Cell) * others;
        if (one.travels)  // at least to the owners of their pivots
          EXPECT_GT(last.exchanged_bytes, edges + (kNodes * 3));
        else
          EXPECT_LT(last.exchanged_bytes, copies + 4096U * others);
      }
  }
}

// Chains of so many edges, beside those that nothing goes on from.
FileTexts chain_facts(int chains, int length, int single) {
  std::string edges;
  int node = 0;
  for (int c = 0; c < chains; ++c, ++node)
    for (int i = 0; i < length; ++i, ++node) edges += fmt::format("{}\t{}\n", node, node + 1);
  for (int i = 0; i < single; ++i, node += 2) edges += fmt::format("{}\t{}\n", node, node + 1);
  return {{"e.facts", edges}, {"p.facts", "3\t4\n90\t91\n"}};
}

TEST(PivotSeeds, RecursionsThatDeriveLittleRunByRounds) {
  struct GrowthCase {
    const char* name;
    FileTexts facts;
    Strategy strategy;
  };
  const GrowthCase cases[] = {
      {"single edges", chain_facts(0, 0, 2000), Strategy::kSemiNaive},
      {"some chains", chain_facts(40, 8, 2000), Strategy::kSemiNaive},
      {"chains", chain_facts(200, 10, 0), Strategy::kPivot},
      {"one long chain", chain_facts(1, 300, 1200), Strategy::kPivot},
  };
  const Program program = compiled(closure_text({"", ".input p\np(x, y) :- e(x, y).\n", true}));
  for (const GrowthCase& one : cases)
    for (const int ranks : {1, 2, 3, 7})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        SCOPED_TRACE(fmt::format("{}, {} ranks", one.name, ranks));
        RunOptions options;
        options.keep_round_counts = true;
        options.guess_growth_min_seeds = ~std::uint64_t{0};
        const auto run = [&](const RunOptions& chosen) {
          return run_engine(program, one.facts, ranks, chosen, {}, nullptr, nullptr, {}, space);
        };
        const EngineOutcome expected = run(options);
        options.guess_growth_min_seeds = 1024;
        const EngineOutcome outcome = run(options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
        const StratumReport& last = outcome.report.strata.back();
        EXPECT_EQ(expected.report.strata.back().strategy, Strategy::kPivot);
        EXPECT_EQ(last.strategy, one.strategy);
        EXPECT_EQ(last.new_tuples_per_round, expected.report.strata.back().new_tuples_per_round);
      }
}

// x + y = r has as many (y, r) as tuples: a sweep by x would move each x by itself.
TEST(PivotSeeds, RecursionsWithAsManyKeysAsTuplesRunByRounds) {
  const std::string rules =
      ".decl n(x: number)\n.input n\n"
      ".decl s(x: number, y: number)\ns(x, x + 1) :- n(x), n(x + 1).\n"
      ".decl add(x: number, y: number, r: number)\n.output add\n"
      "add(x, 0, x) :- n(x).\n";
  const std::string sums = "add(x, y, r) :- s(py, y), add(x, py, pr), s(pr, r).\n";
  // All of the loop, from everywhere: a key for each pair, and a tuple for each pair and start.
  const std::string walks =
      ".decl loop(x: number, y: number)\nloop(x, y) :- s(x, y).\nloop(69, 0).\n"
      "add(x, y, r) :- add(x, py, pr), loop(py, y), s(pr, r).\n"
      "add(x, y, r) :- add(x, py, pr), loop(py, y), s(r, pr).\n";
  std::string numbers;
  for (int i = 0; i < 70; ++i) numbers += fmt::format("{}\n", i);
  const FileTexts facts{{"n.facts", numbers}};
  for (const auto& [text, strategy] : {std::pair(rules + sums, Strategy::kSemiNaive),
                                       std::pair(rules + walks, Strategy::kPivot)}) {
    const Program program = compiled(text);
    RunOptions rounds;
    rounds.allow_pivot = false;
    const EngineOutcome expected = run_engine(program, facts, 1, rounds);
    ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
    for (const int ranks : {1, 2, 3, 7})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        SCOPED_TRACE(fmt::format("{} ranks\n{}", ranks, text));
        RunOptions options;
        options.order_slots_min_seeds = 0;
        options.guess_growth_min_seeds = 0;
        const EngineOutcome outcome =
            run_engine(program, facts, ranks, options, {}, nullptr, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
        EXPECT_EQ(outcome.report.strata.back().strategy, strategy);
      }
  }
}

// Ranks have the rows of a relation that grew as copies in different orders: each must reach the
// rounds once.
TEST(PivotSeeds, RowsOfCopiesInAnyOrderReachTheRounds) {
  const Program program = compiled(
      ".decl e(x: number, y: number, k: number)\n.input e\n"
      "e(x, z, k) :- e(x, y, k), e(y, z, k).\n"
      ".decl p(x: number, y: number, k: number)\n.input p\n.output p\n"
      "p(x, y, k) :- e(x, y, k).\n"
      ".decl next(k: number, l: number)\n.input next\n"
      "p(x, y, l) :- p(x, y, k), next(k, l).\n");
  for (const int pairs : {10, 3000}) {
    std::string edges;
    for (int i = 0; i < pairs; ++i)
      edges +=
          fmt::format("{0}\t{1}\t{3}\n{1}\t{2}\t{3}\n", 3 * i, (3 * i) + 1, (3 * i) + 2, i % 7);
    const FileTexts facts{{"e.facts", edges}, {"p.facts", ""}, {"next.facts", "100\t101\n"}};
    RunOptions rounds;
    rounds.allow_pivot = false;
    const FileTexts expected = run_engine(program, facts, 1, rounds).files;
    for (const bool always : {true, false})  // by the sizes that a run goes by, or always
      for (const int ranks : {2, 3, 7}) {
        SCOPED_TRACE(fmt::format("{} pairs, {} ranks, looked at {}", pairs, ranks, always));
        RunOptions options;
        if (always) options.guess_growth_min_seeds = options.order_slots_min_seeds = 0;
        const EngineOutcome outcome = run_engine(program, facts, ranks, options);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected);
        EXPECT_EQ(outcome.report.strata.back().strategy,
                  always || pairs == 3000 ? Strategy::kSemiNaive : Strategy::kPivot);
      }
  }
}

// What was tried for a guess is not counted.
TEST(PivotSeeds, ProfilesOfGuessedGrowthCountWhatIsDerived) {
  const Program program = compiled(closure_text({"", "p(x, y) :- e(x, y).\n", true}));
  const FileTexts facts = chain_facts(40, 8, 2000);
  const auto rules_of = [&](bool allow_pivot) {
    RunOptions options;
    options.metering = Metering::kProfile;
    options.allow_pivot = allow_pivot;
    options.guess_growth_min_seeds = 0;
    const EngineOutcome outcome = run_engine(program, facts, 1, options);
    EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    EXPECT_EQ(outcome.report.strata.back().strategy, Strategy::kSemiNaive);
    return outcome.report.profile->rules;
  };
  const std::vector<ProfileRule> guessed = rules_of(true);
  const std::vector<ProfileRule> expected = rules_of(false);
  ASSERT_EQ(guessed.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(guessed[i].text, expected[i].text);
    EXPECT_EQ(guessed[i].evaluations, expected[i].evaluations) << expected[i].text;
    EXPECT_EQ(guessed[i].derivations, expected[i].derivations) << expected[i].text;
    // Seeds wait until the recursion takes them in.
    const bool makes_seeds = expected[i].delta.empty();
    EXPECT_EQ(guessed[i].new_tuples, makes_seeds ? std::nullopt : expected[i].new_tuples);
  }
}

}  // namespace
}  // namespace stratalog::datalog
