// SPDX-License-Identifier: Apache-2.0
// Errors in rules: names, arities, wildcards, sizes, and features that are not supported, with the
// whole message.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(RuleErrors, UndeclaredRelation) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl path(x:number, y:number)
path(x,y) :- edgr(x,y).
pth(x,y) :- edge(x,y), !Edge(y,x).
path(x,y) :- somewhere(x,y).
)"),
            R"(test.dl:4:14: error: undeclared relation `edgr`
    4 | path(x,y) :- edgr(x,y).
      |              ^~~~
      = hint: did you mean `edge`?
test.dl:5:1: error: undeclared relation `pth`
    5 | pth(x,y) :- edge(x,y), !Edge(y,x).
      | ^~~
      = hint: did you mean `path`?
test.dl:5:25: error: undeclared relation `Edge`
    5 | pth(x,y) :- edge(x,y), !Edge(y,x).
      |                         ^~~~
      = hint: did you mean `edge`?
test.dl:6:14: error: undeclared relation `somewhere`
    6 | path(x,y) :- somewhere(x,y).
      |              ^~~~~~~~~
      = hint: declare it with `.decl somewhere(...)`
4 errors, 0 warnings
)");
}

TEST(RuleErrors, WrongArity) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl flag()
flag() :- edge(x).
flag(1) :- edge(_,_,_).
edge(1).
)"),
            R"(test.dl:4:11: error: `edge` has 2 arguments, not 1
    4 | flag() :- edge(x).
      |           ^~~~~~~
test.dl:1:7: note: `edge` is declared here
    1 | .decl edge(x:number, y:number)
      |       ^~~~
test.dl:4:16: warning: variable `x` occurs only once
    4 | flag() :- edge(x).
      |                ^
      = hint: write `_` or `_x` if that is meant
test.dl:5:1: error: `flag` has 0 arguments, not 1
    5 | flag(1) :- edge(_,_,_).
      | ^~~~~~~
test.dl:3:7: note: `flag` is declared here
    3 | .decl flag()
      |       ^~~~
test.dl:5:12: error: `edge` has 2 arguments, not 3
    5 | flag(1) :- edge(_,_,_).
      |            ^~~~~~~~~~~
test.dl:1:7: note: `edge` is declared here
    1 | .decl edge(x:number, y:number)
      |       ^~~~
test.dl:6:1: error: `edge` has 2 arguments, not 1
    6 | edge(1).
      | ^~~~~~~
test.dl:1:7: note: `edge` is declared here
    1 | .decl edge(x:number, y:number)
      |       ^~~~
4 errors, 1 warning
)");
}

TEST(RuleErrors, WildcardInHead) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, _).
edge(x, _) :- edge(x, _).
)"),
            R"(test.dl:2:9: error: `_` in a fact has no value
    2 | edge(1, _).
      |         ^
      = expected: constants only
test.dl:3:9: error: `_` in the head of a rule has no value
    3 | edge(x, _) :- edge(x, _).
      |         ^
      = hint: name the variable and bind it in the body
2 errors, 0 warnings
)");
}

TEST(RuleErrors, WildcardAsValue) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
edge(1, 2).
edge(x, y) :- edge(x, y), _ < y.
edge(x, y) :- edge(x, y), edge(_ + 1, y).
edge(x, y) :- edge(x, y), y = sum _ : { edge(x, _) }.
)"),
            R"(test.dl:3:27: error: `_` has no value that could be used here
    3 | edge(x, y) :- edge(x, y), _ < y.
      |                           ^
      = hint: `_` may only stand as an argument of an atom in a body; name the variable
test.dl:4:32: error: `_` has no value that could be used here
    4 | edge(x, y) :- edge(x, y), edge(_ + 1, y).
      |                                ^
      = hint: `_` may only stand as an argument of an atom in a body; name the variable
test.dl:5:35: error: `_` has no value that could be used here
    5 | edge(x, y) :- edge(x, y), y = sum _ : { edge(x, _) }.
      |                                   ^
      = hint: `_` may only stand as an argument of an atom in a body; name the variable
3 errors, 0 warnings
)");
}

TEST(RuleErrors, BodyTooLarge) {
  EXPECT_EQ(
      outcome_of(R"(.decl a(x:number)
a(1).
a(x) :- a(x), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2).
)"),
      R"(test.dl:3:9: error: this body is too large once its disjunctions are written out (more than 4096 rules, or 1024 literals in one)
    3 | a(x) :- a(x), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2;x=3;x=4), (x=1;x=2).
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      = hint: give parts of it a relation of their own
1 error, 0 warnings
)");
}

