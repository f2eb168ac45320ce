// SPDX-License-Identifier: Apache-2.0
// Components: instances, inheritance, .override, parameters, rules for relations outside, and what
// is wrong with them, with the whole messages; annotations.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(Components, RelationsOfInnerInstancesStandInBodies) {
  EXPECT_EQ(outcome_of(R"(.comp Inner { .decl s(x: number) s(1). }
.comp Outer { .init word = Inner }
.init fsa = Outer
.decl o(x: number)
o(x) :- fsa.word.s(x), !fsa.word.s(x + 1).
o(x + n) :- fsa.word.s(x), n = count : fsa.word.s(_).
)"),
            R"(.decl o(x: number)
.decl fsa.word.s(x: number)
stratum 0: fsa.word.s
  fsa.word.s(1).
stratum 1: o
  o(x) :- fsa.word.s(x), _1 = x + 1, !fsa.word.s(_1).
  o(x + n) :- fsa.word.s(x), n = count : { fsa.word.s(_1) }.
)");
}

// As a preprocessor leaves the names of macros behind.
TEST(Components, BlanksBeforeDots) {
  EXPECT_EQ(outcome_of(R"(.comp C { .decl s(x: number) s(1). }
.init c = C
.decl o(x: number)
o(x) :- c .s(x), ! c	.s(2).
o(x) :- c .s(y), x = y .
)"),
            R"(.decl o(x: number)
.decl c.s(x: number)
stratum 0: c.s
  c.s(1).
stratum 1: o
  o(x) :- c.s(x), !c.s(2).
  o(x) :- c.s(y), x = y.
)");
}

TEST(Components, InheritanceOverrideAndNesting) {
  EXPECT_EQ(outcome_of(R"(.comp Graph<N> {
  .decl edge(x: N, y: N)
  .decl reach(x: N, y: N) overridable
  reach(x, y) :- edge(x, y).
  reach(x, z) :- reach(x, y), edge(y, z).
  .output reach
}
.comp Undirected<N> : Graph<N> {
  .override reach
  reach(x, y) :- edge(x, y) ; edge(y, x).
  reach(x, z) :- edge(x, y), reach(y, z).
  .comp Ends { .decl node(x: Node)  all(x) :- node(x). }
  .init ends = Ends
  ends.node(x) :- edge(x, _).
}
.type Node <: symbol
.decl all(x: Node)
.output all
.init one = Graph<Node>
.init two = Undirected<Node>
one.edge("a", "b"). one.edge("b", "c").
two.edge(x, y) :- one.edge(x, y).
)"),
            R"(.decl all(x: Node <: symbol)
.output all()
.decl one.edge(x: Node <: symbol, y: Node <: symbol)
.decl one.reach(x: Node <: symbol, y: Node <: symbol) overridable
.output one.reach()
.decl two.ends.node(x: Node <: symbol)
.decl two.edge(x: Node <: symbol, y: Node <: symbol)
.decl two.reach(x: Node <: symbol, y: Node <: symbol) overridable
.output two.reach()
stratum 0: one.edge
  one.edge("a", "b").
  one.edge("b", "c").
stratum 1 (recursive): one.reach
  one.reach(x, y) :- one.edge(x, y).
  one.reach(x, z) :- one.reach(x, y), one.edge(y, z).
stratum 2: two.edge
  two.edge(x, y) :- one.edge(x, y).
stratum 3: two.ends.node
  two.ends.node(x) :- two.edge(x, _).
stratum 4: all
  all(x) :- two.ends.node(x).
stratum 5 (recursive): two.reach
  two.reach(x, y) :- two.edge(x, y).
  two.reach(x, y) :- two.edge(y, x).
  two.reach(x, z) :- two.edge(x, y), two.reach(y, z).
)");
}

TEST(Components, TypesBelongToTheInstance) {
  EXPECT_EQ(outcome_of(R"(.comp Typed<T> {
  .type Id <: T
  .type Any = Id | Other
  .type Other <: T
  .decl r(x: Id, y: Any)
  r(as(x, Id), as(x, Any)) :- s(x).
}
.decl s(x: unsigned)
s(3).
.init a = Typed<unsigned>
.decl q(x: a.Id)
q(x) :- a.r(x, _).
)"),
            R"(.decl s(x: unsigned)
.decl q(x: a.Id <: unsigned)
.decl a.r(x: a.Id <: unsigned, y: a.Any <: unsigned)
stratum 0: s
  s(3u).
stratum 1: a.r
  a.r(x, x) :- s(x).
stratum 2: q
  q(x) :- a.r(x, _).
)");
}

