// SPDX-License-Identifier: Apache-2.0
// Sets that other atoms restrict on their way: the same answers as tuple by tuple, however the
// relations lie.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

FileTexts graph_facts() {
  std::mt19937_64 random(5);
  std::string edges;
  std::string others;
  for (int i = 0; i < 900; ++i) edges += fmt::format("{}\t{}\n", random() % 60, random() % 60);
  for (int i = 0; i < 300; ++i) others += fmt::format("{}\t{}\n", random() % 60, random() % 60);
  return {{"e.facts", edges}, {"f.facts", others}};
}

constexpr const char* kDeclarations =
    ".decl e(x: number, y: number)\n.input e\n.decl f(x: number, y: number)\n.input f\n"
    ".decl p(x: number, y: number)\n.output p\n.decl t(x: number, y: number, z: number)\n"
    ".output t\n";

void expect_same_answers(const std::string& rules) {
  std::string problems;
  const auto compiled_rules = compile_text(kDeclarations + rules, problems);
  ASSERT_TRUE(compiled_rules) << problems;
  const Program& program = *compiled_rules;
  RunOptions by_tuples;
  by_tuples.allow_sets = false;
  const EngineOutcome expected = run_engine(program, graph_facts(), 1, by_tuples);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  ASSERT_GT(expected.files.at("t.csv").size() + expected.files.at("p.csv").size(), 500U);
  for (const int run : {1, 2, 3, -2, -3})
    for (const bool dealt : {false, true}) {
      const int ranks = std::abs(run);
      const AddressSpace space = run < 0 ? AddressSpace::kShared : AddressSpace::kSeparate;
      SCOPED_TRACE(fmt::format("{} ranks, shared {}, dealt {}: {}", ranks, run < 0, dealt, rules));
      RunOptions options;
      if (dealt) {
        options.mirror_limit_rows = 0;
        options.replicate_limit_rows = 0;
      }
      const EngineOutcome outcome =
          run_engine(program, graph_facts(), ranks, options, {}, {}, nullptr, {}, space);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      EXPECT_EQ(outcome.files, expected.files);
    }
}

TEST(SetFilter, TrianglesAndDifferences) {
  expect_same_answers(
      "t(x, y, z) :- e(x, y), e(y, z), e(x, z).\n"
      "p(x, z) :- e(x, y), e(y, z), !f(x, z), e(z, _), !f(y, z).\n");
}

TEST(SetFilter, GrowingRelationsRestrictEachOther) {
  expect_same_answers(
      "p(x, y) :- e(x, y).\n"
      "p(x, z) :- p(x, y), e(y, w), p(w, z), p(y, z), !f(x, z).\n"
      "t(x, y, z) :- p(x, y), p(y, z), p(x, z).\n");
}

TEST(SetFilter, RelationsOfOneColumn) {
  expect_same_answers(
      ".decl u(x: number)\nu(x) :- f(x, y), x > y.\n.decl none(x: number)\n"
      "none(x) :- e(x, x), x > 99.\n"
      "p(x, y) :- e(x, y), !u(y), f(_, x).\n"
      "p(y, z) :- f(7, y), e(y, z), u(z).\n"
      "p(x, z) :- p(x, y), e(y, z), !u(z), !none(z), f(z, _).\n"
      "p(x, z) :- p(x, y), e(y, z), none(z), u(x).\n"
      "t(y, y, z) :- f(7, y), e(y, z), u(z), !f(z, y).\n"
      // More bindings than a batch holds with each set that was made.
      "t(w, y, z) :- f(7, y), e(y, z), !u(z), e(v, _), e(w, _), v < w.\n");
}

TEST(SetFilter, MasksOfASweep) {
  expect_same_answers(
      "p(x, y) :- e(x, y), x != y.\n"
      "p(x, z) :- p(x, y), e(y, z), !f(x, z).\n"
      "t(x, y, 0) :- f(x, y).\n"
      "t(x, z, 1) :- t(x, y, _), e(y, z), !f(z, x), !f(y, x).\n"
      "t(x, z, 2) :- t(x, y, 1), f(y, z), e(x, z), !f(17, x), p(x, y).\n");
}

