// SPDX-License-Identifier: Apache-2.0
// Seeds of strata that run by pivot: those that are rows of relations which each rank has a copy of
// do not travel, others do, and the answers are the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stratalog::datalog
