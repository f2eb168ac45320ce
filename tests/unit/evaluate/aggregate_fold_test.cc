// SPDX-License-Identifier: Apache-2.0
// Aggregates over a variable, whose cells are folded as they are, give what they give over an
// expression, which is computed for each binding.
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

}  // namespace
}  // namespace stratalog::datalog
