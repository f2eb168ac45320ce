// SPDX-License-Identifier: Apache-2.0
// Programs that compile, compared as printed programs: what the planner gets.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(Compile, TransitiveClosure) {
  EXPECT_EQ(outcome_of(R"(.decl edge(a:number,b:number)
.input edge
.decl path(a:number,b:number)
.output path
path(x,y) :- edge(x,y).
path(x,z) :- path(x,y), edge(y,z).
)"),
            R"(.decl edge(a: number, b: number)
.input edge()
.decl path(a: number, b: number)
.output path()
stratum 0: edge
stratum 1 (recursive): path
  path(x, y) :- edge(x, y).
  path(x, z) :- path(x, y), edge(y, z).
)");
}

TEST(Compile, MutualRecursion) {
  EXPECT_EQ(outcome_of(R"(.decl next(x:number, y:number)
.input next
.decl even(x:number)
.decl odd(x:number)
.output even, odd
even(0).
odd(y) :- even(x), next(x, y).
even(y) :- odd(x), next(x, y).
)"),
            R"(.decl next(x: number, y: number)
.input next()
.decl even(x: number)
.output even()
.decl odd(x: number)
.output odd()
stratum 0: next
stratum 1 (recursive): even odd
  even(0).
  odd(y) :- even(x), next(x, y).
  even(y) :- odd(x), next(x, y).
)");
}

TEST(Compile, StrataInOrderOfNeed) {
  EXPECT_EQ(outcome_of(R"(.decl last(x:number)
.decl middle(x:number)
.decl first(x:number)
.decl other(x:number)
last(x) :- middle(x), !other(x).
middle(x) :- first(x).
first(1).
other(2).
)"),
            R"(.decl last(x: number)
.decl middle(x: number)
.decl first(x: number)
.decl other(x: number)
stratum 0: first
  first(1).
stratum 1: middle
  middle(x) :- first(x).
stratum 2: other
  other(2).
stratum 3: last
  last(x) :- middle(x), !other(x).
)");
}

TEST(Compile, NullaryRelations) {
  EXPECT_EQ(outcome_of(R"(.decl go()
.decl a(x:number)
.decl b(x:number)
go() :- a(x), x > 3.
a(5).
b(1) :- go().
b(2) :- !go().
)"),
            R"(.decl go()
.decl a(x: number)
.decl b(x: number)
stratum 0: a
  a(5).
stratum 1: go
  go() :- a(x), x > 3.
stratum 2: b
  b(1) :- go().
  b(2) :- !go().
)");
}

TEST(Compile, SeveralHeadsAndDisjunction) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
.decl b(x:number)
a(x), b(y) :- e(x, y), (x = 1 ; y = 2, x > y), x != 7.
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl a(x: number)
.decl b(x: number)
stratum 0: e
stratum 1: a
  a(x) :- e(x, y), x = 1, x != 7.
  a(x) :- e(x, y), y = 2, x > y, x != 7.
stratum 2: b
  b(y) :- e(x, y), x = 1, x != 7.
  b(y) :- e(x, y), y = 2, x > y, x != 7.
)");
}

TEST(Compile, NegationIsPushedInwards) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
a(x) :- e(x, y), !(x = y), !(x < 3 , e(y, x)), !!(x >= 0), !(e(x, x) ; y != 5).
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl a(x: number)
stratum 0: e
stratum 1: a
  a(x) :- e(x, y), x != y, x >= 3, x >= 0, !e(x, x), y = 5.
  a(x) :- e(x, y), x != y, !e(y, x), x >= 0, !e(x, x), y = 5.
)");
}

TEST(Compile, TrueAndFalse) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1) :- true.
a(2) :- false.
a(3) :- !false.
a(x) :- a(x), x < 9, (true ; false).
)"),
            R"(.decl a(x: number)
stratum 0 (recursive): a
  a(1).
  a(3).
  a(x) :- a(x), x < 9.
)");
}

