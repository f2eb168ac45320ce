// SPDX-License-Identifier: Apache-2.0
// Aggregates and ranges that compile, as printed programs: which variables come from outside, what
// `_` counts, where witnesses come from.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(CompiledAggregates, Ranges) {
  EXPECT_EQ(outcome_of(R"(.decl n(x:number)
.decl f(x:float)
n(x) :- x = range(1, 10).
n(x + 1) :- x = range(1, 10, 3), x != 4.
n(x) :- n(x), x = range(0, 5).
n(range(0, 3)).
n(range(x, y)) :- n(x), n(y).
f(x) :- x = range(0, 1, 0.5).
)"),
            R"(.decl n(x: number)
.decl f(x: float)
stratum 0 (recursive): n
  n(x) :- x = range(1, 10).
  n(x + 1) :- x = range(1, 10, 3), x != 4.
  n(x) :- n(x), _1 = range(0, 5), x = _1.
  n(_1) :- _1 = range(0, 3).
  n(_1) :- n(x), n(y), _1 = range(x, y).
stratum 1: f
  f(x) :- x = range(0.0, 1.0, 0.5).
)");
}

TEST(CompiledAggregates, AllFunctions) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl out(x:number, y:number)
out(x, n) :- e(x, _), n = count : { e(x, _) }.
out(x, s) :- e(x, _), s = sum y : { e(x, y), y > 0 }.
out(x, m) :- e(x, _), m = min y + z : { e(x, y), e(y, z) }.
out(x, m) :- e(x, _), m = max y : e(x, y).
out(x, 0) :- e(x, _), 2 * count : { e(x, _) } > 1 + sum y : e(y, x).
out(count : e(_, _), 1).
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl out(x: number, y: number)
stratum 0: e
stratum 1: out
  out(x, n) :- e(x, _), n = count : { e(x, _1) } with x.
  out(x, s) :- e(x, _), s = sum y : { e(x, y), y > 0 } with x.
  out(x, m) :- e(x, _), m = min y + z : { e(x, y), e(y, z) } with x.
  out(x, m) :- e(x, _), m = max y : { e(x, y) } with x.
  out(x, 0) :- e(x, _), _1 = count : { e(x, _2) } with x, _3 = sum y : { e(y, x) } with x, 2 * _1 > 1 + _3.
  out(_1, 1) :- _1 = count : { e(_2, _3) }.
)");
}

TEST(CompiledAggregates, OfFloats) {
  EXPECT_EQ(outcome_of(R"(.decl w(k:symbol, v:float)
.input w
.decl out(k:symbol, v:float)
out(k, m) :- w(k, _), m = mean v : w(k, v).
out(k, s) :- w(k, _), s = sum v * 2 : w(k, v).
)"),
            R"(.decl w(k: symbol, v: float)
.input w()
.decl out(k: symbol, v: float)
stratum 0: w
stratum 1: out
  out(k, m) :- w(k, _), m = mean v : { w(k, v) } with k.
  out(k, s) :- w(k, _), s = sum v * 2.0 : { w(k, v) } with k.
)");
}

TEST(CompiledAggregates, Nested) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl out(x:number, y:number)
out(x, n) :- e(x, _), n = sum m : { e(x, y), m = count : { e(y, z), z != x } }.
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl out(x: number, y: number)
stratum 0: e
stratum 1: out
  out(x, n) :- e(x, _), n = sum m : { e(x, y), m = count : { e(y, z), z != x } with x, y } with x.
)");
}

TEST(CompiledAggregates, VariablesAreScoped) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl out(x:number, y:number)
out(a, b) :- a = sum y : { e(_, y) }, b = max y : { e(y, _), y < 4 }, e(y, _).
out(a, b) :- e(a, x), b = sum x : { e(_, x) }.
out(x, x) :- x = sum y : { e(x, y) }.
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl out(x: number, y: number)
stratum 0: e
stratum 1: out
  out(a, b) :- a = sum y : { e(_1, y) }, b = max y'2 : { e(y'2, _2), y'2 < 4 }, e(y'3, _).
  out(a, b) :- e(a, x), b = sum x'2 : { e(_1, x'2) }.
  out(x, x) :- x = sum y : { e(x'2, y) }.
)");
}

TEST(CompiledAggregates, Wildcards) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl f(x:number)
.input f
.decl out(x:number)
out(s) :- s = sum x : e(x, _).
out(s) :- s = sum x : { e(x, _), f(x) }.
out(s) :- s = count : { e(x, _), f(x) }.
out(s) :- s = count : { e(x, _), !e(x, _) }.
out(s) :- s = count : { e(x, _), e(x, _) }.
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl f(x: number)
.input f()
.decl out(x: number)
.decl e#3(x: number)
stratum 0: e
stratum 1: f
stratum 2: e#3
  e#3(x) :- e(x, _).
stratum 3: out
  out(s) :- s = sum x : { e(x, _1) }.
  out(s) :- s = sum x : { e#3(x), f(x) }.
  out(s) :- s = count : { e#3(x), f(x) }.
  out(s) :- s = count : { e(x, _1), !e(x, _) }.
  out(s) :- s = count : { e(x, _1) }.
)");
}

TEST(CompiledAggregates, Witnesses) {
  EXPECT_EQ(outcome_of(R"(.decl student(name:symbol, height:number)
.input student
.decl tallest(name:symbol, height:number)
tallest(s, n) :- n = max h : { student(s, h) }.
.decl p(x:number, y:number)
.input p
.decl least(x:number, y:number, s:number)
least(x, y, s) :- s = min x + y : { p(x, y) }.
)"),
            R"(.decl student(name: symbol, height: number)
.input student()
.decl tallest(name: symbol, height: number)
.decl p(x: number, y: number)
.input p()
.decl least(x: number, y: number, s: number)
stratum 0: student
stratum 1: tallest
  tallest(s, n) :- n = max h : { student(s'2, h) }, student(s, h'2), h'2 = n.
stratum 2: p
stratum 3: least
  least(x, y, s) :- s = min x'2 + y'2 : { p(x'2, y'2) }, p(x, y), x + y = s.
)");
}

TEST(CompiledAggregates, ResultThatNobodyLooksAt) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl out(x:number)
out(1) :- _ = max x : e(x, _).
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl out(x: number)
stratum 0: e
stratum 1: out
  out(1) :- _1 = max x : { e(x, _2) }.
)");
}

TEST(CompiledAggregates, EquationsDoNotBindResults) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number, y:number)
.input a
.decl b(y:number)
.input b
.decl c(y:number)
c(y) :- 1 = count : { a(_, y) }, b(y).
c(y) :- count : { a(_, y) } = 1, b(y).
)"),
            R"(.decl a(x: number, y: number)
.input a()
.decl b(y: number)
.input b()
.decl c(y: number)
stratum 0: a
stratum 1: b
stratum 2: c
  c(y) :- _1 = count : { a(_2, y) } with y, 1 = _1, b(y).
  c(y) :- _1 = count : { a(_2, y) } with y, _1 = 1, b(y).
)");
}

}  // namespace
}  // namespace stratalog::datalog
