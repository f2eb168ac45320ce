// SPDX-License-Identifier: Apache-2.0
// Type clashes, constants out of range and subtype errors, with the whole message.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(KindErrors, HeadAgainstBody) {
  EXPECT_EQ(
      outcome_of(R"(.decl person(name:symbol, age:number)
.input person
.decl named(id:number)
named(x) :- person(x, _).
)"),
      R"(test.dl:4:7: error: type clash: `x` is a number as attribute `id` of `named`, but a symbol as attribute `name` of `person`
    4 | named(x) :- person(x, _).
      |       ^
      = hint: convert with to_string, or to_number and its like
test.dl:4:20: note: a symbol here
    4 | named(x) :- person(x, _).
      |                    ^
1 error, 0 warnings
)");
}

TEST(KindErrors, BodyAgainstBody) {
  EXPECT_EQ(
      outcome_of(R"(.decl person(name:symbol, age:number)
.input person
.decl weight(kg:float)
.input weight
.decl out(x:number)
out(a) :- person(_, a), weight(a).
)"),
      R"(test.dl:6:32: error: type clash: `a` is a float as attribute `kg` of `weight`, but a number as attribute `age` of `person`
    6 | out(a) :- person(_, a), weight(a).
      |                                ^
      = hint: convert with to_number, to_unsigned or to_float
test.dl:6:21: note: a number here
    6 | out(a) :- person(_, a), weight(a).
      |                     ^
1 error, 0 warnings
)");
}

TEST(KindErrors, ConstantOfWrongKind) {
  EXPECT_EQ(
      outcome_of(R"(.decl person(name:symbol, age:number)
person(1, "x").
person("a", 1.5).
person("b", 2u).
)"),
      R"(test.dl:2:8: error: type clash: `1` is a symbol as attribute `name` of `person`, but a number, an unsigned or a float as a numeric constant
    2 | person(1, "x").
      |        ^
      = hint: convert with to_string, or to_number and its like
test.dl:2:11: error: type clash: `"x"` is a number as attribute `age` of `person`, but a symbol as a string
    2 | person(1, "x").
      |           ^~~
      = hint: convert with to_string, or to_number and its like
test.dl:3:13: error: type clash: `1.5` is a number as attribute `age` of `person`, but a float with a decimal point
    3 | person("a", 1.5).
      |             ^~~
      = hint: convert with to_number, to_unsigned or to_float
test.dl:4:13: error: type clash: `2u` is a number as attribute `age` of `person`, but an unsigned with the suffix `u`
    4 | person("b", 2u).
      |             ^~
      = hint: convert with to_number, to_unsigned or to_float
4 errors, 0 warnings
)");
}

TEST(KindErrors, ComparisonOfKinds) {
  EXPECT_EQ(outcome_of(R"(.decl person(name:symbol, age:number)
.input person
.decl out(x:number)
out(a) :- person(n, a), n = a.
out(a) :- person(n, a), n < 5.
out(a) :- person(_, a), a >= 2.5.
out(a) :- person(n, a), match("x.*", a), contains(a, n).
)"),
            R"(test.dl:4:25: error: type clash: the sides of `=` are a symbol and a number
    4 | out(a) :- person(n, a), n = a.
      |                         ^~~~~
test.dl:4:18: note: a symbol as attribute `name` of `person`
    4 | out(a) :- person(n, a), n = a.
      |                  ^
test.dl:4:21: note: a number as attribute `age` of `person`
    4 | out(a) :- person(n, a), n = a.
      |                     ^
test.dl:5:25: error: type clash: the sides of `<` are a symbol and a number, an unsigned or a float
    5 | out(a) :- person(n, a), n < 5.
      |                         ^~~~~
test.dl:5:18: note: a symbol as attribute `name` of `person`
    5 | out(a) :- person(n, a), n < 5.
      |                  ^
test.dl:5:29: note: a number, an unsigned or a float as a numeric constant
    5 | out(a) :- person(n, a), n < 5.
      |                             ^
test.dl:6:25: error: type clash: the sides of `>=` are a number and a float
    6 | out(a) :- person(_, a), a >= 2.5.
      |                         ^~~~~~~~
      = hint: convert with to_number, to_unsigned or to_float
test.dl:6:21: note: a number as attribute `age` of `person`
    6 | out(a) :- person(_, a), a >= 2.5.
      |                     ^
test.dl:6:30: note: a float with a decimal point
    6 | out(a) :- person(_, a), a >= 2.5.
      |                              ^~~
test.dl:7:38: error: type clash: `a` is a symbol as an argument of `match`, but a number as attribute `age` of `person`
    7 | out(a) :- person(n, a), match("x.*", a), contains(a, n).
      |                                      ^
      = hint: convert with to_string, or to_number and its like
test.dl:7:21: note: a number here
    7 | out(a) :- person(n, a), match("x.*", a), contains(a, n).
      |                     ^
4 errors, 0 warnings
)");
}

