// SPDX-License-Identifier: Apache-2.0
// Records and algebraic data types: what programs with them mean, and the whole message for each
// mistake.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(Records, TypesAndTerms) {
  EXPECT_EQ(outcome_of(R"(.type List = [head: number, tail: List]
.type Shape = Circle {radius: float} | Dot {} | Rect {w: number, h: number}
.type Colour = Red {} | Green {}
.type Other = List
.decl list(x: Other, n: number)
list(nil, 0).
list([n, t], n + 1) :- list(t, n), n < 5.
.decl shape(x: Shape, c: Colour)
shape($Circle(1), $Red()).
shape($Dot(), $Green()).
.decl area(a: number)
area(w * h) :- shape($Rect(w, h), $Red()).
area(x) :- list([x, [_, _]], _), !list([x, nil], 2).
.output area
)"),
            R"(.decl list(x: Other <: record, n: number)
.decl shape(x: Shape <: record, c: Colour <: number)
.decl area(a: number)
.output area()
stratum 0 (recursive): list
  list(nil, 0).
  list([n, t], n + 1) :- list(t, n), n < 5.
stratum 1: shape
  shape($Circle(1.0), $Red()).
  shape($Dot(), $Green()).
stratum 2: area
  area(w * h) :- shape(_1, $Red()), _1 = $Rect(w, h).
  area(x) :- list(_1, _), _2 = [_3, _4], _1 = [x, _2], _5 = [x, nil], !list(_5, 2).
)");
}

TEST(Records, UntypedRecordsAgreeFieldByField) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
a(x) :- [x, [1, "b"]] = [2, [1, "b"]].
a(x) :- _ = [3], [[y], x] = [[y], 4], y = "c".
.output a
)"),
            R"(.decl a(x: number)
.output a()
stratum 0: a
  a(x) :- _2 = [1, "b"], _1 = [x, _2], _3 = [1, "b"], _1 = [2, _3].
  a(x) :- _1 = [3], _3 = [y], _2 = [_3, x], _4 = [y], _2 = [_4, 4], y = "c".
)");
}

TEST(Records, BasesOfTypes) {
  EXPECT_EQ(outcome_of(R"(.type L = [h: number]
.type A = B {x: L}
.type S <: L
.type U = L | A
.type T = A
.decl t(x: T, y: S)
)"),
            R"(test.dl:3:12: error: `L` is a record type and cannot have subtypes
    3 | .type S <: L
      |            ^
      = hint: `.type S = L` gives it another name
test.dl:4:11: error: `L` is a record type and cannot be part of a union
    4 | .type U = L | A
      |           ^
      = hint: a union of structured types is an algebraic data type: give each its own branch
test.dl:6:7: warning: relation `t` is always empty
    6 | .decl t(x: T, y: S)
      |       ^
      = hint: it has no facts, rules or `.input t`
2 errors, 1 warning
)");
}

TEST(Records, DeclaredTwice) {
  EXPECT_EQ(outcome_of(R"(.type L = [h: number, h: symbol]
.type A = B {x: number} | C {} | B {}
.type D = C {y: missing}
.decl a(x: A)
)"),
            R"(test.dl:1:23: error: field `h` is declared twice
    1 | .type L = [h: number, h: symbol]
      |                       ^
test.dl:1:12: note: the first one is here
    1 | .type L = [h: number, h: symbol]
      |            ^
test.dl:2:34: error: branch `B` is declared twice
    2 | .type A = B {x: number} | C {} | B {}
      |                                  ^
test.dl:2:11: note: the first one is here
    2 | .type A = B {x: number} | C {} | B {}
      |           ^
test.dl:3:11: error: branch `C` is declared twice
    3 | .type D = C {y: missing}
      |           ^
test.dl:2:27: note: the first one is here
    2 | .type A = B {x: number} | C {} | B {}
      |                           ^
test.dl:3:17: error: unknown type `missing`
    3 | .type D = C {y: missing}
      |                 ^~~~~~~
      = hint: declare it with `.type missing <: number` (or unsigned, float, symbol)
test.dl:4:7: warning: relation `a` is always empty
    4 | .decl a(x: A)
      |       ^
      = hint: it has no facts, rules or `.input a`
4 errors, 1 warning
)");
}