TEST(Compile, LiteralsOfAllForms) {
  EXPECT_EQ(outcome_of(R"(.decl n(x:number)
.decl u(x:unsigned)
.decl f(x:float)
.decl s(x:symbol)
n(0). n(-1). n(0x1F). n(0b101). n(-0x10). n(1.2.3.4).
u(1). u(2u). u(0xffffffffffffffffu).
f(1). f(-2.5). f(1.5e3). f(0x10).
s("a\tb\"c\\"). s("").
)"),
            R"(.decl n(x: number)
.decl u(x: unsigned)
.decl f(x: float)
.decl s(x: symbol)
stratum 0: n
  n(0).
  n(-1).
  n(31).
  n(5).
  n(-16).
  n(16909060).
stratum 1: u
  u(1u).
  u(2u).
  u(18446744073709551615u).
stratum 2: f
  f(1.0).
  f(-2.5).
  f(1500.0).
  f(16.0).
stratum 3: s
  s("a\tb\"c\\").
  s("").
)");
}

TEST(Compile, Precedence) {
  EXPECT_EQ(outcome_of(R"(.decl n(x:number)
.decl out(x:number)
n(1).
out(a + b * c - d) :- n(a), n(b), n(c), n(d).
out((a + b) * (c - d)) :- n(a), n(b), n(c), n(d).
out(a - (b - c) - d) :- n(a), n(b), n(c), n(d).
out(a ^ b ^ c) :- n(a), n(b), n(c).
out((a ^ b) ^ c) :- n(a), n(b), n(c).
out(-a ^ 2) :- n(a).
out((-a) ^ -2) :- n(a).
out(- -a) :- n(a).
out(bnot a band b bor c bxor d) :- n(a), n(b), n(c), n(d).
out(a bshl b + 1 bshr 2 bshru 3) :- n(a), n(b).
out(a land b lor lnot c lxor a) :- n(a), n(b), n(c).
out(a / b / c % 4) :- n(a), n(b), n(c).
out(min(a, b, 3) + max(a, b)) :- n(a), n(b).
)"),
            R"(.decl n(x: number)
.decl out(x: number)
stratum 0: n
  n(1).
stratum 1: out
  out(a + b * c - d) :- n(a), n(b), n(c), n(d).
  out((a + b) * (c - d)) :- n(a), n(b), n(c), n(d).
  out(a - (b - c) - d) :- n(a), n(b), n(c), n(d).
  out(a ^ b ^ c) :- n(a), n(b), n(c).
  out((a ^ b) ^ c) :- n(a), n(b), n(c).
  out(-(a ^ 2)) :- n(a).
  out((-a) ^ (-2)) :- n(a).
  out(-(-a)) :- n(a).
  out(bnot a band b bor c bxor d) :- n(a), n(b), n(c), n(d).
  out(a bshl b + 1 bshr 2 bshru 3) :- n(a), n(b).
  out(a land b lor lnot c lxor a) :- n(a), n(b), n(c).
  out(a / b / c % 4) :- n(a), n(b), n(c).
  out(min(a, b, 3) + max(a, b)) :- n(a), n(b).
)");
}

TEST(Compile, StringFunctors) {
  EXPECT_EQ(outcome_of(R"(.decl s(x:symbol)
.decl n(x:number)
s("abc").
s(cat(x, "-", y)) :- s(x), s(y), strlen(x) < 10.
s(x + y) :- s(x), s(y), match("a.*", x), !match("b", y), contains("c", y), !contains("d", x).
s(substr(x, 0, 1)) :- s(x).
n(ord(x)) :- s(x).
n(to_number(x)) :- s(x).
s(to_string(x)) :- n(x).
s(to_string(to_float(x))) :- n(x).
s(min(x, y)) :- s(x), s(y), x < y.
)"),
            R"(.decl s(x: symbol)
.decl n(x: number)
stratum 0 (recursive): s n
  s("abc").
  s(cat(x, "-", y)) :- s(x), s(y), strlen(x) < 10.
  s(cat(x, y)) :- s(x), s(y), match("a.*", x), !match("b", y), contains("c", y), !contains("d", x).
  s(substr(x, 0, 1)) :- s(x).
  n(ord(x)) :- s(x).
  n(to_number(x)) :- s(x).
  s(to_string(x)) :- n(x).
  s(to_string(to_float(x))) :- n(x).
  s(min(x, y)) :- s(x), s(y), x < y.
)");
}