TEST(Components, ComponentAsParameter) {
  EXPECT_EQ(
      outcome_of(R"(.comp Plus { .decl step(x: number, y: number) step(x, x + 1) :- start(x). }
.comp Minus { .decl step(x: number, y: number) step(x, x - 1) :- start(x). }
.comp Walk<Step> { .init by = Step  .decl end(y: number) end(y) :- by.step(_, y). }
.decl start(x: number)
start(7).
.init up = Walk<Plus>
.init down = Walk<Minus>
)"),
      R"(.decl start(x: number)
.decl up.by.step(x: number, y: number)
.decl up.end(y: number)
.decl down.by.step(x: number, y: number)
.decl down.end(y: number)
stratum 0: start
  start(7).
stratum 1: up.by.step
  up.by.step(x, x + 1) :- start(x).
stratum 2: up.end
  up.end(y) :- up.by.step(_, y).
stratum 3: down.by.step
  down.by.step(x, x - 1) :- start(x).
stratum 4: down.end
  down.end(y) :- down.by.step(_, y).
)");
}

TEST(Components, RulesWithSeveralHeads) {
  EXPECT_EQ(outcome_of(R"(.comp C { .decl r(x: number)  r(x), outside(x) :- start(x). }
.decl start(x: number)
.decl outside(x: number)
start(1).
.init c = C
)"),
            R"(.decl start(x: number)
.decl outside(x: number)
.decl c.r(x: number)
stratum 0: start
  start(1).
stratum 1: outside
  outside(x) :- start(x).
stratum 2: c.r
  c.r(x) :- start(x).
)");
}

