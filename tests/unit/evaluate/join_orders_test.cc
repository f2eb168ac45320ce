// SPDX-License-Identifier: Apache-2.0
// Rules joined in an order of the program's own (`.plan`): the answer and the derivations are those
// of rules that begin with new tuples, wherever these come, at any number of ranks, and after a
// restart. Random orders are in tests/property.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

std::string random_pairs(std::uint32_t count, std::uint32_t values, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i)
    text += fmt::format("{}\t{}\n", random() % values, random() % values);
  return text;
}

std::string without_plans(std::string text) {
  for (std::size_t at = text.find(".plan"); at != std::string::npos; at = text.find(".plan", at))
    text.erase(at, text.find('\n', at) - at);
  return text;
}

struct Answer {
  FileTexts files;
  std::uint64_t derivations = 0;
  std::string orders;  // of all rules
};

Answer answer_of(const std::string& text, const FileTexts& facts, int ranks, RunOptions options,
                 AddressSpace space) {
  options.metering = Metering::kProfile;
  options.allow_pivot = false;
  const EngineOutcome outcome =
      run_engine(compiled(text), facts, ranks, options, {}, {}, nullptr, {}, space);
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  Answer answer{.files = outcome.files};
  if (!outcome.report.profile) return answer;
  for (const ProfileRule& rule : outcome.report.profile->rules) {
    answer.derivations += rule.derivations;
    answer.orders += rule.order + "\n";
  }
  return answer;
}

// Mirrored, dealt, and dealt with nothing lying where it is searched.
std::vector<RunOptions> placements() {
  RunOptions dealt;
  dealt.mirror_limit_rows = 0;
  RunOptions skewed = hop_options();
  skewed.rebalance_min_rows = 8;
  return {RunOptions(), dealt, hop_options(), skewed};
}

enum class Derivations : std::uint8_t { kSame, kOther };

void expect_answers_without_plans(const std::string& text, const FileTexts& facts,
                                  Derivations derivations = Derivations::kSame) {
  const Answer expected =
      answer_of(without_plans(text), facts, 1, RunOptions(), AddressSpace::kSeparate);
  ASSERT_GT(text_of(expected.files).size(), 100U);
  for (const int ranks : {1, 2, 3}) {
    for (const RunOptions& options : placements()) {
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const Answer answer = answer_of(text, facts, ranks, options, space);
        EXPECT_EQ(answer.files, expected.files) << ranks;
        if (derivations == Derivations::kSame) {
          EXPECT_EQ(answer.derivations, expected.derivations) << ranks;
        }
      }
    }
  }
}

constexpr const char* kPairs =
    ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
    ".decl p(x: number, y: number)\n.output p\np(x, y) :- e(x, y).\n";

FileTexts pairs() {
  return {{"e.facts", random_pairs(60, 40, 1)}, {"f.facts", random_pairs(50, 40, 2)}};
}

// Were all tuples read instead of the new ones, there would be more derivations.
TEST(JoinOrders, NewTuplesBehindOtherAtoms) {
  expect_answers_without_plans(std::string(kPairs) + "p(x, z) :- p(x, y), f(y, z). .plan 0:(2,1)\n",
                               pairs());
  expect_answers_without_plans(
      std::string(kPairs) + "p(x, z) :- f(w, z), p(x, y), f(y, w). .plan 0:(1,3,2)\n", pairs());
}

TEST(JoinOrders, NewTuplesUnderAllTheirColumnsOrNone) {
  expect_answers_without_plans(std::string(kPairs) + "p(y, x) :- p(x, y), f(x, y). .plan 0:(2,1)\n",
                               pairs());
  expect_answers_without_plans(std::string(kPairs) + "p(x, z) :- p(x, _), f(_, z). .plan 0:(2,1)\n",
                               pairs(), Derivations::kOther);
  expect_answers_without_plans(std::string(kPairs) +
                                   ".decl n(x: number)\n.output n\nn(x) :- f(x, 3).\n"
                                   "n(y) :- n(x), p(x, y), f(y, _). .plan 0:(3,2,1)\n",
                               pairs(), Derivations::kOther);
}

TEST(JoinOrders, SeveralNewAtomsAndShortPrefixes) {
  expect_answers_without_plans(
      std::string(kPairs) +
          ".decl t(x: number, y: number, z: number)\n.output t\nt(x, y, 0) :- p(x, y).\n"
          "t(x, z, w + 1) :- t(x, y, w), f(y, z), t(y, _, v), v <= w, w < 4. "
          ".plan 0:(2,3,1), 1:(2,1,3)\n",
      pairs(), Derivations::kOther);
}

TEST(JoinOrders, EquivalenceRelations) {
  expect_answers_without_plans(std::string(kPairs) +
                                   ".decl same(x: number, y: number) eqrel\n.output same\n"
                                   "same(x, y) :- f(x, y), x < 9.\n"
                                   "same(x, y) :- f(x, u), same(u, v), f(y, v), x < 20. "
                                   ".plan 0:(1,3,2)\n",
                               pairs(), Derivations::kOther);
}