TEST(Functors, AreCheckedAgainstTheirDeclarations) {
  EXPECT_EQ(outcome_of(R"(.type L = [h: number, t: L]
.functor f(number, text: symbol): unsigned
.functor f(): float
.functor g(L): number
.decl a(x: unsigned)
a(@f(1)).
a(@f("x", "y")).
a(@h(1)).
a(@g(nil)).
)"),
            R"(test.dl:3:10: error: functor `@f` is declared twice
    3 | .functor f(): float
      |          ^
test.dl:2:10: note: the first declaration is here
    2 | .functor f(number, text: symbol): unsigned
      |          ^
test.dl:4:12: error: only `stateful` functors take and give values of type `L`
    4 | .functor g(L): number
      |            ^
      = hint: others have number, unsigned, float, symbol and their subtypes
test.dl:6:3: error: `@f` takes 2 arguments, not 1
    6 | a(@f(1)).
      |   ^~~~~
test.dl:2:10: note: it is declared here
    2 | .functor f(number, text: symbol): unsigned
      |          ^
test.dl:7:6: error: type clash: `"x"` is a number as argument 1 of `@f`, but a symbol as a string
    7 | a(@f("x", "y")).
      |      ^~~
      = hint: convert with to_string, or to_number and its like
test.dl:8:3: error: undeclared functor `@h`
    8 | a(@h(1)).
      |   ^~~~~
      = hint: declare it with `.functor h(...): ...`
5 errors, 0 warnings
)");
}

TEST(Unsupported, Everything) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1).
a(x) :- x = sum y : { a(y) ; a(y), y > 1 }.
)"),
            R"(test.dl:3:23: error: not supported yet: disjunction inside an aggregate
    3 | a(x) :- x = sum y : { a(y) ; a(y), y > 1 }.
      |                       ^~~~~~~~~~~~~~~~~~
      = hint: give the body a relation of its own
1 error, 0 warnings
)");
}

TEST(Counters, WhereTheyCannotBe) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.decl b(x:number)
a(autoinc()) :- a(x), x < 5.
b($) :- a(autoinc()).
)"),
            R"(test.dl:3:1: error: `a` depends on its own numbers (`autoinc()` in a recursive rule)
    3 | a(autoinc()) :- a(x), x < 5.
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
      = hint: the cycle is a -> autoinc() over a -> a -> a; a must be complete before it is numbered
test.dl:3:1: note: `a` needs `autoinc() over a` here
    3 | a(autoinc()) :- a(x), x < 5.
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.dl:3:17: note: `a` needs `a` here
    3 | a(autoinc()) :- a(x), x < 5.
      |                 ^~~~
test.dl:3:1: note: `a` needs `a` here
    3 | a(autoinc()) :- a(x), x < 5.
      | ^~~~~~~~~~~~
test.dl:4:3: warning: the counter `$` is deprecated
    4 | b($) :- a(autoinc()).
      |   ^
      = hint: write `autoinc()`
test.dl:4:11: error: not supported: `autoinc()` in a body
    4 | b($) :- a(autoinc()).
      |           ^~~~~~~~~
      = hint: number the tuples in a rule of their own, `numbered(autoinc(), x) :- ...`
2 errors, 1 warning
)");
}

TEST(Subsumption, WhatCannotBeSubsumed) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.decl b(x:number)
.decl none()
.decl same(x:number, y:number) eqrel
.decl first(x:number) choice-domain x
a(1). b(1). none(). same(1, 2). first(1).
a(x) <= b(y) :- x < y.
none() <= none() :- true.
same(x, y) <= same(x, z) :- z < y.
first(x) <= first(y) :- y < x.
a(x) <= a(y).
a(x) <= a(y) :- z < y.
)"),
            R"(test.dl:7:9: error: subsumption compares tuples of one relation
    7 | a(x) <= b(y) :- x < y.
      |         ^~~~
test.dl:7:1: note: the other one is of `a`
    7 | a(x) <= b(y) :- x < y.
      | ^~~~
test.dl:8:1: error: `none` cannot be subsumed: it has no columns
    8 | none() <= none() :- true.
      | ^~~~~~
test.dl:9:1: error: `same` cannot be subsumed: it is an equivalence relation
    9 | same(x, y) <= same(x, z) :- z < y.
      | ^~~~~~~~~~
test.dl:10:1: error: `first` cannot be subsumed: it has a choice-domain
   10 | first(x) <= first(y) :- y < x.
      | ^~~~~~~~
test.dl:11:13: error: unexpected `.`
   11 | a(x) <= a(y).
      |             ^
      = expected: `:-` and what must hold
test.dl:12:17: error: ungrounded variable `z`
   12 | a(x) <= a(y) :- z < y.
      |                 ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:12:17: note: a comparison gives no values
   12 | a(x) <= a(y) :- z < y.
      |                 ^~~~~
test.dl:12:17: warning: variable `z` occurs only once
   12 | a(x) <= a(y) :- z < y.
      |                 ^
      = hint: write `_` or `_z` if that is meant
6 errors, 1 warning
)");
}

}  // namespace
}  // namespace stratalog::datalog