TEST(Records, FieldsAndBranches) {
  EXPECT_EQ(outcome_of(R"(.type L = [h: number, t: L]
.type S = A {x: number} | B {}
.decl l(x: L)
.decl s(x: S)
l([1, 2, 3]).
l([1, "a"]).
s(nil).
s([1]).
s($C(1)).
s($A()).
s($Aa(1)).
l(1).
)"),
            R"(test.dl:5:3: error: the record type `L` has 2 fields, not 3
    5 | l([1, 2, 3]).
      |   ^~~~~~~~~
test.dl:6:7: error: type clash: `"a"` is of the record type `L` as field `t`, but a symbol as a string
    6 | l([1, "a"]).
      |       ^~~
test.dl:7:3: error: `nil` is a record, but the type `S` is expected here
    7 | s(nil).
      |   ^~~
test.dl:8:3: error: `[...]` is a record, but the type `S` is expected here
    8 | s([1]).
      |   ^~~
      = hint: its values are written as branches, as in `$A(...)`
test.dl:9:4: error: unknown branch `C`
    9 | s($C(1)).
      |    ^
      = hint: declare it with `.type T = C { ... } | ...`
test.dl:10:3: error: branch `A` of `S` has 1 field, not 0
   10 | s($A()).
      |   ^~~~
test.dl:11:4: error: unknown branch `Aa`
   11 | s($Aa(1)).
      |    ^~
      = hint: did you mean `A`?
test.dl:12:3: error: type clash: `1` is of the record type `L` as attribute `x` of `l`, but a number, an unsigned or a float as a numeric constant
   12 | l(1).
      |   ^
8 errors, 0 warnings
)");
}

TEST(Records, RecordTypesDoNotMix) {
  EXPECT_EQ(
      outcome_of(R"(.type L = [h: number, t: L]
.type M = [h: number, t: M]
.type E = R {} | G {}
.decl l(x: L)
.decl m(x: M)
.decl e(x: E)
.input l, m, e
.decl out(x: L, n: number)
out(x, 1) :- m(x).
out(x, 2) :- l(x), m(y), x = y.
out(x, e) :- l(x), e(e).
out(x, ord(e)) :- l(x), e(e), e < $R().
out(x, x + 1) :- l(x).
)"),
      R"(test.dl:9:5: error: type clash: `x` is of the record type `L` as attribute `x` of `out`, but of the record type `M` as attribute `x` of `m`
    9 | out(x, 1) :- m(x).
      |     ^
test.dl:9:16: note: of the record type `M` here
    9 | out(x, 1) :- m(x).
      |                ^
test.dl:10:26: error: type clash: the sides of `=` are of the record type `L` and of the record type `M`
   10 | out(x, 2) :- l(x), m(y), x = y.
      |                          ^~~~~
test.dl:10:16: note: of the record type `L` as attribute `x` of `l`
   10 | out(x, 2) :- l(x), m(y), x = y.
      |                ^
test.dl:10:22: note: of the record type `M` as attribute `x` of `m`
   10 | out(x, 2) :- l(x), m(y), x = y.
      |                      ^
test.dl:11:8: error: type clash: `e` is a number as attribute `n` of `out`, but of the type `E` as attribute `x` of `e`
   11 | out(x, e) :- l(x), e(e).
      |        ^
test.dl:11:22: note: of the type `E` here
   11 | out(x, e) :- l(x), e(e).
      |                      ^
test.dl:12:31: error: type clash: `e` is a number, an unsigned, a float or a symbol as an operand of `<`, but of the type `E` as attribute `x` of `e`
   12 | out(x, ord(e)) :- l(x), e(e), e < $R().
      |                               ^
test.dl:12:27: note: of the type `E` here
   12 | out(x, ord(e)) :- l(x), e(e), e < $R().
      |                           ^
test.dl:12:35: error: type clash: `$R()` is a number, an unsigned, a float or a symbol as an operand of `<`, but of the type `E` as one of its branches
   12 | out(x, ord(e)) :- l(x), e(e), e < $R().
      |                                   ^~~~
test.dl:13:8: error: type clash: `x` is a number, an unsigned, a float or a symbol as an operand of `+`, but of the record type `L` as attribute `x` of `l`
   13 | out(x, x + 1) :- l(x).
      |        ^
test.dl:13:20: note: of the record type `L` here
   13 | out(x, x + 1) :- l(x).
      |                    ^
6 errors, 0 warnings
)");
}

