// SPDX-License-Identifier: Apache-2.0
// Which columns are joined together, and how many values a column has once others are known.
#include "datalog/plan/column_pairs.h"

#include <gtest/gtest.h>

#include "unit/plan/planned_text.h"

namespace stratalog::datalog {
namespace {

std::string pairs_text(const Program& program, const std::string& relation) {
  std::string text;
  const auto pairs = joined_pairs(program);
  for (const ColumnPair& pair : pairs[relation_named(program, relation)])
    text += fmt::format("{}{} ", pair.first, pair.second);
  return text;
}

TEST(ColumnPairs, AreThoseThatALiteralMayBeSearchedBy) {
  const Program program = compiled(
      ".decl a(x: number, y: number, z: number, w: number)\n.input a\n"
      ".decl b(x: number, y: number, z: number)\n.input b\n.decl c(x: number)\n.input c\n"
      ".decl q(x: number)\nq(x) :- a(x, y, _, v), b(x, y, 3), v > 1.\n"
      ".decl r(x: number)\nr(n) :- c(x), n = count : { b(x, z, z) }.\n");
  EXPECT_EQ(pairs_text(program, "a").substr(0, 3), "01 ");
  EXPECT_EQ(pairs_text(program, "b").find("01 02 12"), 0U) << pairs_text(program, "b");
  EXPECT_EQ(pairs_text(program, "c"), "");
}

TEST(ColumnPairs, AColumnThatAnotherDeterminesHasOneValue) {
  // City, state, country, and a colour that has nothing to do with them.
  const std::uint64_t distinct[] = {20, 4, 500, 7};
  const ColumnPair pairs[] = {
      {.first = 0, .second = 1, .distinct = 20, .of_first = 20, .of_second = 4},
      {.first = 0, .second = 2, .distinct = 500, .of_first = 20, .of_second = 500},
      {.first = 1, .second = 2, .distinct = 500, .of_first = 4, .of_second = 500},
  };
  const auto text_of = [&](std::vector<std::uint32_t> columns) {
    std::string text;
    for (const auto& [column, values, is_free] : conditional_values(columns, distinct, pairs))
      text += fmt::format("{}:{}{} ", column, values, is_free ? "" : "!");
    return text;
  };
  EXPECT_EQ(text_of({0, 1, 2, 3}), "2:500 0:1! 3:7 1:1! ");
  EXPECT_EQ(text_of({0, 1}), "0:20 1:1! ");
  EXPECT_EQ(text_of({1, 3}), "3:7 1:4 ");
}

TEST(ColumnPairs, HalfOfWhatIndependentOnesWouldHaveTells) {
  EXPECT_TRUE(depends({.first = 0, .second = 1, .distinct = 50, .of_first = 10, .of_second = 10}));
  EXPECT_FALSE(depends({.first = 0, .second = 1, .distinct = 51, .of_first = 10, .of_second = 10}));
  EXPECT_FALSE(depends({}));
}

}  // namespace
}  // namespace stratalog::datalog
