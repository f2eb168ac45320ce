// SPDX-License-Identifier: Apache-2.0
// Values that many rows have, as evaluation counts them: of facts, and of relations that are
// finished when the rules that join them begin. Join orders are the same at any number of ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "datalog/evaluate/index_sketch.h"
#include "property/engine_runner.h"
#include "relation/set_accumulator.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint32_t kPeople = 140'000;

// Every other person has no mail, and that is the number 0; the others have their own.
FileTexts people() {
  std::string person;
  std::string pair;
  for (std::uint32_t i = 0; i < kPeople; ++i) {
    person += fmt::format("{}\t{}\t{}\n", i, i % 2 == 0 ? 0 : kPeople + i, i % 7);
    if (i % 8 != 0) continue;
    pair += fmt::format("{}\t{}\n", i, (i * 13) % kPeople);
    for (std::uint32_t k = 1; k < 12; ++k) pair += fmt::format("{}\t{}\n", i, (i + k) % kPeople);
  }
  return {{"person.facts", person}, {"c.facts", pair}};
}

// How `score` is joined.
std::string order_in(const std::string& text, const FileTexts& facts, int ranks) {
  RunOptions options;
  options.metering = Metering::kProfile;
  const EngineOutcome outcome = run_engine(compiled(text), facts, ranks, options);
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  if (!outcome.report.profile) return "no profile";
  for (const ProfileRule& rule : outcome.report.profile->rules)
    if (rule.text.starts_with("score")) return rule.order;
  return "no rule";
}

std::string order_of(const std::string& rules, const FileTexts& facts, int ranks) {
  return order_in(
      ".decl person(x: number, mail: number, z: number)\n.input person\n"
      ".decl c(x: number, y: number)\n.input c\n"
      ".decl score(x: number, y: number)\n.printsize score\n" +
          rules,
      facts, ranks);
}

TEST(SkewedJoins, ValuesOfFactsAreCounted) {
  const FileTexts facts = people();
  const std::string same_mail = "score(x, y) :- c(x, y), person(x, m, _), person(y, m, _)";
  for (const int ranks : {1, 2, 3}) {
    EXPECT_EQ(order_of(same_mail + ".\n", facts, ranks),
              "scan person -> search c by (x) -> exists person by (x, mail)")
        << ranks;
    EXPECT_EQ(order_of(same_mail + ", m != 0.\n", facts, ranks),
              "scan person -> filter -> search person by (mail) -> intersect with c by (x)")
        << ranks;
  }
}

// Cities lie in one state of one country each: to know all three is to know the city. They stand in
// facts, and in a relation that is derived from them.
TEST(SkewedJoins, ColumnsThatOthersDetermineTellNothing) {
  std::string customer;
  std::string bought;
  for (std::uint32_t i = 0; i < 40'000; ++i) {
    const std::uint32_t city = i % 400;
    customer += fmt::format("{}\t{}\t{}\t{}\n", i, city / 100, city / 10, city);
    if (i % 4 == 0)
      bought += fmt::format("{}\t{}\n{}\t{}\n", i, i * 7 % 40'000, i, i * 11 % 40'000);
  }
  const FileTexts facts = {{"customer.facts", customer}, {"bought.facts", bought}};
  const std::string text =
      ".decl customer(i: number, country: number, state: number, city: number)\n.input customer\n"
      ".decl bought(i: number, j: number)\n.input bought\n"
      ".decl score(i: number, j: number)\n.printsize score\n";
  for (const int ranks : {1, 2, 3}) {
    EXPECT_EQ(order_in(text + "score(i, j) :- bought(i, j), customer(i, l, s, c), "
                              "customer(j, l, s, c).\n",
                       facts, ranks),
              "scan bought -> search customer by (i) -> intersect with customer by (country, "
              "state, city)")
        << ranks;
    EXPECT_EQ(
        order_in(text + ".decl lives(i: number, country: number, state: number, city: number)\n"
                        "lives(i, l, s, c) :- customer(i, l, s, c), i > 1.\n"
                        "score(i, j) :- bought(i, j), lives(i, l, s, c), lives(j, l, s, c).\n",
                 facts, ranks),
        "scan bought -> search lives by (i) -> intersect with lives by (country, state, city)")
        << ranks;
  }
}

// Of more rows than are looked at, that of the frequent value may not be among the others.
TEST(SkewedJoins, ValuesOfFinishedRelationsAreCounted) {
  constexpr Cell kOfOne = 10'000;
  for (Cell frequent = 70'000; frequent < 70'004; ++frequent) {
    Index index({1, 0}, {});
    for (Cell m = 0; m < kPeople; ++m) index.queue_tuple(std::array{m, m + 1}.data());
    for (Cell x = 0; x < kOfOne; ++x) index.queue_tuple(std::array{frequent, 3 * x}.data());
    SetAccumulator scratch;
    index.unite_queued(scratch, Freshness::kUnknown);
    index.advance(DeltaUse::kForgotten);
    ASSERT_EQ(index.row_count(), kPeople);
    ColumnSketches sketches(3);
    TupleSample sample({});
    sketch_index(index, kPeople + kOfOne, 1, sketches, sample);
    const auto values = sketches.frequent(2);
    ASSERT_EQ(values.size(), 1U) << frequent;
    EXPECT_EQ(values[0].bucket, value_bucket(frequent));
    EXPECT_NEAR(values[0].per_million, 67'000, 7'000);
    EXPECT_TRUE(sketches.frequent(1).empty());
    EXPECT_TRUE(sketches.frequent(0).empty());
  }
}

}  // namespace
}  // namespace stratalog::datalog
