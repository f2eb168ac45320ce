// SPDX-License-Identifier: Apache-2.0
// Equivalence relations: what is declared, and the message for each mistake.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(Equivalence, Declared) {
  EXPECT_EQ(outcome_of(R"(.decl e(x: number, y: number) eqrel
e(1, 2).
e(x, y) :- e(y, x), !f(x).
.decl f(x: number)
f(3).
.output e
)"),
            R"(.decl e(x: number, y: number) eqrel
.output e()
.decl f(x: number)
stratum 0: f
  f(3).
stratum 1 (recursive): e
  e(1, 2).
  e(x, y) :- e(y, x), !f(x).
)");
}

TEST(Equivalence, NeedsTwoAttributesOfOneType) {
  EXPECT_EQ(outcome_of(R"(.type A <: number
.decl a(x: number) eqrel
.decl b(x: number, y: A) eqrel
.decl c(x: number, y: symbol, z: symbol) eqrel
a(1). b(1, 2). c(1, "b", "c").
)"),
            R"(test.dl:2:20: error: the equivalence relation `a` has 1 attribute
    2 | .decl a(x: number) eqrel
      |                    ^~~~~
      = expected: two attributes of the same type
test.dl:3:26: error: the equivalence relation `b` has attributes of the types `number` and `A`
    3 | .decl b(x: number, y: A) eqrel
      |                          ^~~~~
      = expected: two attributes of the same type
test.dl:4:42: error: the equivalence relation `c` has 3 attributes
    4 | .decl c(x: number, y: symbol, z: symbol) eqrel
      |                                          ^~~~~
      = expected: two attributes of the same type
3 errors, 0 warnings
)");
}

}  // namespace
}  // namespace stratalog::datalog