TEST(JoinOrders, SubsumptionAndRelationsWithoutColumns) {
  expect_answers_without_plans(
      std::string(kPairs) +
          ".decl low(x: number, y: number)\n.output low\nlow(x, y) :- p(x, y).\n"
          "low(x, y) <= low(x, z) :- f(_, z), z < y. .plan 0:(3,1,2), 1:(3,2,1)\n"
          ".decl go()\n.decl on(x: number)\n.output on\non(1).\n"
          "go() :- on(5).\non(x + 1) :- on(x), x < 9.\n"
          "on(x + 30) :- on(x), go(), f(x, _). .plan 0:(3,2,1), 1:(3,1,2)\n",
      pairs(), Derivations::kOther);
}

// What a restart puts back as new tuples is searched, too.
// Nothing finds the number by its digits: each new tuple would meet all of `v`, so that rounds go
// through `e`. With digits that are told beside the numbers they are looked for.
TEST(JoinOrders, BeginWithWhatIsFinishedWhereNewTuplesFindNothing) {
  std::string numbers;
  for (int n = 10; n < 1600; ++n)
    if (n % 7 != 3) numbers += fmt::format("{}\n", n);
  const FileTexts facts = {{"e.facts", numbers}};
  const std::string head =
      ".decl e(c: number)\n.input e\n.decl v(c: number, x: number)\n.output v\n"
      "v(c, c + 3) :- c = range(0, 10).\n";
  const std::string told =
      ".decl digits(c: number, a: number, b: number)\ndigits(c, c / 10, c % 10) :- e(c).\n"
      "v(c, x + y * 2) :- digits(c, a, b), v(a, x), v(b, y).\n";
  const std::string computed =
      "v(c, x + y * 2) :- e(c), a = c / 10, b = c % 10, v(a, x), v(b, y).\n";
  const Answer expected = answer_of(head + told, facts, 1, RunOptions(), AddressSpace::kSeparate);
  ASSERT_GT(text_of(expected.files).size(), 5000U);
  for (const int ranks : {1, 2, 3})
    for (const RunOptions& options : placements())
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const Answer answer = answer_of(head + computed, facts, ranks, options, space);
        EXPECT_EQ(answer.files, expected.files) << ranks;
        EXPECT_NE(answer.orders.find("scan e -> compute a -> compute b"), std::string::npos)
            << answer.orders;
      }
}

// What rules have made of terms is known when the recursion begins. Nothing finds a term by its
// parts: each new tuple would meet all terms, or all other tuples.
TEST(JoinOrders, OfTermsBeginWithTheTerms) {
  const std::string text =
      ".type T = Leaf {n: number} | Node {l: T, r: T}\n.decl sub(t: T)\n"
      "sub($Leaf(i)) :- i = range(0, 500).\n"
      "sub($Node($Leaf(i), $Leaf(i * 7 % 500))) :- i = range(0, 500).\n"
      "sub($Node($Node($Leaf(i), $Leaf(i * 7 % 500)), $Leaf(3))) :- i = range(0, 500).\n"
      ".decl depth(t: T, d: number)\ndepth(t, 0) :- sub(t), t = $Leaf(_).\n"
      "depth(t, max(d, e) + 1) :- sub(t), t = $Node(a, b), depth(a, d), depth(b, e).\n"
      ".decl left(t: T, n: number)\nleft(t, n) :- sub(t), t = $Leaf(n).\n"
      "left(t, n) :- sub(t), t = $Node(a, _), left(a, n).\n"
      ".decl of(d: number, n: number)\n.output of\n"
      "of(d, n) :- depth(_, d), n = count : { depth(_, d) }.\n"
      "of(-1, n) :- n = count : { left(_, _) }.\nof(-2, n) :- n = sum x : { left(_, x) }.\n";
  for (const int ranks : {1, 2, 3})
    for (const RunOptions& options : placements())
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const Answer answer = answer_of(text, {}, ranks, options, space);
        EXPECT_EQ(answer.files.at("of.csv"), "-2\t374250\n-1\t1500\n0\t500\n1\t500\n2\t500\n");
        for (const char* relation : {"depth", "left"})
          EXPECT_NE(answer.orders.find(
                        fmt::format("scan sub -> take apart t -> new tuples of {} by", relation)),
                    std::string::npos)
              << answer.orders;
      }
}

TEST(JoinOrders, AfterARestart) {
  const std::string text =
      std::string(kPairs) + "p(x, z) :- p(x, y), f(y, w), p(w, z). .plan 0:(2,3,1), 1:(2,1,3)\n";
  const Program program = compiled(text);
  const EngineOutcome whole = run_engine(program, pairs(), 1, {});
  ASSERT_TRUE(whole.status.is_ok());
  for (const int next : {1, 2, 3}) {
    for (RunOptions placement : placements()) {
      placement.mirror_limit_rows = 0;  // else all rounds run without a safe point
      const auto disk = std::make_shared<MemoryDisk>();
      int asked = 0;
      RunHooks hooks;
      hooks.stop_requested = [&] {
        return ++asked == 2 ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
      };
      const EngineOutcome first = run_engine(program, pairs(), 2, placement, hooks, disk);
      ASSERT_TRUE(first.status.is_ok()) << first.status.to_string();
      ASSERT_TRUE(first.report.stopped_early);
      RunOptions resumed = placement;
      resumed.checkpoint.resume = ResumePolicy::kResume;
      const EngineOutcome second = run_engine(program, pairs(), next, resumed, {}, disk);
      ASSERT_TRUE(second.status.is_ok()) << second.status.to_string();
      EXPECT_EQ(second.files, whole.files) << next;
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