// Sets of many numbers of each kind of cell: small ones, negative ones, and those that have no cell
// of their own.
constexpr const char* kManyNumbers =
    ".decl n(v: number)\nn(x) :- e(x, _).\nn(-x) :- e(x, _).\nn(x * 100) :- e(x, _).\n"
    ".decl wide(v: number)\nwide(v) :- n(v).\nwide(v * 10000000000) :- n(v).\n"
    ".decl s(k: number, v: number)\ns(k, v) :- f(k, _), k < 9, n(v).\n"
    ".decl w(k: number, v: number)\nw(k, v) :- f(k, _), k < 9, wide(v).\n";

TEST(SetFilter, ComparisonsWithConstantsAndOtherVariables) {
  for (const char* relation : {"s", "w"})
    for (const char* comparison : {"v < 20",
                                   "v <= 0",
                                   "v > -3",
                                   "v >= 40",
                                   "v != 7",
                                   "v != k",
                                   "v < k",
                                   "k <= v",
                                   "v > -k",
                                   "v < 20, v >= -20",
                                   "v != 3, 7 > v, v != k",
                                   "v > 30000000000",
                                   "v < -10000000000",
                                   "v >= b",
                                   "v != b",
                                   "b > v, v > a",
                                   "v < k + 20",
                                   "b - 3 < v, v <= b + 30",
                                   "v >= -k - b, a > 1",
                                   "v < b + 10000000000 - 10000000000",
                                   "v > k + 10000000000",
                                   "v < b * 2",
                                   "v != 3, v < k - -7"}) {
      const std::string text = comparison;
      const bool asks_pair = text.find('b') != std::string::npos;
      expect_same_answers(
          fmt::format("{0}p(k, v) :- {1}(k, v), {3}{2}.\nt(v, k, 0) :- {1}(k, v), {3}{2}.\n"
                      "t(1, k, 1) :- {1}(k, v), {3}{2}.\nt(x, y, 3) :- e(x, y).\nt(k, c, 2) :- "
                      "s(k, _), c = count : {{ {1}(k, v), "
                      "{4}{2} }}.\n",
                      kManyNumbers, relation, comparison, asks_pair ? "f(a, b), a < 6, " : "",
                      asks_pair ? "f(a, b), a < 3, " : ""));
    }
}

TEST(SetFilter, UnsignedNumbersAndSymbols) {
  expect_same_answers(
      ".decl u(k: number, v: unsigned)\nu(k, to_unsigned(x)) :- f(k, _), k < 20, e(x, _).\n"
      "u(k, to_unsigned(x) * 5000000000) :- f(k, _), k < 20, e(x, _).\n"
      ".decl y(k: number, v: symbol)\ny(k, to_string(x)) :- f(k, _), k < 20, e(x, _).\n"
      ".decl o(k: number, v: unsigned)\n.output o\n.decl z(k: number, v: symbol)\n.output z\n"
      "o(k, v) :- u(k, v), v < 30.\no(k + 100, v) :- u(k, v), v > 20, v <= 9000000000.\n"
      "z(k, v) :- y(k, v), v != \"7\".\nz(k, v) :- y(k, v), y(k, w), w = \"9\", v != w.\n"
      "z(k, v) :- y(k, v), v < \"3\".\np(x, y) :- e(x, y).\nt(x, y, 0) :- e(x, y).\n");
}

TEST(SetFilter, ComparisonsInARecursion) {
  expect_same_answers(
      "p(x, y) :- e(a, x), e(a, y), x != y.\n"
      "p(x, y) :- e(a, x), p(a, b), e(b, y), x != y, y < 50.\n"
      "t(x, y, z) :- f(x, y), p(y, z), z > x, z != y.\n");
}

// The set that is compared comes from further back than the atom just before.
TEST(SetFilter, AComparisonWithWhatIsBoundLater) {
  expect_same_answers(
      "p(x, y) :- e(a, x), f(a, y), x < y.\nt(x, y, z) :- e(x, y), f(x, z), f(z, _), y != z.\n");
}

TEST(SetFilter, ClassesOfAnEquivalence) {
  expect_same_answers(
      ".decl q(x: number, y: number) eqrel\nq(x, y) :- f(x, y), x < 20.\n"
      "p(x, z) :- e(x, z), q(x, z).\nt(x, y, z) :- f(x, y), e(x, z), !q(y, z).\n");
}

}  // namespace
}  // namespace stratalog::datalog