TEST(Components, DeclarationErrors) {
  EXPECT_EQ(outcome_of(R"(.comp A<T> { .decl r(x: T) r(x) :- s(x). r(1) :- q(x, 
  }
.comp B : B { }
.comp C : A<number, number> , D { .override r .decl r(x: number) }
.comp E<T> : A<T> { .override r  .override none }
.init a = A<number>
.init a = Nothing
.init b = A
.comp A { }
.override r
.comp F { .pragma "x" "y" .decl s(x number) .decl t(x: number) t(1,2). }
.comp H { .comp I { } .comp I { } }
.comp J< { }
.init = A
.comp G {
)"),
            R"(test.dl:2:3: error: unexpected `}`
    2 |   }
      |   ^
      = expected: a variable, a constant or an expression
test.dl:3:7: error: component `B` extends itself
    3 | .comp B : B { }
      |       ^
test.dl:4:11: error: component `A` has 1 parameter, not 2
    4 | .comp C : A<number, number> , D { .override r .decl r(x: number) }
      |           ^
test.dl:1:7: note: `A` is declared here
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r(1) :- q(x,
      |       ^
test.dl:4:31: error: undeclared component `D`
    4 | .comp C : A<number, number> , D { .override r .decl r(x: number) }
      |                               ^
test.dl:4:45: error: `r` is not inherited but declared in `C` itself
    4 | .comp C : A<number, number> , D { .override r .decl r(x: number) }
      |                                             ^
test.dl:5:31: error: relation `r` of component `A` cannot be overridden
    5 | .comp E<T> : A<T> { .override r  .override none }
      |                               ^
      = hint: write `overridable` behind its declaration
test.dl:1:20: note: it is declared here
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r(1) :- q(x,
      |                    ^
test.dl:5:44: warning: `.override none` has no effect: no such relation is inherited
    5 | .comp E<T> : A<T> { .override r  .override none }
      |                                            ^~~~
test.dl:7:7: error: the name `a` of an instance is taken
    7 | .init a = Nothing
      |       ^
test.dl:6:7: note: it is declared here
    6 | .init a = A<number>
      |       ^
test.dl:7:11: error: undeclared component `Nothing`
    7 | .init a = Nothing
      |           ^~~~~~~
test.dl:8:11: error: component `A` has 1 parameter, not 0
    8 | .init b = A
      |           ^
test.dl:1:7: note: `A` is declared here
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r(1) :- q(x,
      |       ^
test.dl:9:7: error: the name `A` of a component is taken
    9 | .comp A { }
      |       ^
test.dl:1:7: note: it is declared here
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r(1) :- q(x,
      |       ^
test.dl:10:1: error: `.override` stands outside of a component
   10 | .override r
      | ^~~~~~~~~
      = hint: it drops the rules that a component inherits for a relation
test.dl:11:11: error: `.pragma` stands inside a component
   11 | .comp F { .pragma "x" "y" .decl s(x number) .decl t(x: number) t(1,2). }
      |           ^~~~~~~
      = hint: it is meant for the whole program; move it out
test.dl:11:37: error: unexpected name `number`
   11 | .comp F { .pragma "x" "y" .decl s(x number) .decl t(x: number) t(1,2). }
      |                                     ^~~~~~
      = expected: `:` and the type of the attribute
test.dl:12:29: error: component `I` is declared twice
   12 | .comp H { .comp I { } .comp I { } }
      |                             ^
test.dl:12:17: note: the first declaration is here
   12 | .comp H { .comp I { } .comp I { } }
      |                 ^
test.dl:13:10: error: unexpected `{`
   13 | .comp J< { }
      |          ^
      = expected: a type, or a component
test.dl:14:7: error: unexpected `=`
   14 | .init = A
      |       ^
      = expected: the name of the instance
test.dl:15:7: error: the component `G` is not closed; `}` is missing
   15 | .comp G {
      |       ^
17 errors, 1 warning
)");
}

TEST(Components, ErrorsShowTheInstance) {
  EXPECT_EQ(outcome_of(R"(.comp A<T> { .decl r(x: T) r(x) :- s(x). r("a").
  t(x) :- r(x).  }
.comp B { .init inner = A<number>
  .decl u(x: number) .input u(filename="a", filenam="b") }
.init b = B
.decl t(x: symbol)
)"),
            R"(test.dl:1:36: error: undeclared relation `s`
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r("a").
      |                                    ^
      = hint: declare it with `.decl s(...)`
test.dl:3:11: note: in the instance `b.inner` of component `A`, made here
    3 | .comp B { .init inner = A<number>
      |           ^~~~~~~~~~~~~~~~~~~~~~~
test.dl:5:1: note: in the instance `b` of component `B`, made here
    5 | .init b = B
      | ^~~~~~~~~~~
test.dl:1:44: error: type clash: `"a"` is a number as attribute `x` of `b.inner.r`, but a symbol as a string
    1 | .comp A<T> { .decl r(x: T) r(x) :- s(x). r("a").
      |                                            ^~~
      = hint: convert with to_string, or to_number and its like
test.dl:3:11: note: in the instance `b.inner` of component `A`, made here
    3 | .comp B { .init inner = A<number>
      |           ^~~~~~~~~~~~~~~~~~~~~~~
test.dl:5:1: note: in the instance `b` of component `B`, made here
    5 | .init b = B
      | ^~~~~~~~~~~
test.dl:2:5: error: type clash: `x` is a symbol as attribute `x` of `t`, but a number as attribute `x` of `b.inner.r`
    2 |   t(x) :- r(x).  }
      |     ^
      = hint: convert with to_string, or to_number and its like
test.dl:2:13: note: a number here
    2 |   t(x) :- r(x).  }
      |             ^
test.dl:3:11: note: in the instance `b.inner` of component `A`, made here
    3 | .comp B { .init inner = A<number>
      |           ^~~~~~~~~~~~~~~~~~~~~~~
test.dl:5:1: note: in the instance `b` of component `B`, made here
    5 | .init b = B
      | ^~~~~~~~~~~
test.dl:4:45: error: unknown IO parameter `filenam`
    4 |   .decl u(x: number) .input u(filename="a", filenam="b") }
      |                                             ^~~~~~~
      = hint: did you mean `filename`?
test.dl:5:1: note: in the instance `b` of component `B`, made here
    5 | .init b = B
      | ^~~~~~~~~~~
4 errors, 0 warnings
)");
}

TEST(Components, InstancesWithoutEnd) {
  EXPECT_EQ(outcome_of(R"(.comp A { .init x = B .init y = B }
.comp B { .init x = A .init y = A }
.init b = A
)"),
            R"(test.dl:2:11: error: instances nest deeper than 100 levels
    2 | .comp B { .init x = A .init y = A }
      |           ^~~~~~~~~~~
      = hint: does `A` use itself?
1 error, 0 warnings
)");
}

TEST(Components, ExtendsItselfByParameter) {
  EXPECT_EQ(outcome_of(R"(.comp A<T, U> : T<T, U> { .decl r(x: number) }
.init a = A<A, A>
)"),
            R"(test.dl:1:17: error: instances nest deeper than 100 levels
    1 | .comp A<T, U> : T<T, U> { .decl r(x: number) }
      |                 ^
      = hint: does `A` use itself?
1 error, 0 warnings
)");
}

TEST(Components, UnknownParameter) {
  EXPECT_EQ(outcome_of(R"(.comp A<T> { .init x = T  .decl r(y: T) }
.init a = A<Nothing>
.init b = A<number>
)"),
            R"(test.dl:1:24: error: undeclared component `Nothing`, given for `T`
    1 | .comp A<T> { .init x = T  .decl r(y: T) }
      |                        ^
test.dl:2:1: note: in the instance `a` of component `A`, made here
    2 | .init a = A<Nothing>
      | ^~~~~~~~~~~~~~~~~~~~
1 error, 0 warnings
)");
}

TEST(Components, AnnotationsSayNothingToUs) {
  EXPECT_EQ(outcome_of(R"(@[doc = "an input", deep[(1, 2)]]
.decl a(@[key] x: number)
@[rule] a(1).
a(x) :- @![hot] a(x), x < 9.
.comp C { @![inner] .decl b(x: number) @[x] b(1). }
.init c = C
)"),
            R"(.decl a(x: number)
.decl c.b(x: number)
stratum 0 (recursive): a
  a(1).
  a(x) :- a(x), x < 9.
stratum 1: c.b
  c.b(1).
)");
}

TEST(Components, AnnotationsOfWhatIsInside) {
  EXPECT_EQ(outcome_of(R"(.type R = [@[first] @[second = {=[]}] a: number, @[x] b: R]
.type T = @[one] @[more] One { @![inner] } | @[two] Two { @![inner] @[field] v: R }
.type Plain = One2 {} | Two2 { @[x] a: number }
.functor f(@[doc = "text"] number, @[x] y: number): number
.decl a(@[x] x: number, @[y] t: T)
.decl b(x: number)
.lattice R<> { Lub -> @f(_, _) }
@[x] a(1, $One()),
@[y] b(1) :- @![z] b(1).
)"),
            outcome_of(R"(.type R = [a: number, b: R]
.type T = One {} | Two { v: R }
.type Plain = One2 {} | Two2 { a: number }
.functor f(number, y: number): number
.decl a(x: number, t: T)
.decl b(x: number)
.lattice R<> { Lub -> @f(_, _) }
a(1, $One()), b(1) :- b(1).
)"));
}

TEST(Components, AnnotationsBelongBeforeBranches) {
  EXPECT_EQ(outcome_of(".type U = @[x] number | symbol\n"),
            R"(test.dl:1:23: error: unexpected `|`
    1 | .type U = @[x] number | symbol
      |                       ^
      = expected: `{` and the fields of the branch
1 error, 0 warnings
)");
}

TEST(Components, OpenAnnotation) {
  EXPECT_EQ(outcome_of(R"(.decl a(x: number)
@[open
)"),
            R"(test.dl:2:1: error: this annotation is not closed; `]` is missing
    2 | @[open
      | ^
1 error, 0 warnings
)");
}

TEST(Components, AnOwnTypeGoesBeforeAParameter) {
  EXPECT_EQ(outcome_of(R"(.comp C<P> {
  .type P <: number
  .decl r(x: P)
  r(as(1, P)).
}
.init c = C<unknown>
)"),
            R"(.decl c.r(x: c.P <: number)
stratum 0: c.r
  c.r(1).
)");
}

TEST(Components, ManyLargeInstancesAreRefused) {
  std::string text = ".comp Large { .decl r(x: number)\n";
  for (int i = 0; i < 2000; ++i) text += "r(1). ";
  text += "}\n.decl s(x: number)\n";
  for (int i = 0; i < 2000; ++i) text += ".init i" + std::to_string(i) + " = Large\n";
  EXPECT_NE(outcome_of(text).find("the instances of components are too many or too large"),
            std::string::npos);
}

}  // namespace
}  // namespace stratalog::datalog
