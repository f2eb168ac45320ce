// SPDX-License-Identifier: Apache-2.0
// Ungrounded variables and programs that cannot be stratified, with the whole message.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(GroundingErrors, HeadVariable) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, 2).
edge(x, z) :- edge(x, _).
)"),
            R"(test.dl:3:9: error: ungrounded variable `z`
    3 | edge(x, z) :- edge(x, _).
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
1 error, 0 warnings
)");
}

TEST(GroundingErrors, MisspeltVariable) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, 2).
edge(from, target) :- edge(from, targgt).
)"),
            R"(test.dl:3:12: error: ungrounded variable `target`
    3 | edge(from, target) :- edge(from, targgt).
      |            ^~~~~~
      = expected: a positive atom in the body, or an equation, that gives it a value
      = hint: did you mean `targgt`?
test.dl:3:34: warning: variable `targgt` occurs only once
    3 | edge(from, target) :- edge(from, targgt).
      |                                  ^~~~~~
      = hint: write `_` or `_targgt` if that is meant
1 error, 1 warning
)");
}

TEST(GroundingErrors, NegationDoesNotBind) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, 2).
edge(x, y) :- edge(x, _), !edge(y, x).
)"),
            R"(test.dl:3:9: error: ungrounded variable `y`
    3 | edge(x, y) :- edge(x, _), !edge(y, x).
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:28: note: a negated atom gives no values
    3 | edge(x, y) :- edge(x, _), !edge(y, x).
      |                            ^~~~~~~~~~
test.dl:3:28: error: `edge` depends on its own negation
    3 | edge(x, y) :- edge(x, _), !edge(y, x).
      |                            ^~~~~~~~~~
      = hint: the cycle is edge -> !edge; edge must be complete before it is negated
test.dl:3:28: note: `edge` needs `!edge` here
    3 | edge(x, y) :- edge(x, _), !edge(y, x).
      |                            ^~~~~~~~~~
2 errors, 0 warnings
)");
}

TEST(GroundingErrors, EquationsThatDoNotBind) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, 2).
edge(x, y) :- edge(x, _), y + 1 = x.
edge(x, y) :- edge(x, _), y = z, z = y.
edge(x, y) :- edge(x, _), edge(y + 1, _).
edge(x, y) :- edge(x, _), y < x.
)"),
            R"(test.dl:3:9: error: ungrounded variable `y`
    3 | edge(x, y) :- edge(x, _), y + 1 = x.
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:27: note: this is not solved for `y`
    3 | edge(x, y) :- edge(x, _), y + 1 = x.
      |                           ^~~~~~~~~
test.dl:4:9: error: ungrounded variable `y`
    4 | edge(x, y) :- edge(x, _), y = z, z = y.
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:4:27: note: this is not solved for `y`
    4 | edge(x, y) :- edge(x, _), y = z, z = y.
      |                           ^~~~~
test.dl:4:31: error: ungrounded variable `z`
    4 | edge(x, y) :- edge(x, _), y = z, z = y.
      |                               ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:4:27: note: this is not solved for `z`
    4 | edge(x, y) :- edge(x, _), y = z, z = y.
      |                           ^~~~~
test.dl:5:9: error: ungrounded variable `y`
    5 | edge(x, y) :- edge(x, _), edge(y + 1, _).
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:5:32: note: this is not solved for `y`
    5 | edge(x, y) :- edge(x, _), edge(y + 1, _).
      |                                ^~~~~
test.dl:6:9: error: ungrounded variable `y`
    6 | edge(x, y) :- edge(x, _), y < x.
      |         ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:6:27: note: a comparison gives no values
    6 | edge(x, y) :- edge(x, _), y < x.
      |                           ^~~~~
5 errors, 0 warnings
)");
}

TEST(GroundingErrors, VariableInFact) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, abc).
)"),
            R"(test.dl:2:9: error: variable `abc` in a fact
    2 | edge(1, abc).
      |         ^~~
      = expected: constants only
      = hint: for a symbol write "abc"; for a rule add `:-` and a body
1 error, 0 warnings
)");
}

TEST(GroundingErrors, RangeOverUnbound) {
  EXPECT_EQ(outcome_of(R"(.decl n(x:number)
n(1).
n(x) :- x = range(1, y).
)"),
            R"(test.dl:3:3: error: ungrounded variable `x`
    3 | n(x) :- x = range(1, y).
      |   ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:22: error: ungrounded variable `y`
    3 | n(x) :- x = range(1, y).
      |                      ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:3:22: warning: variable `y` occurs only once
    3 | n(x) :- x = range(1, y).
      |                      ^
      = hint: write `_` or `_y` if that is meant
2 errors, 1 warning
)");
}

