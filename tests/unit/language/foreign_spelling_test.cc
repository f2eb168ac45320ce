// SPDX-License-Identifier: Apache-2.0
// Hints for what other languages write, and that what is right here gets none.
#include "datalog/language/foreign_spelling.h"

#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

// The hint of the first error in a rule over e(x, y) and s(x: symbol), with the place of the error.
std::string hint_in(const std::string& rule) {
  const std::string seen = outcome_of(
      ".decl e(x: number, y: number)\n.input e\n.decl s(x: symbol)\n.input s\n"
      ".decl r(x: number)\n" +
      rule + "\n");
  const std::size_t hint = seen.find("= hint: ");
  const std::size_t place = seen.find(": error");
  if (place == std::string::npos || hint == std::string::npos) return seen;
  return seen.substr(8, place - 8) + " " + seen.substr(hint + 8, seen.find('\n', hint) - hint - 8);
}

TEST(ForeignSpelling, Operators) {
  EXPECT_EQ(hint_in("r(x) :- e(x, y), x == y."), "6:21 `==` is written `=` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, y), x <> y."), "6:21 `<>` is written `!=` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, y) && e(y, x)."), "6:17 `&&` is written `,` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, y) and e(y, x)."), "6:17 `and` is written `,` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, _) || e(_, x)."), "6:17 `||` is written `;` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, _) or e(_, x)."), "6:17 `or` is written `;` here");
  EXPECT_EQ(hint_in("r(x) <- e(x, _)."), "6:6 `<-` is written `:-` here");
  EXPECT_EQ(hint_in("r(x) :- e(x, y), not e(y, x)."), "6:22 `not e` is written `!e` here");
}

TEST(ForeignSpelling, Constants) {
  EXPECT_EQ(hint_in("r(1) :- s('a b')."), "6:11 strings stand in double quotes: `\"a b\"`");
  EXPECT_EQ(hint_in("r(1) :- s('a)."), "6:11 strings stand in double quotes: `\"text\"`");
  EXPECT_EQ(hint_in("r(1) :- s(')."), "6:11 strings stand in double quotes: `\"text\"`");
  EXPECT_EQ(hint_in("r(1) :- e(1e300, 1)."), "6:11 a float has a point: `1.0e300`");
  EXPECT_EQ(hint_in("r(1) :- e(2E-3, 1)."), "6:11 a float has a point: `2.0E-3`");
}

TEST(ForeignSpelling, FunctorsOfThePrograms) {
  EXPECT_EQ(hint_in(".functor f(x: number): number\nr(f(1))."),
            "7:3 the functor of `.functor` is called as `@f(...)`");
}

TEST(ForeignSpelling, NothingToSay) {
  const auto hint = [](std::string_view text, std::uint32_t begin, std::uint32_t end) {
    return language::foreign_spelling_hint(text, {begin, end});
  };
  EXPECT_EQ(hint("1e", 0, 2), "");
  EXPECT_EQ(hint("12abc", 0, 5), "");
  EXPECT_EQ(hint("1e5x", 0, 4), "");
  EXPECT_EQ(hint("knot q", 5, 6), "");
  EXPECT_EQ(hint("not", 0, 3), "");
  EXPECT_EQ(hint("x = y", 2, 3), "");
  EXPECT_EQ(hint("", 0, 0), "");
  EXPECT_EQ(hint("'", 0, 1), "strings stand in double quotes: `\"text\"`");
}

}  // namespace
}  // namespace stratalog::datalog
