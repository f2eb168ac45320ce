// SPDX-License-Identifier: Apache-2.0
// Rules that only ask whether there is anything stop at the first witness, and find what a look at
// everything finds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

const std::string kDeclared =
    ".decl a(x: number)\n.input a\n.decl b(y: number)\n.input b\n"
    ".decl v(i: number, g: number, w: number)\n.input v\n.decl found(x: number)\n.output found\n";

struct Row {
  int i;
  int g;
  int w;
};

// Sets, and rows with one tuple each, of several hundred.
class Witnesses : public testing::Test {
 protected:
  Witnesses() {
    std::mt19937_64 random(3);
    const auto below = [&](std::uint64_t limit) { return static_cast<int>(random() % limit); };
    for (int i = 0; i < 300; ++i) a_.push_back(i);
    for (int i = 0; i < 900; ++i)
      if (i < 400 || i % 3 == 0) b_.push_back(i);
    // Large groups, and between them such as are looked at as a whole.
    for (int i = 0; i < 900; ++i)
      v_.push_back({i, i % 2 == 0 ? below(2) : 2 + below(40), below(400)});
    for (const int x : a_) facts_["a.facts"] += fmt::format("{}\n", x);
    for (const int y : b_) facts_["b.facts"] += fmt::format("{}\n", y);
    for (const Row& row : v_) facts_["v.facts"] += fmt::format("{}\t{}\t{}\n", row.i, row.g, row.w);
  }

  void expect(const std::string& rules, const std::vector<int>& found) {
    std::vector<std::string> expected;
    for (const int x : found) expected.push_back(std::to_string(x));
    std::ranges::sort(expected);
    const Program program = compiled(kDeclared + rules);
    for (const int ranks : {1, 2, 3})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared})
        for (const RunOptions& options : {RunOptions(), hop_options()}) {
          const EngineOutcome outcome =
              run_engine(program, facts_, ranks, options, {}, nullptr, nullptr, {}, space);
          ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
          std::vector<std::string> lines;
          std::istringstream text(outcome.files.at("found.csv"));
          for (std::string line; std::getline(text, line);) lines.push_back(line);
          std::ranges::sort(lines);
          EXPECT_EQ(lines, expected) << ranks << " ranks\n" << rules;
        }
  }

  std::vector<int> a_;
  std::vector<int> b_;
  std::vector<Row> v_;
  FileTexts facts_;
};

TEST_F(Witnesses, OfValuesInOneSet) {
  std::vector<int> found;
  for (const int x : a_)
    if (std::ranges::any_of(b_, [&](int y) { return x * y % 1009 == 5; })) found.push_back(x);
  ASSERT_GT(found.size(), 9);
  ASSERT_LT(found.size(), a_.size());
  expect("found(x) :- a(x), b(y), x * y % 1009 = 5.\n", found);
  expect("found(1) :- a(x), b(y), x * y = 298 * 897.\n", {1});
  expect("found(1) :- a(x), b(y), x * y = 1000003.\n", {});
}

TEST_F(Witnesses, OfRowsUnderAKey) {
  std::vector<int> found;
  const auto is_found = [](const Row& row, const Row& other) {
    return other.g == row.g && (other.w + row.w) % 251 == 3 && other.i != row.i;
  };
  for (const Row& row : v_)
    if (std::ranges::any_of(v_, [&](const Row& other) { return is_found(row, other); }))
      found.push_back(row.i);
  ASSERT_GT(found.size(), 9);
  ASSERT_LT(found.size(), v_.size());
  std::vector<int> later;
  std::vector<int> early_ones;
  for (const Row& row : v_)
    if (std::ranges::any_of(v_, [&](const Row& other) {
          return other.g == row.g && other.w > row.w && (other.w + row.w) % 83 < 2;
        })) {
      later.push_back(row.i);
      if (std::ranges::count(a_, row.i) > 0) early_ones.push_back(row.i);
    }
  expect("found(i) :- v(i, g, w), v(j, g, u), (u + w) % 251 = 3, j != i.\n", found);
  // Sets move, as a whole and in part.
  expect("found(i) :- v(i, g, w), v(_, g, u), u > w, (u + w) % 83 < 2.\n", later);
  expect("found(i) :- v(i, g, w), v(j, g, u), u > w, a(i), (u + w) % 83 < 2.\n", early_ones);
  expect("found(i) :- v(i, g, w), v(j, g, u), u > w, i != j, (u + w) % 83 < 2.\n", later);
  // By turns in a large group and in one that is looked at as a whole.
  expect(
      ".decl o(i: number, g: number, w: number)\n.input o(filename=\"v.facts\")\n"
      "found(i) :- o(i, g, w), v(j, g, u), (u + w) % 251 = 3, j != i.\n",
      found);
}

