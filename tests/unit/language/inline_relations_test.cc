// SPDX-License-Identifier: Apache-2.0
// Inline relations: what programs look like once they are written out, where they are stored
// instead, and what is wrong with them, with the whole messages.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(InlineRelations, AlternativesAndUnification) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x: number, y: number)
.decl near(x: number, y: number) inline
near(x, y) :- edge(x, y).
near(x, y) :- edge(y, x), x != 3.
near(x, x) :- edge(x, _).
near(7, z + 1) :- edge(_, z).
near(8, 9).
.decl r(x: number, y: number)
edge(1, 2).
r(x, y) :- near(x, y).
r(x, 1) :- near(x, x + 1).
r(x, 2) :- edge(x, _), near(_, x).
)"),
            R"(.decl edge(x: number, y: number)
.decl r(x: number, y: number)
stratum 0: edge
  edge(1, 2).
stratum 1: r
  r(x, y) :- edge(x, y).
  r(x, y) :- edge(y, x), x != 3.
  r(x, y) :- y = x, edge(x, _).
  r(x, y) :- x = 7, y = z + 1, edge(_, z).
  r(x, y) :- x = 8, y = 9.
  r(x, 1) :- y = x + 1, edge(x, y).
  r(x, 1) :- y = x + 1, edge(y, x), x != 3.
  r(x, 1) :- x = x + 1, edge(x, _).
  r(x, 1) :- x = 7, z + 1 = x + 1, edge(_, z).
  r(x, 1) :- x = 8, 9 = x + 1.
  r(x, 2) :- edge(x, _), edge(x'2, x).
  r(x, 2) :- edge(x, _), edge(x, x'2), x'2 != 3.
  r(x, 2) :- edge(x, _), edge(x, _).
  r(x, 2) :- edge(x, _), z + 1 = x, edge(_, z).
  r(x, 2) :- edge(x, _), 9 = x.
)");
}

TEST(InlineRelations, LocalsAreFresh) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x: number, y: number)
.decl two(x: number, y: number) inline
two(x, z) :- edge(x, y), edge(y, z).
.decl four(x: number, y: number) inline
four(x, z) :- two(x, y), two(y, z).
.decl r(x: number, y: number)
edge(1, 2).
r(y, z) :- four(y, z), two(z, y).
)"),
            R"(.decl edge(x: number, y: number)
.decl r(x: number, y: number)
stratum 0: edge
  edge(1, 2).
stratum 1: r
  r(y, z) :- edge(y, y'2), edge(y'2, y'3), edge(y'3, y'4), edge(y'4, z), edge(z, y'5), edge(y'5, y).
)");
}

TEST(InlineRelations, NegationOfClosedRules) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
.decl small(x: number) inline
small(x) :- x < 3.
small(5).
.decl same(x: number, y: number) inline
same(x, x) :- true.
.decl none(x: number) inline
.decl r(x: number, y: number)
a(1).
r(x, y) :- a(x), a(y), !small(x + y), !same(x, y), !none(x).
)"),
            R"(test.dl:7:7: warning: relation `none` is always empty
    7 | .decl none(x: number) inline
      |       ^~~~
      = hint: it has no facts, rules or `.input none`
0 errors, 1 warning
.decl a(x: number)
.decl r(x: number, y: number)
stratum 0: a
  a(1).
stratum 1: r
  r(x, y) :- a(x), a(y), x + y >= 3, 5 != x + y, x != y.
)");
}

TEST(InlineRelations, StoredWhereTheyMust) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number, y: number)
.decl first(x: number) inline
first(x) :- a(x, _).
.decl last(y: number) inline
last(y) :- a(_, y).
.decl r(x: number)
a(1, 2).
r(x) :- last(x), !first(x).
r(n) :- n = count : { last(_) }.
)"),
            R"(.decl a(x: number, y: number)
.decl last(y: number) inline
.decl r(x: number)
stratum 0: a
  a(1, 2).
stratum 1: last
  last(y) :- a(_, y).
stratum 2: r
  r(x) :- a(_, x), !a(x, _).
  r(n) :- n = count : { last(_1) }.
)");
}

TEST(InlineRelations, OnlyTheGroundedCanBeStored) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
.decl above(x: number, y: number) inline
above(x, y) :- x > y.
.decl r(x: number)
a(1).
r(x) :- a(x), 0 = count : { a(y), above(y, x) }.
)"),
            R"(test.dl:3:7: error: ungrounded variable `x`
    3 | above(x, y) :- x > y.
      |       ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:16: note: a comparison gives no values
    3 | above(x, y) :- x > y.
      |                ^~~~~
test.dl:6:35: note: the inline relation `above` cannot be written out here, so it must be computed
    6 | r(x) :- a(x), 0 = count : { a(y), above(y, x) }.
      |                                   ^~~~~
test.dl:3:10: error: ungrounded variable `y`
    3 | above(x, y) :- x > y.
      |          ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:16: note: a comparison gives no values
    3 | above(x, y) :- x > y.
      |                ^~~~~
