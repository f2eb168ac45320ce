// SPDX-License-Identifier: Apache-2.0
// Equivalence relations that are dealt to the ranks, from the start or in the middle of a
// recursion, are what they are whole on one rank: in searches by either column, delta and negation,
// crossed, counted, under pivots, in congruences; and what a checkpoint has of them goes on
// anywhere.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "model/multiset_hash.h"
#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kProgram = R"(
.decl pair(x: number, y: number)
.decl edge(x: number, y: number)
.decl mark(x: number)
.decl app(a: number, f: number, x: number)
.input pair, edge, mark, app

.decl same(x: number, y: number) eqrel
same(x, y) :- pair(x, y).
same(x, z) :- same(x, y), edge(y, z), mark(y).
same(a, b) :- app(a, f, x), app(b, f, y), same(x, y).

.decl linked(x: number, y: number) eqrel
linked(x, y) :- edge(x, y), same(x, y).
linked(x, x) :- mark(x).
linked(x, z) :- linked(x, y), same(y, z), !edge(x, z).

.decl first(x: number, y: number)
first(x, y) :- mark(x), same(x, y).
.decl second(x: number, y: number)
second(x, y) :- mark(y), linked(x, y).
.decl apart(x: number, y: number)
apart(x, y) :- mark(x), mark(y), !same(x, y).
.decl alone(x: number)
alone(x) :- edge(x, _), !same(x, _).
.decl has(x: number)
has(x) :- mark(x), linked(x, _).
.decl crossed(x: number, y: number, z: number)
crossed(x, y, z) :- mark(z), z < 12, same(x, y), x < y.
.decl both(x: number, y: number)
both(x, y) :- same(x, y), linked(x, y).
.decl fixed(y: number)
fixed(y) :- same(3, y).
.decl size(n: number)
size(n) :- n = count : { same(_, _) }.
.decl sizes(x: number, n: number)
sizes(x, n) :- mark(x), n = count : { linked(x, _) }.
.decl reach(x: number, y: number)
reach(x, y) :- edge(x, y), mark(x).
reach(x, z) :- reach(x, y), linked(y, z).
.output same, linked, first, second, apart, alone, has, crossed, both, fixed, size, sizes, reach
)";

FileTexts random_facts(std::uint64_t seed) {
  std::uint64_t state = splitmix64(seed);
  const std::uint64_t nodes = 8 + (state % 3 == 0 ? 60 : 24);
  const auto draw = [&] { return (state = splitmix64(state + 1)) % nodes; };
  FileTexts facts;
  for (std::uint64_t i = 0; i < nodes / (1 + seed % 4); ++i)
    facts["pair.facts"] += fmt::format("{}\t{}\n", draw(), draw());
  for (std::uint64_t i = 0; i < nodes; ++i)
    facts["edge.facts"] += fmt::format("{}\t{}\n", draw(), draw());
  for (std::uint64_t i = 0; i < nodes / 3; ++i) facts["mark.facts"] += fmt::format("{}\n", draw());
  for (std::uint64_t i = 0; i < nodes / 2; ++i)
    facts["app.facts"] += fmt::format("{}\t{}\t{}\n", draw(), i % 3, draw());
  facts["pair.facts"] += "";
  return facts;
}

std::vector<RunOptions> ways(std::uint64_t seed) {
  RunOptions dealt;
  dealt.deal_equivalence_from = 0;
  RunOptions hops = hop_options();
  hops.deal_equivalence_from = seed % 2 == 0 ? 0 : 9;
  RunOptions later;
  later.deal_equivalence_from = 3 + (seed % 12);
  later.allow_sets = seed % 3 != 0;
  return {dealt, hops, later};
}

TEST(DealtEquivalence, IsTheSameAsOnOneRank) {
  std::string problems;
  const auto program = compile_text(kProgram, problems);
  ASSERT_TRUE(program) << problems;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const FileTexts facts = random_facts(seed);
    RunOptions whole;
    whole.keep_round_counts = true;
    const EngineOutcome expected = run_engine(*program, facts, 1, whole);
    ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
    for (RunOptions& way : ways(seed)) {
      way.keep_round_counts = true;
      for (const int ranks : {2, 3, 7})
        for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
          SCOPED_TRACE(fmt::format("seed {}, {} ranks, dealt from {}, {}", seed, ranks,
                                   way.deal_equivalence_from,
                                   space == AddressSpace::kShared ? "threads" : "processes"));
          const EngineOutcome found =
              run_engine(*program, facts, ranks, way, {}, nullptr, nullptr, {}, space);
          ASSERT_TRUE(found.status.is_ok()) << found.status.to_string();
          ASSERT_EQ(text_of(found.files), text_of(expected.files));
          for (std::size_t s = 0; s < found.report.strata.size(); ++s)
            ASSERT_EQ(found.report.strata[s].new_tuples_per_round,
                      expected.report.strata[s].new_tuples_per_round);
        }
    }
  }
}

TEST(DealtEquivalence, GoesOnFromAnyRoundOnOtherRanks) {
  std::string problems;
  const auto program = compile_text(kProgram, problems);
  ASSERT_TRUE(program) << problems;
  std::uint64_t resumed_within = 0;
  for (std::uint64_t seed = 100; seed < 107; ++seed) {
    const FileTexts facts = random_facts(seed);
    const EngineOutcome expected = run_engine(*program, facts, 1, {});
    for (RunOptions& way : ways(seed)) {
      const int ranks = 1 + static_cast<int>(seed % 4);
      way.checkpoint.every_iterations = 1;
      way.checkpoint.writer.keep_generations = 100;
      const auto disk = std::make_shared<MemoryDisk>();
      const EngineOutcome first = run_engine(*program, facts, ranks, way, {}, disk);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      ASSERT_EQ(text_of(first.files), text_of(expected.files));
      const auto listed = list_generations(*open_memory_store(disk));
      ASSERT_TRUE(listed.is_ok());
      for (const GenerationSummary& generation : listed.value()) {
        RunOptions again = way;
        again.checkpoint.resume = ResumePolicy::kResume;
        again.checkpoint.generation = generation.name;
        again.deal_equivalence_from = resumed_within % 3 == 0 ? ~std::uint64_t{0} : 0;
        const EngineOutcome resumed =
            run_engine(*program, facts, 1 + (ranks + 1) % 4, again, {}, disk->clone());
        ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
        ASSERT_EQ(text_of(resumed.files), text_of(expected.files))
            << "seed " << seed << ", " << generation.name << " of " << ranks << " ranks";
        ++resumed_within;
      }
    }
  }
  EXPECT_GT(resumed_within, 60U);
}

}  // namespace
}  // namespace stratalog::datalog
