// SPDX-License-Identifier: Apache-2.0
// Groups that many bindings ask for: each is folded once, and what comes is the same.
#include "datalog/evaluate/group_memo.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

Batch batch_of(const std::vector<std::pair<Cell, Cell>>& rows) {
  Batch batch;
  batch.columns.resize(4);
  for (const auto& [a, b] : rows) {
    batch.columns[1].push_back(a);
    batch.columns[3].push_back(b);
  }
  batch.rows = static_cast<std::uint32_t>(rows.size());
  return batch;
}

// As a step would; how many groups were new.
std::uint32_t ask(GroupMemo& memo, const Batch& batch) {
  if (!memo.find(batch)) return batch.rows;
  for (std::uint32_t r = 0; r < memo.fresh().rows; ++r) {
    const Cell a = memo.fresh().columns[1][r];
    const Cell b = memo.fresh().columns[3][r];
    memo.learn(a % 3 == 0 ? std::nullopt : std::optional<Cell>((a * 100) + b));
  }
  for (std::uint32_t r = 0; r < batch.rows; ++r) {
    const Cell a = batch.columns[1][r];
    const Cell b = batch.columns[3][r];
    EXPECT_EQ(memo.result(r), a % 3 == 0 ? std::nullopt : std::optional<Cell>((a * 100) + b));
  }
  return memo.fresh().rows;
}

TEST(GroupMemo, FindsEachGroupOnce) {
  GroupMemo memo({1, 3});
  std::mt19937_64 random(2);
  std::set<std::pair<Cell, Cell>> known;
  for (int b = 0; b < 100; ++b) {
    std::vector<std::pair<Cell, Cell>> rows;
    const std::size_t before = known.size();
    for (int r = 0; r < 200; ++r) {
      rows.emplace_back(random() % 20, random() % 30);
      known.insert(rows.back());
    }
    EXPECT_EQ(ask(memo, batch_of(rows)), known.size() - before);
  }
  memo.forget();
  EXPECT_EQ(ask(memo, batch_of({{1, 2}, {1, 2}, {3, 3}})), 2U);
}

TEST(GroupMemo, RestsWhereNoneIsAskedForAgain) {
  GroupMemo memo({1, 3});
  int rested = 0;
  for (Cell b = 0; b < 1000; ++b) {
    const Batch batch = batch_of({{b, 1}, {b, 2}, {b, 3}, {b, 4}});
    rested += memo.find(batch) ? 0 : 1;
    for (std::uint32_t r = 0; rested == 0 && r < memo.fresh().rows; ++r) memo.learn(b);
    if (rested > 0) break;
  }
  EXPECT_EQ(rested, 1);
}

// Rounds, results that are new large numbers, groups without a result, and several ranks.
TEST(GroupMemo, DoesNotChangeWhatRulesSay) {
  std::mt19937_64 random(8);
  std::string facts;
  std::map<int, std::vector<std::int64_t>> groups;
  for (int i = 0; i < 3000; ++i) {
    const int group = static_cast<int>(random() % 90);
    const auto value = static_cast<std::int64_t>(random() % 1'000'000'007) - 500'000'000;
    if (group % 9 == 0) continue;
    groups[group].push_back(value);
    facts += fmt::format("{}\t{}\t{}\n", i, group, value);
  }
  std::multiset<std::string> expected;
  for (int x = 0; x < 6000; ++x) {
    const int group = x % 101;
    const auto found = groups.find(group);
    std::int64_t sum = 0;
    if (found != groups.end())
      for (const std::int64_t value : found->second) sum += value * 1000;
    expected.insert(fmt::format("{}\t{}\n", x, sum));
  }
  const Program program = compiled(
      ".decl e(i: number, g: number, v: number)\n.input e\n.decl n(x: number)\nn(0).\n"
      ".decl s(x: number, t: number)\n.output s\n.decl top(i: number)\n.output top\n"
      "n(x + 1) :- n(x), x < 5999, t = sum v * 1000 : { e(_, x % 101, v) }, t != 1.\n"
      "s(x, t) :- n(x), t = sum v * 1000 : { e(_, x % 101, v) }.\n"
      "top(i) :- e(i, g, v), v = max w : { e(_, g, w) }.\n");
  std::size_t tops = groups.size();
  for (const int ranks : {1, 2, 3})
    for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
      const EngineOutcome outcome =
          run_engine(program, {{"e.facts", facts}}, ranks, {}, {}, nullptr, nullptr, {}, space);
      ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
      std::istringstream text(outcome.files.at("s.csv"));
      std::multiset<std::string> lines;
      for (std::string line; std::getline(text, line);) lines.insert(line + "\n");
      EXPECT_EQ(lines, expected) << ranks;
      const std::string& top = outcome.files.at("top.csv");
      EXPECT_EQ(std::count(top.begin(), top.end(), '\n'), static_cast<std::ptrdiff_t>(tops));
    }
}

}  // namespace
}  // namespace stratalog::datalog