TEST(Records, Ungrounded) {
  EXPECT_EQ(outcome_of(R"(.type L = [h: number, t: L]
.decl l(x: L)
.input l
.decl out(x: L)
out(x) :- x = [1, z], l(_), z = z.
out(x) :- l(x), !l([_, x]).
out(x) :- l(x), [_, _] = [_, _].
out([_, x]) :- l(x).
)"),
            R"(test.dl:5:5: error: ungrounded variable `x`
    5 | out(x) :- x = [1, z], l(_), z = z.
      |     ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:5:15: note: this is not solved for `x`
    5 | out(x) :- x = [1, z], l(_), z = z.
      |               ^~~~~~
test.dl:5:19: error: ungrounded variable `z`
    5 | out(x) :- x = [1, z], l(_), z = z.
      |                   ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:5:15: note: this is not solved for `z`
    5 | out(x) :- x = [1, z], l(_), z = z.
      |               ^~~~~~
test.dl:6:21: error: `_` inside a record of a negated atom has no value
    6 | out(x) :- l(x), !l([_, x]).
      |                     ^
      = hint: give the records that match a relation of their own and negate that
test.dl:7:17: error: nothing in this rule gives this a value
    7 | out(x) :- l(x), [_, _] = [_, _].
      |                 ^~~~~~
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:8:6: error: `_` has no value that could be used here
    8 | out([_, x]) :- l(x).
      |      ^
      = hint: `_` may only stand as an argument of an atom in a body; name the variable
5 errors, 0 warnings
)");
}

TEST(Records, DifferentLengths) {
  EXPECT_EQ(outcome_of(R"(.decl out(x: number)
out(x) :- [x, 1] = [1, 2, 3].
)"),
            R"(test.dl:2:20: error: records of 2 and 3 fields are never equal
    2 | out(x) :- [x, 1] = [1, 2, 3].
      |                    ^~~~~~~~~
test.dl:2:11: note: the other record is here
    2 | out(x) :- [x, 1] = [1, 2, 3].
      |           ^~~~~~
1 error, 0 warnings
)");
}

TEST(Records, Syntax) {
  EXPECT_EQ(outcome_of(R"(.type L = [h number]
.type M = [
.type A = B {x: number} |
.decl l(x: number)
l($B).
l([1, 2).
)"),
            R"(test.dl:1:14: error: unexpected name `number`
    1 | .type L = [h number]
      |              ^~~~~~
      = expected: `:` and the type of the field
test.dl:3:1: error: unexpected `.type`
    3 | .type A = B {x: number} |
      | ^~~~~
      = expected: the name of a field, as in `x: number`
test.dl:4:1: error: unexpected `.decl`
    4 | .decl l(x: number)
      | ^~~~~
      = expected: the name of a branch, as in `Branch { x: number }`
test.dl:5:5: error: unexpected `)`
    5 | l($B).
      |     ^
      = expected: `(` and the fields of the branch
      = hint: a branch without fields is written `$B()`
test.dl:6:8: error: unexpected `)`
    6 | l([1, 2).
      |        ^
      = expected: `,` or `]`
5 errors, 0 warnings
)");
}

}  // namespace
}  // namespace stratalog::datalog