TEST_F(Witnesses, OfRowsThatAnotherAtomTests) {
  std::vector<int> found;
  for (const int x : a_)
    if (std::ranges::any_of(v_, [&](const Row& row) {
          return row.w * 7 % 900 == x && std::ranges::count(a_, row.i) == 0;
        }))
      found.push_back(x);
  ASSERT_GT(found.size(), 9);
  ASSERT_LT(found.size(), a_.size());
  expect("found(x) :- a(x), v(i, _, w), w * 7 % 900 = x, !a(i).\n", found);
}

// What moves as sets is not there yet where the rows are listed.
TEST_F(Witnesses, AreNoneWhereSetsAreBoundLater) {
  std::set<int> values;
  for (const Row& row : v_)
    if (std::ranges::count(a_, row.i) > 0) values.insert(row.w);
  const std::vector<int> found(values.begin(), values.end());
  ASSERT_GT(found.size(), 64);
  expect("found(w) :- a(i), v(i, _, w).\n", found);
  expect("found(w) :- a(i), v(i, _, w), w != 1000.\n", found);
  expect("found(w) :- v(i, g, w), a(i), w != 1000.\n", found);
  expect(".decl t(k: number, w: number)\nt(1, w) :- a(i), v(i, _, w).\nfound(w) :- t(_, w).\n",
         found);
}

// Of what is dominated by anything, no matter by what: also where all come in one round.
TEST_F(Witnesses, OfWhatSubsumes) {
  std::vector<int> found;
  const auto dominates = [](const Row& one, const Row& other) {
    return one.g == other.g && one.i >= other.i && one.w >= other.w && one.i != other.i;
  };
  for (const Row& row : v_)
    if (std::ranges::none_of(v_, [&](const Row& one) { return dominates(one, row); }))
      found.push_back(row.i);
  ASSERT_GT(found.size(), 5);
  expect(
      ".decl best(g: number, i: number, w: number)\nbest(g, i, w) :- v(i, g, w).\n"
      "best(g, i, w) <= best(g, j, u) :- i <= j, w <= u.\nfound(i) :- best(_, i, _).\n",
      found);
}

// Each `x` is done with the first part of the large set that holds what it looks for, and what a
// part holds of it is passed on once.
TEST_F(Witnesses, AreAllThatIsLookedFor) {
  const auto derivations_of = [&](const std::string& rule) {
    RunOptions options;
    options.metering = Metering::kProfile;
    const EngineOutcome outcome = run_engine(compiled(kDeclared + rule), facts_, 1, options);
    EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    std::uint64_t derivations = 0;
    for (const ProfileRule& each : outcome.report.profile->rules) derivations += each.derivations;
    return derivations;
  };
  const std::uint64_t of_sets = derivations_of("found(x) :- a(x), b(y), x * 2 + y > 5.\n");
  EXPECT_GE(of_sets, a_.size());
  EXPECT_LT(of_sets, a_.size() + 20);
  const std::uint64_t of_rows = derivations_of("found(g) :- v(i, g, w), v(_, g, u), u > w.\n");
  // Those of small groups, of about 12 rows, are all passed on.
  EXPECT_LT(of_rows, 450 + (450 * 12));
}

// An error is one wherever the search would have ended.
TEST_F(Witnesses, DoNotHideErrors) {
  const Program program =
      compiled(kDeclared + "found(x) :- a(x), x < 3, b(y), 100 / (y - 200) > x - 9.\n");
  for (const int ranks : {1, 3}) {
    const EngineOutcome outcome = run_engine(program, facts_, ranks, {});
    EXPECT_NE(outcome.status.to_string().find("division by zero"), std::string::npos);
  }
}

}  // namespace
}  // namespace stratalog::datalog