TEST(GroundingErrors, InsideAggregateOnly) {
  EXPECT_EQ(
      outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl out(x:number, n:number)
out(x, n) :- n = count : { edge(x, _) }.
out(x, n) :- n = sum z : { edge(y, x), y > 0 }, edge(x, _).
)"),
      R"(test.dl:4:18: error: `x` is used outside of this aggregate, which has no single tuple to take it from
    4 | out(x, n) :- n = count : { edge(x, _) }.
      |                  ^~~~~~~~~~~~~~~~~~~~~~
      = hint: bind `x` outside with a positive atom; only min and max can hand it out
test.dl:5:22: error: ungrounded variable `z`
    5 | out(x, n) :- n = sum z : { edge(y, x), y > 0 }, edge(x, _).
      |                      ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:5:22: warning: variable `z` occurs only once
    5 | out(x, n) :- n = sum z : { edge(y, x), y > 0 }, edge(x, _).
      |                      ^
      = hint: write `_` or `_z` if that is meant
2 errors, 1 warning
)");
}

TEST(GroundingErrors, TargetVariableIsLocal) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl out(x:number)
out(n) :- edge(x, _), n = sum x : { edge(_, y), y > 1 }.
)"),
            R"(test.dl:4:31: error: ungrounded variable `x`
    4 | out(n) :- edge(x, _), n = sum x : { edge(_, y), y > 1 }.
      |                               ^
      = expected: a positive atom in the body, or an equation, that gives it a value
1 error, 0 warnings
)");
}

TEST(GroundingErrors, AggregatesThatNeedEachOther) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl out(x:number)
out(a) :- a = sum x : { edge(x, b) }, b = sum y : { edge(a, y) }.
)"),
            R"(test.dl:4:15: error: aggregates that need each other's results
    4 | out(a) :- a = sum x : { edge(x, b) }, b = sum y : { edge(a, y) }.
      |               ^~~~~~~~~~~~~~~~~~~~~~
      = hint: use different variables inside and outside, or split the rule
test.dl:4:43: note: this aggregate takes part
    4 | out(a) :- a = sum x : { edge(x, b) }, b = sum y : { edge(a, y) }.
      |                                           ^~~~~~~~~~~~~~~~~~~~~~
1 error, 0 warnings
)");
}

TEST(StratificationErrors, NegationOfItself) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl win(x:number)
win(x) :- edge(x, y), !win(y).
)"),
            R"(test.dl:4:24: error: `win` depends on its own negation
    4 | win(x) :- edge(x, y), !win(y).
      |                        ^~~~~~
      = hint: the cycle is win -> !win; win must be complete before it is negated
test.dl:4:24: note: `win` needs `!win` here
    4 | win(x) :- edge(x, y), !win(y).
      |                        ^~~~~~
1 error, 0 warnings
)");
}

TEST(StratificationErrors, LongCycle) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number)
.input e
.decl a(x:number)
.decl b(x:number)
.decl c(x:number)
a(x) :- e(x), !b(x).
b(x) :- c(x), e(x).
c(x) :- a(x).
)"),
            R"(test.dl:6:16: error: `a` depends on its own negation
    6 | a(x) :- e(x), !b(x).
      |                ^~~~
      = hint: the cycle is a -> !b -> c -> a; b must be complete before it is negated
test.dl:6:16: note: `a` needs `!b` here
    6 | a(x) :- e(x), !b(x).
      |                ^~~~
test.dl:7:9: note: `b` needs `c` here
    7 | b(x) :- c(x), e(x).
      |         ^~~~
test.dl:8:9: note: `c` needs `a` here
    8 | c(x) :- a(x).
      |         ^~~~
1 error, 0 warnings
)");
}

TEST(StratificationErrors, AggregateOfItself) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number)
.input e
.decl total(x:number)
.decl part(x:number)
total(n) :- n = sum x : { part(x) }.
part(x) :- e(x).
part(x) :- total(x).
)"),
            R"(test.dl:5:27: error: `total` depends on its own aggregate
    5 | total(n) :- n = sum x : { part(x) }.
      |                           ^~~~~~~
      = hint: the cycle is total -> aggregate(part) -> total; part must be complete before it is aggregated
test.dl:5:7: note: `n` grows with the recursion, so this attribute would have to be of a lattice `T<>`
    5 | total(n) :- n = sum x : { part(x) }.
      |       ^
test.dl:5:27: note: `total` needs `aggregate(part)` here
    5 | total(n) :- n = sum x : { part(x) }.
      |                           ^~~~~~~
test.dl:7:12: note: `part` needs `total` here
    7 | part(x) :- total(x).
      |            ^~~~~~~~
1 error, 0 warnings
)");
}

TEST(StratificationErrors, NegationInsideAggregate) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number)
.input e
.decl a(x:number)
a(n) :- n = count : { e(x), !a(x) }.
)"),
            R"(test.dl:4:30: error: `a` depends on its own negation
    4 | a(n) :- n = count : { e(x), !a(x) }.
      |                              ^~~~
      = hint: the cycle is a -> !a; a must be complete before it is negated
test.dl:4:30: note: `a` needs `!a` here
    4 | a(n) :- n = count : { e(x), !a(x) }.
      |                              ^~~~
1 error, 0 warnings
)");
}

}  // namespace
}  // namespace stratalog::datalog