test.dl:6:35: note: the inline relation `above` cannot be written out here, so it must be computed
    6 | r(x) :- a(x), 0 = count : { a(y), above(y, x) }.
      |                                   ^~~~~
2 errors, 0 warnings
)");
}

TEST(InlineRelations, Errors) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
.input a
.decl f(x: number) inline
.decl g(x: number) inline
f(x) :- g(x).
g(x) :- a(x), f(x).
.decl io(x: number) inline
.output io
io(x) :- a(x).
.decl two(x: number, y: number) inline
two(x, y) :- a(x).
two(x) :- a(x).
two("text", x) :- a(x).
.decl r(x: number)
r(x) :- two(x, z), two(x).
r(x) :- two(1, x).
.decl kept(x: number) inline no_inline
kept(1).
.output kept
)"),
            R"(test.dl:6:15: error: inline relation `f` needs itself
    6 | g(x) :- a(x), f(x).
      |               ^
      = hint: take `inline` off one of them
test.dl:3:7: note: by way of `f`
    3 | .decl f(x: number) inline
      |       ^
test.dl:4:7: note: by way of `g`
    4 | .decl g(x: number) inline
      |       ^
test.dl:8:9: error: `io` is an inline relation and cannot be read, written or counted
    8 | .output io
      |         ^~
test.dl:7:7: note: it is declared here
    7 | .decl io(x: number) inline
      |       ^~
test.dl:11:8: error: ungrounded variable `y`
   11 | two(x, y) :- a(x).
      |        ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:12:1: error: `two` has 2 arguments, not 1
   12 | two(x) :- a(x).
      | ^~~~~~
test.dl:10:7: note: `two` is declared here
   10 | .decl two(x: number, y: number) inline
      |       ^~~
test.dl:13:5: error: type clash: `"text"` is a number as attribute `x` of `two`, but a symbol as a string
   13 | two("text", x) :- a(x).
      |     ^~~~~~
      = hint: convert with to_string, or to_number and its like
test.dl:15:16: warning: variable `z` occurs only once
   15 | r(x) :- two(x, z), two(x).
      |                ^
      = hint: write `_` or `_z` if that is meant
test.dl:15:20: error: `two` has 2 arguments, not 1
   15 | r(x) :- two(x, z), two(x).
      |                    ^~~~~~
test.dl:10:7: note: `two` is declared here
   10 | .decl two(x: number, y: number) inline
      |       ^~~
6 errors, 1 warning
)");
}

// What uses them is not also told that they are undeclared.
TEST(InlineRelations, RowsWithoutEndAreToldOnce) {
  EXPECT_EQ(outcome_of(R"(.decl r(x: number) inline
r(x) :- r(x).
.decl o(x: number)
o(x) :- r(x).
)"),
            R"(test.dl:2:9: error: inline relation `r` needs itself
    2 | r(x) :- r(x).
      |         ^
      = hint: take `inline` off one of them
test.dl:1:7: note: by way of `r`
    1 | .decl r(x: number) inline
      |       ^
1 error, 0 warnings
)");
  EXPECT_EQ(outcome_of(R"(.decl r(x: number) inline
.decl s(x: number) inline
r(x) :- s(x).
s(x) :- r(x).
.decl o(x: number)
o(x) :- r(x).
o(x) :- s(x), !r(x).
)"),
            R"(test.dl:4:9: error: inline relation `r` needs itself
    4 | s(x) :- r(x).
      |         ^
      = hint: take `inline` off one of them
test.dl:1:7: note: by way of `r`
    1 | .decl r(x: number) inline
      |       ^
test.dl:2:7: note: by way of `s`
    2 | .decl s(x: number) inline
      |       ^
1 error, 0 warnings
)");
  std::string row = ".decl r0(x: number) inline\nr0(1).\n";
  for (int i = 1; i < 150; ++i)
    row += fmt::format(".decl r{0}(x: number) inline\nr{0}(x) :- r{1}(x).\n", i, i - 1);
  const std::string outcome = outcome_of(row + ".decl o(x: number)\no(x) :- r149(x).\n");
  EXPECT_NE(outcome.find("more than 100 inline relations use each other in a row"),
            std::string::npos);
  EXPECT_NE(outcome.find("1 error, 0 warnings"), std::string::npos) << outcome;
}

TEST(InlineRelations, KindsAreThoseOfTheDeclaration) {
  EXPECT_EQ(
      outcome_of(R"(.decl positive(x: float) inline
positive(x) :- x > 0.
.decl a(x: number)
.decl r(x: number)
a(1).
r(x) :- a(x), positive(x).
)"),
      R"(test.dl:6:24: error: type clash: `x` is a float as attribute `x` of `positive`, but a number as attribute `x` of `a`
    6 | r(x) :- a(x), positive(x).
      |                        ^
      = hint: convert with to_number, to_unsigned or to_float
test.dl:6:11: note: a number here
    6 | r(x) :- a(x), positive(x).
      |           ^
1 error, 0 warnings
)");
}