TEST(Compile, Conversions) {
  EXPECT_EQ(outcome_of(R"(.decl n(x:number)
.decl u(x:unsigned)
.decl f(x:float)
.input n
.input u
.input f
.decl s(x:symbol)
u(to_unsigned(x)) :- n(x).
f(to_float(x)) :- u(x).
n(to_number(x)) :- f(x).
n(to_number(x)) :- n(x).
s(to_string(x)) :- u(x).
u(as(x, unsigned)) :- n(x).
n(as(x, number)) :- n(x).
n(x) :- u(as(x, unsigned)).
n(x) :- f(y), y = as(x, float).
)"),
            R"(.decl n(x: number)
.input n()
.decl u(x: unsigned)
.input u()
.decl f(x: float)
.input f()
.decl s(x: symbol)
stratum 0 (recursive): n u f
  u(to_unsigned(x)) :- n(x).
  f(to_float(x)) :- u(x).
  n(to_number(x)) :- f(x).
  n(x) :- n(x).
  u(as(x, unsigned)) :- n(x).
  n(x) :- n(x).
  n(x) :- u(_1), x = as(_1, number).
  n(x) :- f(y), x = as(y, number).
stratum 1: s
  s(to_string(x)) :- u(x).
)");
}

TEST(Compile, KindsSpreadThroughEquations) {
  EXPECT_EQ(outcome_of(R"(.decl f(x:float)
.decl u(x:unsigned)
f(1).
f(z) :- f(x), y = x + 2, z = y * 3.
u(y) :- u(x), y = x * 2 + 1, y < 100.
u(7).
)"),
            R"(.decl f(x: float)
.decl u(x: unsigned)
stratum 0 (recursive): f
  f(1.0).
  f(z) :- f(x), y = x + 2.0, z = y * 3.0.
stratum 1 (recursive): u
  u(y) :- u(x), y = x * 2u + 1u, y < 100u.
  u(7u).
)");
}

TEST(Compile, ExpressionsInAtomsAreLifted) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
a(x) :- e(x, x + 1), e(3, _), !e(x - 1, x * 2).
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl a(x: number)
stratum 0: e
stratum 1: a
  a(x) :- e(x, _1), _1 = x + 1, e(3, _), _2 = x - 1, _3 = x * 2, !e(_2, _3).
)");
}

TEST(Compile, EquationsAreTurned) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
a(z) :- e(x, y), x + y = z.
a(z) :- e(x, y), w = z, x = w.
a(z) :- z = 4.
a(z) :- 4 = z.
)"),
            R"(test.dl:5:14: warning: variable `y` occurs only once
    5 | a(z) :- e(x, y), w = z, x = w.
      |              ^
      = hint: write `_` or `_y` if that is meant
0 errors, 1 warning
.decl e(x: number, y: number)
.input e()
.decl a(x: number)
stratum 0: e
stratum 1: a
  a(z) :- e(x, y), z = x + y.
  a(z) :- e(x, y), z = w, w = x.
  a(z) :- z = 4.
  a(z) :- z = 4.
)");
}

TEST(Compile, TypesResolve) {
  EXPECT_EQ(
      outcome_of(R"(.type Id <: number
.type Other = Id
.type Third <: Other
.type Both = Id | Third
.type Name <: symbol
.decl a(x:Id, y:Other, z:Third, w:Both, n:Name)
a(1, 2, 3, 4, "x").
.decl b(x:number)
b(x) :- a(x, _, _, _, _).
b(x + 1) :- a(_, _, x, _, _).
)"),
      R"(.decl a(x: Id <: number, y: Other <: number, z: Third <: number, w: Both <: number, n: Name <: symbol)
.decl b(x: number)
stratum 0: a
  a(1, 2, 3, 4, "x").
stratum 1: b
  b(x) :- a(x, _, _, _, _).
  b(x + 1) :- a(_, _, x, _, _).
)");
}