TEST(KindErrors, OperandOfWrongKind) {
  EXPECT_EQ(
      outcome_of(R"(.decl person(name:symbol, age:number)
.input person
.decl out(x:number)
out(a * 2) :- person(a, _).
out(a + 1.5) :- person(_, a).
out(strlen(a)) :- person(_, a).
out(a) :- person(n, a), substr(n, n, 1) = "x".
out(cat("x", a)) :- person(_, a).
)"),
      R"(test.dl:4:5: error: type clash: `a` is a number, an unsigned or a float as an operand of `*`, but a symbol as attribute `name` of `person`
    4 | out(a * 2) :- person(a, _).
      |     ^
      = hint: convert with to_string, or to_number and its like
test.dl:4:22: note: a symbol here
    4 | out(a * 2) :- person(a, _).
      |                      ^
test.dl:5:5: error: type clash: the sides of `+` are a number and a float
    5 | out(a + 1.5) :- person(_, a).
      |     ^~~~~~~
      = hint: convert with to_number, to_unsigned or to_float
test.dl:5:27: note: a number as attribute `age` of `person`
    5 | out(a + 1.5) :- person(_, a).
      |                           ^
test.dl:5:9: note: a float with a decimal point
    5 | out(a + 1.5) :- person(_, a).
      |         ^~~
test.dl:6:12: error: type clash: `a` is a symbol as an operand of `strlen`, but a number as attribute `age` of `person`
    6 | out(strlen(a)) :- person(_, a).
      |            ^
      = hint: convert with to_string, or to_number and its like
test.dl:6:29: note: a number here
    6 | out(strlen(a)) :- person(_, a).
      |                             ^
test.dl:7:35: error: type clash: `n` is a number as an argument of `substr`, but a symbol as attribute `name` of `person`
    7 | out(a) :- person(n, a), substr(n, n, 1) = "x".
      |                                   ^
      = hint: convert with to_string, or to_number and its like
test.dl:7:18: note: a symbol here
    7 | out(a) :- person(n, a), substr(n, n, 1) = "x".
      |                  ^
test.dl:8:14: error: type clash: `a` is a symbol as an operand of `cat`, but a number as attribute `age` of `person`
    8 | out(cat("x", a)) :- person(_, a).
      |              ^
      = hint: convert with to_string, or to_number and its like
test.dl:8:31: note: a number here
    8 | out(cat("x", a)) :- person(_, a).
      |                               ^
5 errors, 0 warnings
)");
}

TEST(KindErrors, AggregateOverSymbols) {
  EXPECT_EQ(
      outcome_of(R"(.decl person(name:symbol, age:number)
.input person
.decl out(x:number)
out(m) :- m = max n : person(n, _).
out(m) :- m = mean a : person(_, a).
.decl text(x:symbol)
text(c) :- c = count : person(_, _).
)"),
      R"(test.dl:4:19: error: type clash: `n` is a number, an unsigned or a float under `max`, but a symbol as attribute `name` of `person`
    4 | out(m) :- m = max n : person(n, _).
      |                   ^
      = hint: convert with to_string, or to_number and its like
test.dl:4:30: note: a symbol here
    4 | out(m) :- m = max n : person(n, _).
      |                              ^
test.dl:5:20: error: type clash: `a` is a float under `mean`, but a number as attribute `age` of `person`
    5 | out(m) :- m = mean a : person(_, a).
      |                    ^
      = hint: convert with to_number, to_unsigned or to_float
test.dl:5:34: note: a number here
    5 | out(m) :- m = mean a : person(_, a).
      |                                  ^
test.dl:7:6: error: type clash: `c` is a symbol as attribute `x` of `text`, but a number as the result of `count`
    7 | text(c) :- c = count : person(_, _).
      |      ^
      = hint: convert with to_string, or to_number and its like
test.dl:7:16: note: a number here
    7 | text(c) :- c = count : person(_, _).
      |                ^~~~~~~~~~~~~~~~~~~~
3 errors, 0 warnings
)");
}

