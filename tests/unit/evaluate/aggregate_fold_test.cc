// SPDX-License-Identifier: Apache-2.0
// Aggregates over a variable, whose cells are folded as they are, give what they give over an
// expression, which is computed for each binding; and sums and means of floats are the exact ones,
// however many ranks have a part of the terms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

// Of each key many small numbers, negative ones, or numbers of 64 bits, or some of each.
FileTexts numbers_of_keys() {
  std::mt19937_64 random(31);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    const auto key = static_cast<int>(random() % 12);
    const auto small = static_cast<std::int64_t>(random() % 5000);
    const bool is_negative = key % 3 == 1 || (key % 3 == 2 && random() % 2 == 0);
    const bool is_wide = key >= 6 && random() % 3 == 0;
    text += fmt::format("{}\t{}\n", key,
                        (is_negative ? -small : small) * (is_wide ? 1'000'000'000'000 : 1));
  }
  return {{"v.facts", text}};
}

TEST(AggregateFold, CellsAreFoldedLikeValues) {
  constexpr const char* kRules = R"(
.decl v(k: number, x: number)
.input v
.decl u(k: number, x: unsigned)
u(k, to_unsigned(x)) :- v(k, x).
.decl key(k: number)
key(k) :- v(k, _).
key(100).
.decl same(f: symbol, k: number)
.output same
same("sum", k) :- key(k), a = sum x : v(k, x), a = sum (x + 0) : v(k, x).
same("min", k) :- key(k), a = min x : v(k, x), a = min (x + 0) : v(k, x).
same("max", k) :- key(k), a = max x : v(k, x), a = max (x + 0) : v(k, x).
same("usum", k) :- key(k), a = sum x : u(k, x), a = sum (x + 0) : u(k, x).
same("umin", k) :- key(k), a = min x : u(k, x), a = min (x + 0) : u(k, x).
same("umax", k) :- key(k), a = max x : u(k, x), a = max (x + 0) : u(k, x).
same("count", k) :- key(k), a = count : { v(k, _) }, a = count : { v(k, x), x != x + 1 }.
same("all", 0) :- a = sum x : v(_, x), a = sum (x + 0) : v(_, x), b = count : { v(_, _) },
                  b = count : { v(_, x), x + 0 = x }.
.decl wrong(k: number)
.output wrong
wrong(k) :- key(k), c = count : { v(k, _) }, c != count : { v(k, x), v(k, x) }.
)";
  std::string problems;
  const auto program = compile_text(kRules, problems);
  ASSERT_TRUE(program) << problems;
  for (const int ranks : {1, 3}) {
    const EngineOutcome outcome = run_engine(*program, numbers_of_keys(), ranks, {});
    ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
    // 13 keys, of which one has no numbers and so neither a least nor a greatest.
    const std::string& same = outcome.files.at("same.csv");
    EXPECT_EQ(std::ranges::count(same, '\n'), (3 * 13) + (4 * 12) + 1) << same;
    EXPECT_EQ(outcome.files.at("wrong.csv"), "");
  }
}

// v(k, x) for k from 0 on.
FileTexts floats(const std::vector<std::string>& texts) {
  std::string lines;
  for (std::size_t k = 0; k < texts.size(); ++k) lines += fmt::format("{}\t{}\n", k, texts[k]);
  return {{"v.facts", lines}};
}

void expect_everywhere(const Program& program, const FileTexts& facts, const std::string& file,
                       const std::string& expected) {
  for (const int ranks : {1, 2, 3, 5})
    for (const RunOptions& options : {RunOptions(), hop_options()})
      for (const AddressSpace space : {AddressSpace::kSeparate, AddressSpace::kShared}) {
        const EngineOutcome outcome =
            run_engine(program, facts, ranks, options, {}, {}, nullptr, {}, space);
        ASSERT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
        EXPECT_EQ(outcome.files.at(file), expected) << ranks;
      }
}

constexpr const char* kFloats = ".decl v(k: number, x: float)\n.input v\n";

TEST(AggregateFold, SumsOfFloatsAreExactOnAnyRanks) {
  std::vector<std::string> tenths;
  for (int i = 1; i <= 20; ++i) tenths.push_back(fmt::format("{}", i / 10.0));
  const Program below = compiled(fmt::format("{}{}", kFloats, R"(
.decl t(s: float)
t(s) :- s = sum x : { v(_, x) }.
.decl r(s: float, m: float, less: number)
.output r
r(s, m, n) :- t(s), m = mean x : { v(_, x) }, n = count : { t(y), y < 21.0 }.
)"));
  expect_everywhere(below, floats(tenths), "r.csv", "21\t1.05\t0\n");
  // 0.1 is left, and no infinity.
  const std::string left = fmt::format("{:.17g}\t{:.17g}\t1\n", 0.1, 0.1 / 7);
  expect_everywhere(below,
                    floats({"1e308", "1e308", "1e-320", "-1e308", "0.1", "-1e308", "-1e-320"}),
                    "r.csv", left);
  expect_everywhere(below, {{"v.facts", ""}}, "r.csv", "");
}

// Each binding of `a` asks all ranks.
TEST(AggregateFold, SumsOfFloatsThatAreAskedForAreExact) {
  const Program program = compiled(fmt::format("{}{}", kFloats, R"(
.decl a(k: number)
a(k) :- v(k, _), k < 4.
.decl r(k: number, s: float, m: float)
.output r
r(k, s, m) :- a(k), s = sum x : { v(i, x), i != k }, m = mean x : { v(i, x), i > k }.
)"));
  expect_everywhere(program, floats({"1e16", "-1e16", "1", "inf", "3", "nan", "-inf"}), "r.csv",
                    "0\tnan\tnan\n1\tnan\tnan\n2\tnan\tnan\n3\tnan\tnan\n");
  expect_everywhere(program, floats({"-1e16", "1", "1e16", "1e16", "5e-324"}), "r.csv",
                    "0\t20000000000000000\t5000000000000000\n"
                    "1\t10000000000000000\t6666666666666667\n"
                    "2\t1\t5000000000000000\n3\t1\t4.9406564584124654e-324\n");
}

}  // namespace
}  // namespace stratalog::datalog