TEST(Compile, DirectivesAndParameters) {
  EXPECT_EQ(outcome_of(R"(.decl a, b(x:number) btree
.input a(IO=file, filename="a b.csv", delimiter=",", headers=true)
.output a, b(compress=false, IO="hdf5")
.output b(IO=stdout)
.printsize a, b
.pragma "output-dir" "early"
.pragma "libraries" "a"
.pragma "libraries" "b"
.pragma "output-dir" "late"
.pragma "verbose"
.input b()
)"),
            R"(test.dl:9:9: warning: `.pragma "output-dir"` is given twice; this one counts
    9 | .pragma "output-dir" "late"
      |         ^~~~~~~~~~~~
test.dl:10:9: warning: `.pragma "verbose"` is ignored
   10 | .pragma "verbose"
      |         ^~~~~~~~~
      = hint: give `-v` to the command
0 errors, 2 warnings
.pragma "libraries" "a"
.pragma "libraries" "b"
.pragma "output-dir" "late"
.decl a(x: number) btree
.input a(IO="file", delimiter=",", filename="a b.csv", headers="true")
.output a(IO="hdf5", compress="false")
.printsize a()
.decl b(x: number) btree
.output b(IO="hdf5", compress="false")
.output b(IO="stdout")
.printsize b()
.input b()
stratum 0: a
stratum 1: b
)");
}

TEST(Compile, CommentsEverywhere) {
  EXPECT_EQ(outcome_of(R"(// first
.decl /* inside */ a(x: /* here */ number) // end
/* several
   lines */ a(1). /* "not a string" */ a(2). // a(3).
.decl s(x:symbol)
s("// not a comment /* nor this */").
)"),
            R"(.decl a(x: number)
.decl s(x: symbol)
stratum 0: a
  a(1).
  a(2).
stratum 1: s
  s("// not a comment /* nor this */").
)");
}

TEST(Compile, QuestionMarksAndUnderscoresInNames) {
  EXPECT_EQ(outcome_of(R"(.decl _edge?(?a:number, b_:number)
_edge?(1, 2).
_edge?(?x, _y1) :- _edge?(_y1, ?x), ?x < 9.
)"),
            R"(.decl _edge?(?a: number, b_: number)
stratum 0 (recursive): _edge?
  _edge?(1, 2).
  _edge?(?x, _y1) :- _edge?(_y1, ?x), ?x < 9.
)");
}

TEST(Compile, ParenthesesAroundTermsAndFormulas) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
a(x) :- ((e(x, y))), ((x + 1) * 2) > (y), (x) = (y).
a(x) :- (e(x, _) ; (x = 3)), ((x)) < 9.
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl a(x: number)
stratum 0: e
stratum 1: a
  a(x) :- e(x, y), (x + 1) * 2 > y, x = y.
  a(x) :- e(x, _), x < 9.
  a(x) :- x = 3, x < 9.
)");
}

TEST(Compile, FactsOnOneLine) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:symbol)
e(1,"a").e(2,"b"). e(3,"c").
)"),
            R"(.decl e(x: number, y: symbol)
stratum 0: e
  e(1, "a").
  e(2, "b").
  e(3, "c").
)");
}

TEST(Compile, PlansAreNoPartOfTheText) {
  EXPECT_EQ(outcome_of(R"(.decl e(x:number, y:number)
.input e
.decl a(x:number)
a(x) :- a(y), a(z), e(y, z), e(z, x). .plan 0:(2,1,4,3), 1:(1,2,3,4)
a(x) :- e(x, x).
)"),
            R"(.decl e(x: number, y: number)
.input e()
.decl a(x: number)
stratum 0: e
stratum 1 (recursive): a
  a(x) :- a(y), a(z), e(y, z), e(z, x).
  a(x) :- e(x, x).
)");
}

}  // namespace
}  // namespace stratalog::datalog
