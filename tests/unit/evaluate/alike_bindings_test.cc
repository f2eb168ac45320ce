// SPDX-License-Identifier: Apache-2.0
// Bindings that differ in variables which nobody reads any longer: one stands for all, and the sets
// that they carry are united before they go on. The same answers as tuple by tuple, wherever the
// relations lie and however soon united sets are given back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// More rows than a batch has, and sets in all forms: a node with most edges, a dense part,
// outliers.
FileTexts skewed_facts() {
  std::mt19937_64 random(11);
  std::string edges;
  std::string labels;
  for (int i = 0; i < 1500; ++i) {
    const std::uint64_t from = i % 3 == 0 ? 7 : random() % 90;
    const std::uint64_t to = i % 50 == 0 ? random() % 4'000'000'000U : random() % 90;
    edges += fmt::format("{}\t{}\n", from, to);
  }
  for (int i = 0; i < 500; ++i)
    labels += fmt::format("{}\t{}\t{}\n", random() % 90, random() % 5, random() % 90);
  std::string dense;
  for (int i = 0; i < 2500; ++i)
    dense += fmt::format("{}\t{}\t{}\n", random() % 40, random() % 3, random() % 60);
  return {{"e.facts", edges}, {"l.facts", labels}, {"m.facts", dense}};
}

constexpr const char* kAlikeDeclarations =
    ".decl e(x: unsigned, y: unsigned)\n.input e\n"
    ".decl l(x: unsigned, n: unsigned, y: unsigned)\n.input l\n"
    ".decl m(x: unsigned, n: unsigned, y: unsigned)\n.input m\n"
    ".decl p(x: unsigned, y: unsigned)\n.output p\n"
    ".decl t(x: unsigned, y: unsigned, z: unsigned)\n.output t\n"
    ".decl s(x: unsigned)\n.output s\n";

void expect_answers_of_tuples(const std::string& rules) {
  const Program program = compiled(kAlikeDeclarations + rules);
  RunOptions by_tuples;
  by_tuples.allow_sets = false;
  const EngineOutcome expected = run_engine(program, skewed_facts(), 1, by_tuples);
  ASSERT_TRUE(expected.status.is_ok()) << expected.status.to_string();
  ASSERT_GT(expected.files.at("p.csv").size(), 2000U);
  for (const int ranks : {1, 3})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
      for (const std::uint64_t kept : {0U, 64U << 20})
        for (const bool dealt : {false, true}) {
          SCOPED_TRACE(fmt::format("{} ranks, shared {}, {} bytes of sets, dealt {}: {}", ranks,
                                   space == AddressSpace::kShared, kept, dealt, rules));
          RunOptions options;
          options.united_sets_bytes = kept;
          if (dealt) {
            options.mirror_limit_rows = 0;
            options.replicate_limit_rows = 0;
          }
          const EngineOutcome outcome =
              run_engine(program, skewed_facts(), ranks, options, {}, {}, nullptr, {}, space);
          ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
          EXPECT_EQ(outcome.files, expected.files);
        }
}

TEST(AlikeBindings, SameGeneration) {
  expect_answers_of_tuples(
      "p(x, y) :- l(z, 1, x), l(z, 2, y), x != y.\n"
      "p(x, y) :- e(a, x), p(a, b), e(b, y).\n");
}

// What lies under each element of a set goes on at once: short sets united, long ones (of node 7)
// by themselves; under keys that know more than the element, and where it is asked for twice or
// later.
TEST(AlikeBindings, SetsUnderTheElementsOfASet) {
  expect_answers_of_tuples(
      "p(x, y) :- e(x, a), e(a, y).\n"
      "t(x, k, y) :- m(x, k, a), m(a, k, y).\n"
      "t(x, a, y) :- e(x, a), e(a, y), !l(x, 1, y).\n"
      ".decl q(x: unsigned, k: unsigned, y: unsigned)\n.output q\n"
      "q(x, k, y) :- m(x, k, a), t(a, a, y).\n"
      "q(x, k, y) :- m(k, 2, x), q(x, k, a), m(a, k, y).\n"
      "q(y, k, x) :- q(a, k, x), m(a, 1, b), m(b, 2, y), k < 2.\n");
}

// Searches by a part of the prefix, which find several rows, and two that unite one after the
// other.
TEST(AlikeBindings, SeveralRowsOfASearch) {
  expect_answers_of_tuples(
      "p(x, y) :- e(x, y), x < 40.\n"
      "t(n, y, x) :- p(z, x), p(z, b), l(b, n, y).\n"
      "t(n, y, x) :- e(a, x), p(a, b), e(b, c), l(c, n, y), t(n, _, b).\n"
      "p(x, y) :- t(1, y, x), x < 60, !l(x, 2, y).\n");
}

// Nothing is carried: what comes twice is joined once.
TEST(AlikeBindings, WithoutSets) {
  expect_answers_of_tuples(
      "p(x, y) :- e(x, y).\n"
      "s(y) :- p(7, z), e(z, x), l(x, _, y).\n"
      "p(y, x + 1) :- s(y), e(x, z), l(z, _, w), p(w, y), x < 30.\n"
      ".decl k(n: unsigned, c: number)\n.output k\n"
      "k(n, c) :- l(_, n, _), c = count : { e(n, z), l(z, _, _) }.\n");
}

// Sets that an atom has restricted, and a head whose sets come apart again.
TEST(AlikeBindings, RestrictedSetsAndOtherHeads) {
  expect_answers_of_tuples(
      "p(x, y) :- e(x, y), x < 20, y < 100.\n"
      "t(x, y, z) :- p(x, z), l(z, 1, w), p(w, y), !e(y, x), t(y, _, _), x < 6.\n"
      "t(x, y, y) :- e(x, y), y < 50.\n"
      "p(x, y) :- t(a, x, _), e(a, b), e(b, y), p(b, x), a < 9.\n"
      "s(y) :- p(a, b), l(b, _, c), l(c, _, y), p(y, a).\n");
}

}  // namespace
}  // namespace stratalog::datalog
