// SPDX-License-Identifier: Apache-2.0
// Aggregates over relations that are too large to be copied to all ranks: the same answers wherever
// they are evaluated, and what they read stays where it lies.
#include "datalog/evaluate/aggregate_place.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

FileTexts facts_to_fold() {
  std::mt19937_64 random(5);
  std::string links;
  std::string asked;
  for (int i = 0; i < 9000; ++i)
    links += fmt::format("{}\t{}\t{}\n", random() % 300, random() % 300, random() % 5);
  for (int i = 0; i < 40; ++i) asked += fmt::format("{}\t{}\n", random() % 320, random() % 320);
  return {{"link.facts", links}, {"asked.facts", asked}};
}

constexpr const char* kRead =
    ".decl link(x: number, y: number, k: number)\n.input link\n"
    ".decl asked(x: number, y: number)\n.input asked\n";

EngineOutcome fold(const Program& program, int ranks, bool is_copied,
                   AddressSpace space = AddressSpace::kSeparate) {
  RunOptions options;
  if (!is_copied) options.replicate_limit_rows = 0;
  return run_engine(program, facts_to_fold(), ranks, options, {}, nullptr, nullptr, {}, space);
}

TEST(AggregatePlace, ChangesNoAnswer) {
  const Program program = compiled(
      fmt::format("{}.decl t(c: number, x: number, n: number)\n.output t\n"
                  ".decl h(x: number, f: float)\n.output h\n"
                  ".decl loop(x: number)\nloop(x) :- link(x, x, _).\n"
                  "t(0, x, n) :- asked(x, _), n = count : {{ link(x, _, _) }}.\n"
                  "t(1, y, n) :- asked(_, y), n = sum x + k : {{ link(x, y, k), x != k }}.\n"
                  "t(2, x, n) :- asked(x, y), n = max k * 7 : {{ link(x, y, k) }}.\n"
                  "t(3, 0, n) :- n = count : {{ link(_, _, _) }}.\n"
                  "t(4, 0, n) :- n = min x : {{ link(x, y, 3), y > 290 }}.\n"
                  "t(5, x, n) :- asked(x, y), n = count : {{ link(x, z, _), link(z, y, 1) }}.\n"
                  "t(6, x, n) :- asked(x, y), n = count : {{ asked(x, z), !link(z, y, 1) }}.\n"
                  "t(7, x, n) :- asked(x, _), n = count : {{ link(x, z, _), !link(z, x, _) }}.\n"
                  "t(8, x, n + m) :- asked(x, y), n = count : {{ link(x, _, 2) }}, n > 2,\n"
                  "  m = sum z : {{ link(z, y, 2), loop(z) }}.\n"
                  "t(9, x, n) :- asked(x, _), n = sum c : {{ link(x, y, _),\n"
                  "  c = count : {{ link(y, _, 4) }} }}.\n"
                  "h(x, m) :- asked(x, _), m = mean to_float(y) : {{ link(x, y, _) }}.\n"
                  "h(y, m) :- asked(_, y), m = max to_float(x) / 2 : {{ link(x, y, _) }}.\n",
                  kRead));
  const EngineOutcome expected = fold(program, 1, true);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  ASSERT_GT(expected.files.at("t.csv").size(), 1500U);
  for (const int ranks : {2, 3, 7})
    for (const bool is_copied : {false, true})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        SCOPED_TRACE(fmt::format("{} ranks, copied {}, threads {}", ranks, is_copied,
                                 space == AddressSpace::kShared));
        const EngineOutcome outcome = fold(program, ranks, is_copied, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files, expected.files);
      }
}

// Forty questions of each kind on several ranks against nine thousand tuples.
TEST(AggregatePlace, OnlyQuestionsAndAnswersTravel) {
  for (const char* rule : {"t(x, n) :- asked(x, _), n = count : { link(x, _, _) }.\n",
                           "t(x, n) :- asked(x, _), n = sum y : { link(y, z, k), z + k = x }.\n"}) {
    const Program program =
        compiled(fmt::format("{}.decl t(x: number, n: number)\n.output t\n{}", kRead, rule));
    for (const int ranks : {2, 3}) {
      const EngineOutcome copied = fold(program, ranks, true);
      const EngineOutcome direct = fold(program, ranks, false);
      EXPECT_EQ(direct.files, copied.files);
      const auto bytes = [](const EngineOutcome& outcome) {
        return outcome.report.strata.back().exchanged_bytes;
      };
      EXPECT_LT(4 * bytes(direct), bytes(copied)) << ranks << " ranks: " << rule;
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
