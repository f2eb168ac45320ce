// SPDX-License-Identifier: Apache-2.0
// choice-domain, .limitsize, debug_delta and recursive_iteration_cnt(): what they become and what
// is wrong with them; parts of bodies that are asked once.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(ChoiceAndLimits, Declarations) {
  EXPECT_EQ(outcome_of(R"(.comp C { .decl m(x: number, y: symbol) choice-domain x, (x, y), (y, x), x
  .decl d = debug_delta(r)  .decl r(x: number)  r(1).
  r(x + 1) :- r(x), recursive_iteration_cnt() < 5.  .limitsize r(n=3) }
.init c = C
)"),
            R"(test.dl:1:17: warning: relation `c.m` is always empty
    1 | .comp C { .decl m(x: number, y: symbol) choice-domain x, (x, y), (y, x), x
      |                 ^
      = hint: it has no facts, rules or `.input c.m`
0 errors, 1 warning
.decl c.m(x: number, y: symbol) choice-domain (x), (x, y)
.decl c.d(x: number, iteration: unsigned)
.decl c.r(x: number)
.limitsize c.r(n=3)
stratum 0: c.m
stratum 1 (recursive): c.d c.r
  c.r(1).
  c.r(x + 1) :- c.r(x), recursive_iteration_cnt() < 5u.
  c.d(x0, recursive_iteration_cnt() - 1u) :- c.r(x0).
)");
}

TEST(ChoiceAndLimits, NumbersOfPassesAreNumbersOrUnsigned) {
  EXPECT_EQ(outcome_of(R"(.decl n(i: number) n(0).
n(recursive_iteration_cnt()) :- n(i), i < recursive_iteration_cnt(), recursive_iteration_cnt() < 3.
.decl u(i: unsigned) u(0).
u(recursive_iteration_cnt()) :- u(i), i < recursive_iteration_cnt().
)"),
            R"(.decl n(i: number)
.decl u(i: unsigned)
stratum 0 (recursive): n
  n(0).
  n(recursive_iteration_cnt()) :- n(i), i < recursive_iteration_cnt(), recursive_iteration_cnt() < 3u.
stratum 1 (recursive): u
  u(0u).
  u(recursive_iteration_cnt()) :- u(i), i < recursive_iteration_cnt().
)");
}

TEST(ChoiceAndLimits, Errors) {
  EXPECT_EQ(outcome_of(R"(.decl m(x: number, yes: symbol) choice-domain z, (x, yess)
.decl n(x: number) choice-domain (x
.decl r(x: number)
.limitsize r(n=3)
.limitsize r(n=4)
.limitsize r
.limitsize r(m=4)
.limitsize r(n="many")
.limitsize q(n=1)
.decl d = debug_delta(r)
.decl e = debug_delta(rr)
.decl f = debug_delta(d)
.decl g = debug_delta
.decl i(x: number) inline
.decl h = debug_delta(i)
d(1, 2).
r(x) :- r(x), g(x), 0.5 < recursive_iteration_cnt().
)"),
            R"(test.dl:1:47: error: `m` has no attribute `z` to choose by
    1 | .decl m(x: number, yes: symbol) choice-domain z, (x, yess)
      |                                               ^
test.dl:1:54: error: `m` has no attribute `yess` to choose by
    1 | .decl m(x: number, yes: symbol) choice-domain z, (x, yess)
      |                                                      ^~~~
      = hint: did you mean `yes`?
test.dl:3:1: error: unexpected `.decl`
    3 | .decl r(x: number)
      | ^~~~~
      = expected: `,` or `)`
test.dl:5:12: error: `.limitsize r` is given twice
    5 | .limitsize r(n=4)
      |            ^
test.dl:4:12: note: the first one is here
    4 | .limitsize r(n=3)
      |            ^
test.dl:6:1: error: `.limitsize` without a number of tuples
    6 | .limitsize r
      | ^~~~~~~~~~
      = expected: `.limitsize name(n=1000)`
test.dl:6:12: error: `.limitsize r` is given twice
    6 | .limitsize r
      |            ^
test.dl:4:12: note: the first one is here
    4 | .limitsize r(n=3)
      |            ^
test.dl:7:14: error: `.limitsize` has no parameter `m`
    7 | .limitsize r(m=4)
      |              ^
      = expected: `.limitsize name(n=1000)`
test.dl:8:16: error: `many` is not a number of tuples
    8 | .limitsize r(n="many")
      |                ^~~~~~
      = expected: `.limitsize name(n=1000)`
test.dl:9:12: error: undeclared relation `q`
    9 | .limitsize q(n=1)
      |            ^
test.dl:11:23: error: undeclared relation `rr`
   11 | .decl e = debug_delta(rr)
      |                       ^~
      = hint: did you mean `r`?
test.dl:12:23: error: `d` has no deltas: it is made of deltas itself
   12 | .decl f = debug_delta(d)
      |                       ^
test.dl:14:1: error: unexpected `.decl`
   14 | .decl i(x: number) inline
      | ^~~~~
      = expected: `(` and a relation
test.dl:15:23: error: `i` has no deltas: it is inline
   15 | .decl h = debug_delta(i)
      |                       ^
test.dl:16:1: error: `d` is filled by `debug_delta` and by nothing else
   16 | d(1, 2).
      | ^
test.dl:10:7: note: it is declared here
   10 | .decl d = debug_delta(r)
      |       ^
14 errors, 0 warnings
)");
}

TEST(IndependentParts, AreAskedOnce) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
.decl b(x: number)
.decl c(x: number, y: number)
b(1). c(1, 2).
a(x) :- b(x), c(y, z), b(z), c(u, _), c(v, w), w < v, w = count : { b(_) }, 3 < 4.
a(x) :- b(x), c(y, _), b(x).
a(1) :- b(x), c(x, y).
)"),
            R"(test.dl:5:17: warning: variable `y` occurs only once
    5 | a(x) :- b(x), c(y, z), b(z), c(u, _), c(v, w), w < v, w = count : { b(_) }, 3 < 4.
      |                 ^
      = hint: write `_` or `_y` if that is meant
test.dl:5:32: warning: variable `u` occurs only once
    5 | a(x) :- b(x), c(y, z), b(z), c(u, _), c(v, w), w < v, w = count : { b(_) }, 3 < 4.
      |                                ^
      = hint: write `_` or `_u` if that is meant
test.dl:6:17: warning: variable `y` occurs only once
    6 | a(x) :- b(x), c(y, _), b(x).
      |                 ^
      = hint: write `_` or `_y` if that is meant
test.dl:7:20: warning: variable `y` occurs only once
    7 | a(1) :- b(x), c(x, y).
      |                    ^
      = hint: write `_` or `_y` if that is meant
0 errors, 4 warnings
.decl a(x: number)
.decl b(x: number)
.decl c(x: number, y: number)
.decl a#3()
.decl a#4()
stratum 0: b
  b(1).
stratum 1: c
  c(1, 2).
stratum 2: a#3
  a#3() :- c(y, z), b(z).
stratum 3: a#4
  a#4() :- c(v, w), w < v, _1 = count : { b(_2) }, w = _1.
stratum 4: a
  a(x) :- b(x), c(u, _), 3 < 4, a#3(), a#4().
  a(x) :- b(x), c(y, _), b(x).
  a(1) :- b(x), c(x, y).
)");
}

}  // namespace
}  // namespace stratalog::datalog
