// SPDX-License-Identifier: Apache-2.0
// Warnings: the program compiles, and the message is shown.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(Warnings, SingleVariable) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.input edge
.decl out(x:number)
out(x) :- edge(x, unused).
out(x) :- edge(x, _fine), (edge(x, y); edge(y, x), edge(y, y)).
)"),
            R"(test.dl:4:19: warning: variable `unused` occurs only once
    4 | out(x) :- edge(x, unused).
      |                   ^~~~~~
      = hint: write `_` or `_unused` if that is meant
0 errors, 1 warning
.decl edge(x: number, y: number)
.input edge()
.decl out(x: number)
stratum 0: edge
stratum 1: out
  out(x) :- edge(x, unused).
  out(x) :- edge(x, _fine), edge(x, y).
  out(x) :- edge(x, _fine), edge(y, x), edge(y, y).
)");
}

TEST(Warnings, EmptyRelation) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, y:number)
.decl out(x:number)
.output out
out(x) :- edge(x, _).
)"),
            R"(test.dl:1:7: warning: relation `edge` is always empty
    1 | .decl edge(x:number, y:number)
      |       ^~~~
      = hint: it has no facts, rules or `.input edge`
0 errors, 1 warning
.decl edge(x: number, y: number)
.decl out(x: number)
.output out()
stratum 0: edge
stratum 1: out
  out(x) :- edge(x, _).
)");
}

TEST(Warnings, DeprecatedForms) {
  EXPECT_EQ(outcome_of(R"(.number_type Id
.symbol_type Name
.type Word
.decl edge(x:Id, y:Name, z:Word) input output
.decl out(x:Id)
out(x) :- edge(x, _, _), out(x). .plan 0:(2,1)
)"),
            R"(test.dl:1:1: warning: `.number_type` is deprecated
    1 | .number_type Id
      | ^~~~~~~~~~~~
      = hint: write `.type Id <: number`
test.dl:2:1: warning: `.symbol_type` is deprecated
    2 | .symbol_type Name
      | ^~~~~~~~~~~~
      = hint: write `.type Name <: symbol`
test.dl:3:7: warning: a type without a base is a deprecated way to declare a symbol type
    3 | .type Word
      |       ^~~~
      = hint: write `.type Word <: symbol`
test.dl:4:34: warning: the qualifier `input` is deprecated
    4 | .decl edge(x:Id, y:Name, z:Word) input output
      |                                  ^~~~~
      = hint: write `.input edge`
test.dl:4:40: warning: the qualifier `output` is deprecated
    4 | .decl edge(x:Id, y:Name, z:Word) input output
      |                                        ^~~~~~
      = hint: write `.output edge`
0 errors, 5 warnings
.decl edge(x: Id <: number, y: Name <: symbol, z: Word <: symbol) input output
.input edge()
.output edge()
.decl out(x: Id <: number)
stratum 0: edge
stratum 1 (recursive): out
  out(x) :- edge(x, _, _), out(x).
)");
}

}  // namespace
}  // namespace stratalog::datalog