TEST(KindErrors, NumberOutOfRange) {
  EXPECT_EQ(
      outcome_of(R"(.decl n(x:number)
n(9223372036854775807).
n(9223372036854775808).
n(-9223372036854775808).
n(-9223372036854775809).
n(0x8000000000000000).
n(99999999999999999999999999).
.decl u(x:unsigned)
u(18446744073709551615).
u(18446744073709551616).
u(-1).
u(0b11u).
.decl f(x:float)
f(1.0e308).
f(1.0e309).
f(9).
)"),
      R"(test.dl:3:3: error: `9223372036854775808` does not fit a number (-9223372036854775808 to 9223372036854775807)
    3 | n(9223372036854775808).
      |   ^~~~~~~~~~~~~~~~~~~
test.dl:5:3: error: `-9223372036854775809` does not fit a number (-9223372036854775808 to 9223372036854775807)
    5 | n(-9223372036854775809).
      |   ^~~~~~~~~~~~~~~~~~~~
test.dl:6:3: error: `0x8000000000000000` does not fit a number (-9223372036854775808 to 9223372036854775807)
    6 | n(0x8000000000000000).
      |   ^~~~~~~~~~~~~~~~~~
test.dl:7:3: error: `99999999999999999999999999` does not fit a number (-9223372036854775808 to 9223372036854775807)
    7 | n(99999999999999999999999999).
      |   ^~~~~~~~~~~~~~~~~~~~~~~~~~
test.dl:10:3: error: `18446744073709551616` does not fit an unsigned (0 to 18446744073709551615)
   10 | u(18446744073709551616).
      |   ^~~~~~~~~~~~~~~~~~~~
test.dl:11:3: error: `-1` is negative but is used as an unsigned
   11 | u(-1).
      |   ^~
test.dl:15:3: error: `1.0e309` does not fit a 64-bit float
   15 | f(1.0e309).
      |   ^~~~~~~
7 errors, 0 warnings
)");
}

TEST(KindErrors, UnknownTypeInCast) {
  EXPECT_EQ(outcome_of(R"(.type Node <: number
.decl n(x:number)
n(as(1, Nod)).
)"),
            R"(test.dl:3:9: error: unknown type `Nod`
    3 | n(as(1, Nod)).
      |         ^~~
      = hint: did you mean `Node`?
1 error, 0 warnings
)");
}

TEST(SubtypeErrors, HeadTakesAWiderType) {
  EXPECT_EQ(
      outcome_of(R"(.type Animal <: symbol
.type Dog <: Animal
.decl animal(a:Animal)
.decl dog(d:Dog)
animal("cat").
animal(d) :- dog(d).
dog(a) :- animal(a).
dog(as(a, Animal)) :- animal(a).
dog(as(a, Dog)) :- animal(a).
)"),
      R"(test.dl:7:5: error: type `Animal` does not fit attribute `d` of `dog`, which takes `Dog`
    7 | dog(a) :- animal(a).
      |     ^
      = hint: `as(..., Dog)` converts if that is meant
test.dl:7:18: note: it is of type `Animal` here
    7 | dog(a) :- animal(a).
      |                  ^
test.dl:4:11: note: the attribute is declared here
    4 | .decl dog(d:Dog)
      |           ^~~~~
test.dl:8:5: error: type `Animal` does not fit attribute `d` of `dog`, which takes `Dog`
    8 | dog(as(a, Animal)) :- animal(a).
      |     ^~~~~~~~~~~~~
      = hint: `as(..., Dog)` converts if that is meant
test.dl:4:11: note: the attribute is declared here
    4 | .decl dog(d:Dog)
      |           ^~~~~
2 errors, 0 warnings
)");
}

TEST(SubtypeErrors, NothingInCommon) {
  EXPECT_EQ(
      outcome_of(R"(.type Dog <: symbol
.type Cat <: symbol
.decl dog(d:Dog)
.decl cat_(c:Cat)
.decl out(s:symbol)
dog("rex").
cat_("tom").
out(x) :- dog(x), cat_(x).
out(x) :- dog(x), cat_(y), x = y.
)"),
      R"(test.dl:8:24: error: `x` would have to be of the types `Dog` and `Cat`, which have nothing in common
    8 | out(x) :- dog(x), cat_(x).
      |                        ^
      = hint: `as(x, Cat)` converts between them
test.dl:8:15: note: of type `Dog` here
    8 | out(x) :- dog(x), cat_(x).
      |               ^
test.dl:9:28: error: `y` would have to be of the types `Cat` and `Dog`, which have nothing in common
    9 | out(x) :- dog(x), cat_(y), x = y.
      |                            ^~~~~
      = hint: `as(y, Dog)` converts between them
test.dl:9:24: note: of type `Cat` here
    9 | out(x) :- dog(x), cat_(y), x = y.
      |                        ^
2 errors, 0 warnings
)");
}

TEST(SubtypeErrors, UnionsAreWider) {
  EXPECT_EQ(outcome_of(R"(.type Dog <: symbol
.type Cat <: symbol
.type Pet = Dog | Cat
.decl pet(p:Pet)
.decl dog(d:Dog)
pet("rex").
dog("rex").
pet(x) :- dog(x).
dog(x) :- pet(x).
)"),
            R"(test.dl:9:5: error: type `Pet` does not fit attribute `d` of `dog`, which takes `Dog`
    9 | dog(x) :- pet(x).
      |     ^
      = hint: `as(..., Dog)` converts if that is meant
test.dl:9:15: note: it is of type `Pet` here
    9 | dog(x) :- pet(x).
      |               ^
test.dl:5:11: note: the attribute is declared here
    5 | .decl dog(d:Dog)
      |           ^~~~~
1 error, 0 warnings
)");
}

}  // namespace
}  // namespace stratalog::datalog