TEST(InlineRelations, ConstantsKeepTheKindOfTheAttribute) {
  EXPECT_EQ(outcome_of(R"(.decl half(x: float, y: float) inline
half(x, x / 2) :- true.
.decl big(x: unsigned) inline
big(18446744073709551615).
.decl r(x: float)
r(y) :- half(3, y).
r(1.5) :- big(x), big(y), x = y.
)"),
            R"(.decl r(x: float)
stratum 0: r
  r(y) :- y = 3.0 / 2.0.
  r(1.5) :- x = 18446744073709551615u, y = 18446744073709551615u, x = y.
)");
}

TEST(InlineRelations, WarningsOnce) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number, y: number)
.decl f(x: number) inline
f(x) :- a(x, y).
f(x) :- a(x, unused).
.decl r(x: number)
a(1, 2).
r(x) :- f(x), f(y).
)"),
            R"(test.dl:3:14: warning: variable `y` occurs only once
    3 | f(x) :- a(x, y).
      |              ^
      = hint: write `_` or `_y` if that is meant
test.dl:4:14: warning: variable `unused` occurs only once
    4 | f(x) :- a(x, unused).
      |              ^~~~~~
      = hint: write `_` or `_unused` if that is meant
test.dl:7:17: warning: variable `y` occurs only once
    7 | r(x) :- f(x), f(y).
      |                 ^
      = hint: write `_` or `_y` if that is meant
0 errors, 3 warnings
.decl a(x: number, y: number)
.decl r(x: number)
stratum 0: a
  a(1, 2).
stratum 1: r
  r(x) :- a(x, y), a(y'2, y'3).
  r(x) :- a(x, y), a(y'2, unused).
  r(x) :- a(x, unused), a(y, y'2).
  r(x) :- a(x, unused), a(y, unused'2).
)");
}

TEST(InlineRelations, InComponents) {
  EXPECT_EQ(
      outcome_of(R"(.comp C<T> { .decl same(x: T, y: T) inline same(x, y) :- x = y, in(x).
  .decl in(x: T) in(1). .decl out(x: T) out(x) :- same(x, 1). }
.init a = C<number>
.init b = C<symbol>
)"),
      R"(test.dl:2:21: error: type clash: `1` is a symbol as attribute `x` of `b.in`, but a number, an unsigned or a float as a numeric constant
    2 |   .decl in(x: T) in(1). .decl out(x: T) out(x) :- same(x, 1). }
      |                     ^
      = hint: convert with to_string, or to_number and its like
test.dl:4:1: note: in the instance `b` of component `C`, made here
    4 | .init b = C<symbol>
      | ^~~~~~~~~~~~~~~~~~~
test.dl:2:56: error: type clash: `x` is a symbol as attribute `x` of `b.in`, but a number, an unsigned or a float as a numeric constant
    2 |   .decl in(x: T) in(1). .decl out(x: T) out(x) :- same(x, 1). }
      |                                                        ^
      = hint: convert with to_string, or to_number and its like
test.dl:2:59: note: a number, an unsigned or a float here
    2 |   .decl in(x: T) in(1). .decl out(x: T) out(x) :- same(x, 1). }
      |                                                           ^
test.dl:4:1: note: in the instance `b` of component `C`, made here
    4 | .init b = C<symbol>
      | ^~~~~~~~~~~~~~~~~~~
test.dl:2:59: error: type clash: `1` is a symbol as attribute `y` of `b.same`, but a number, an unsigned or a float as a numeric constant
    2 |   .decl in(x: T) in(1). .decl out(x: T) out(x) :- same(x, 1). }
      |                                                           ^
      = hint: convert with to_string, or to_number and its like
test.dl:4:1: note: in the instance `b` of component `C`, made here
    4 | .init b = C<symbol>
      | ^~~~~~~~~~~~~~~~~~~
3 errors, 0 warnings
)");
}

TEST(InlineRelations, GrowthIsBounded) {
  // Each relation has twice the size of the one before it: written out, 2^40 atoms.
  std::string text = ".decl r0(x: number)\nr0(1).\n";
  for (int i = 1; i <= 40; ++i) {
    text += ".decl r" + std::to_string(i) + "(x: number) inline\n";
    const std::string before = "r" + std::to_string(i - 1);
    text += "r" + std::to_string(i) + "(x) :- " + before + "(x), " + before + "(x + 1).\n";
  }
  EXPECT_NE(outcome_of(text).find("the program is too large once its inline relations are written"),
            std::string::npos);
}

TEST(InlineRelations, TermsThatGrowUnderNegationAreBounded) {
  std::string text = ".decl a(x: number)\na(1).\n.decl r0(x: number) inline\nr0(x) :- x > 3.\n";
  for (int i = 1; i <= 90; ++i) {
    text += ".decl r" + std::to_string(i) + "(x: number) inline\n";
    text += "r" + std::to_string(i) + "(x) :- !r" + std::to_string(i - 1) + "(x * x).\n";
  }
  text += ".decl b(x: number)\nb(x) :- a(x), r90(x).\n";
  EXPECT_NE(outcome_of(text).find("the program is too large once its inline relations are written"),
            std::string::npos);
}

}  // namespace
}  // namespace stratalog::datalog
