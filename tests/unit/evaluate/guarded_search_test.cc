// SPDX-License-Identifier: Apache-2.0
// Searches that ask themselves what the next step would let through, while it refuses most: the
// same answers as a join written down here, on one rank, on separate ranks and on ranks that read
// each other's shards, where most bindings pass, where few do, and where that changes on the way.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

using Pair = std::pair<std::uint64_t, std::uint64_t>;

struct Facts {
  std::vector<Pair> edges;
  std::set<Pair> allowed;
  std::set<std::uint64_t> chosen;
};

std::string text_of_pairs(const auto& pairs) {
  std::string text;
  for (const auto& [x, y] : pairs) text += fmt::format("{}\t{}\n", x, y);
  return text;
}

// Nodes of the upper half are refused by nearly all, those of the lower half by few.
Facts facts_where_refusals_change() {
  std::mt19937_64 random(3);
  Facts facts;
  const auto node = [&] {
    return random() % 60 == 0 ? 3'000'000'000U + random() % 9 : random() % 400;
  };
  for (int i = 0; i < 6000; ++i) facts.edges.emplace_back(node(), node());
  for (std::uint64_t x = 0; x < 200; ++x)
    for (std::uint64_t y = 0; y < 400; ++y)
      if (random() % 10 != 0) facts.allowed.emplace(x, y);
  for (int i = 0; i < 600; ++i) facts.allowed.emplace(node(), node());
  for (int i = 0; i < 25; ++i) facts.chosen.insert(node());
  return facts;
}

std::string lines(const std::set<Pair>& pairs) {
  std::set<std::string> sorted;
  for (const auto& [x, y] : pairs) sorted.insert(fmt::format("{}\t{}\n", x, y));
  std::string text;
  for (const std::string& line : sorted) text += line;
  return text;
}

std::string sorted_lines(const std::string& text) {
  std::set<std::string> sorted;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from) + 1;
    sorted.insert(text.substr(from, end - from));
    from = end;
  }
  std::string joined;
  for (const std::string& line : sorted) joined += line;
  return joined;
}

void expect_on_all_ranks(const std::string& rules, const Facts& facts,
                         const std::set<Pair>& expected) {
  ASSERT_GT(expected.size(), 50U) << rules;
  const Program program = compiled(
      ".decl e(x: unsigned, y: unsigned)\n.input e\n"
      ".decl g(x: unsigned, y: unsigned)\n.input g\n"
      ".decl c(x: unsigned)\n.input c\n"
      ".decl p(x: unsigned, y: unsigned)\n.output p\n" +
      rules);
  std::string chosen;
  for (const std::uint64_t x : facts.chosen) chosen += fmt::format("{}\n", x);
  const FileTexts files{{"e.facts", text_of_pairs(facts.edges)},
                        {"g.facts", text_of_pairs(facts.allowed)},
                        {"c.facts", chosen}};
  for (const int ranks : {1, 3})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
      for (const bool hops : {false, true}) {
        SCOPED_TRACE(fmt::format("{} ranks, shared {}, hops {}: {}", ranks,
                                 space == AddressSpace::kShared, hops, rules));
        const EngineOutcome outcome = run_engine(
            program, files, ranks, hops ? hop_options() : RunOptions{}, {}, {}, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(sorted_lines(outcome.files.at("p.csv")), lines(expected));
      }
}

// The last column of the searched row is asked for, or one before it, or a constant beside it.
TEST(GuardedSearch, OfPairs) {
  const Facts facts = facts_where_refusals_change();
  std::set<Pair> there;
  std::set<Pair> back;
  std::set<Pair> absent;
  std::set<Pair> constant;
  for (const auto& [x, y] : facts.edges)
    for (const auto& [z, w] : facts.edges) {
      if (y != z) continue;
      if (facts.allowed.contains({w, x})) there.emplace(x, w);
      if (facts.allowed.contains({y, w})) back.emplace(x, w);
      if (!facts.allowed.contains({w, x})) absent.emplace(y, w);
      if (facts.allowed.contains({7, w})) constant.emplace(x, w);
    }
  expect_on_all_ranks("p(x, w) :- e(x, y), e(y, w), g(w, x).\n", facts, there);
  expect_on_all_ranks("p(x, w) :- e(x, y), e(y, w), g(y, w).\n", facts, back);
  expect_on_all_ranks("p(y, w) :- e(x, y), e(y, w), !g(w, x).\n", facts, absent);
  expect_on_all_ranks("p(x, w) :- e(x, y), e(y, w), g(7, w).\n", facts, constant);
}

// A relation that grows meanwhile: what was refused in one round passes in the next.
TEST(GuardedSearch, OfAGrowingRelation) {
  const Facts facts = facts_where_refusals_change();
  std::set<std::uint64_t> reached = facts.chosen;
  std::set<Pair> expected;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [x, y] : facts.edges) {
      if (!reached.contains(x) || !facts.allowed.contains({y, x})) continue;
      grows |= expected.emplace(x, y).second;
      reached.insert(y);
    }
    for (const auto& [x, y] : facts.edges)
      if (reached.contains(y) && reached.contains(x)) grows |= expected.emplace(y, x).second;
  }
  expect_on_all_ranks(
      ".decl r(x: unsigned)\n"
      "r(x) :- c(x).\n"
      "p(x, y) :- r(x), e(x, y), g(y, x).\n"
      "r(y) :- p(x, y), e(x, y), g(y, x), r(x).\n"
      "p(y, x) :- r(x), e(x, y), r(y).\n",
      facts, expected);
}

}  // namespace
}  // namespace stratalog::datalog
