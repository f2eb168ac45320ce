// SPDX-License-Identifier: Apache-2.0
// Errors of the parser and the lexer: each class once, with the whole message.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(SyntaxErrors, MissingDotBeforeTheNextRule) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1)
a(2).
)"),
            R"(test.dl:2:4: error: the `.` that ends this clause is missing
    2 | a(1)
      |    ^
      = expected: `,` and more of the clause, or `.`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, MissingDotAtTheEnd) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1).
a(2)
)"),
            R"(test.dl:3:4: error: the `.` that ends this clause is missing
    3 | a(2)
      |    ^
      = expected: `,` and more of the clause, or `.`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, EachClauseOnce) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1,,2).
a(x) :- a(x), .
a(3) :- .
b(1).
a(4).
)"),
            R"(test.dl:2:5: error: unexpected `,`
    2 | a(1,,2).
      |     ^
      = expected: a variable, a constant or an expression
test.dl:3:15: error: unexpected `.`
    3 | a(x) :- a(x), .
      |               ^
      = expected: a variable, a constant or an expression
test.dl:4:9: error: unexpected `.`
    4 | a(3) :- .
      |         ^
      = expected: a variable, a constant or an expression
test.dl:5:1: error: undeclared relation `b`
    5 | b(1).
      | ^
      = hint: declare it with `.decl b(...)`
4 errors, 0 warnings
)");
}

TEST(SyntaxErrors, MissingParenthesis) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number
a(1).
)"),
            R"(test.dl:2:1: error: unexpected name `a`
    2 | a(1).
      | ^
      = expected: `,` or `)`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, MissingArguments) {
  EXPECT_EQ(outcome_of(R"(.decl a()
.decl b()
b() :- a.
)"),
            R"(test.dl:3:9: error: unexpected `.`
    3 | b() :- a.
      |         ^
      = expected: a comparison: = != < <= > >=
      = hint: a relation without columns is written `a()`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, HeadWithoutArguments) {
  EXPECT_EQ(outcome_of(R"(.decl a()
a.
)"),
            R"(test.dl:2:2: error: unexpected `.`
    2 | a.
      |  ^
      = expected: `(` and the arguments
      = hint: a relation without columns is written `a()`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, UnknownDirectiveLikeNone) {
  EXPECT_EQ(outcome_of(".foo a\n"),
            R"(test.dl:1:1: error: unknown directive `.foo`
    1 | .foo a
      | ^~~~
      = hint: the directives are .decl .type .input .output .printsize .limitsize .functor .lattice .comp .init .override .pragma .plan .include .once
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, Folds) {
  EXPECT_EQ(outcome_of(R"(.functor lub(a:number, b:number):number
.decl a(x:number)
.decl b(x:number)
b(1).
a(y) :- y = @@lub x : 0, { b(x) }.
a(y) :- y = @@lub x : y, { b(x) }.
a(y) :- y = @@lub : 0, { b(x) }.
)"),
            R"(test.dl:6:23: error: ungrounded variable `y`
    6 | a(y) :- y = @@lub x : y, { b(x) }.
      |                       ^
      = expected: a positive atom in the body, or an equation, that gives it a value
test.dl:7:19: error: unexpected `:`
    7 | a(y) :- y = @@lub : 0, { b(x) }.
      |                   ^
      = expected: a variable, a constant or an expression
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, UnknownDirective) {
  EXPECT_EQ(outcome_of(R"(.dcl a(x:number)
.decl b(x:number)
b(1).
)"),
            R"(test.dl:1:1: error: unknown directive `.dcl`
    1 | .dcl a(x:number)
      | ^~~~
      = hint: did you mean `.decl`?
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, RuleWithoutHead) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
:- a(1).
)"),
            R"(test.dl:2:1: error: unexpected `:-`
    2 | :- a(1).
      | ^~
      = expected: a directive, a fact or a rule
      = hint: a rule begins with its head, as in `path(x,y) :- edge(x,y).`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, SeveralFactsAtOnce) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1), a(2).
)"),
            R"(test.dl:2:11: error: unexpected `.`
    2 | a(1), a(2).
      |           ^
      = expected: `:-`
      = hint: several facts are written one by one, each with its own `.`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, AtomUsedAsValue) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1).
a(x) :- a(x), a(x) = 1.
)"),
            R"(test.dl:3:20: error: unexpected `=`
    3 | a(x) :- a(x), a(x) = 1.
      |                    ^
      = expected: `,` `;` or `.` after an atom
      = hint: a relation has no value; compare its arguments, or use an aggregate such as `count : ...`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, RelationInsideExpression) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1).
a(x) :- x = a(1) + 1.
)"),
            R"(test.dl:3:13: error: `a(...)` is not an expression
    3 | a(x) :- x = a(1) + 1.
      |             ^
      = hint: relations cannot be used inside expressions; the functors are cat, ord, strlen, substr, to_float, to_number, to_string, to_unsigned, min, max and range
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, TermWithoutComparison) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(x) :- a(x), x + 1.
)"),
            R"(test.dl:2:20: error: unexpected `.`
    2 | a(x) :- a(x), x + 1.
      |                    ^
      = expected: a comparison: = != < <= > >=
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, ReservedWordAsVariable) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(max) :- a(max).
)"),
            R"(test.dl:2:3: error: unexpected reserved word `max`
    2 | a(max) :- a(max).
      |   ^~~
      = expected: `max expression : { body }`, or a variable of another name
      = hint: `max` is a reserved word and cannot be used as a name
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, UnclosedString) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:symbol)
a("one).
a("two").
a(3).
)"),
            R"(test.dl:2:3: error: this string is not closed on its line; `"` is missing
    2 | a("one).
      |   ^~~~~~
test.dl:4:3: error: type clash: `3` is a symbol as attribute `x` of `a`, but a number, an unsigned or a float as a numeric constant
    4 | a(3).
      |   ^
      = hint: convert with to_string, or to_number and its like
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, UnclosedComment) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:symbol)
a("two").
/* never ends
a(3).
)"),
            R"(test.dl:3:1: error: this comment is not closed; `*/` is missing
    3 | /* never ends
      | ^~
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, UnknownEscape) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:symbol)
a("\q").
)"),
            R"(test.dl:2:4: error: unknown escape sequence in a string
    2 | a("\q").
      |    ^~
      = expected: one of \" \' \\ \a \b \f \n \r \t \v
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, StrayCharacter) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(1) & a(2).
a(ü).
)"),
            R"(test.dl:2:6: error: this character has no meaning here
    2 | a(1) & a(2).
      |      ^
test.dl:3:3: error: this character has no meaning here
    3 | a(ü).
      |   ^
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, MalformedNumber) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(12abc).
a(0b12).
a(1.2.3).
a(300.1.1.1).
)"),
            R"(test.dl:2:3: error: malformed number
    2 | a(12abc).
      |   ^~~~~
test.dl:3:3: error: malformed number
    3 | a(0b12).
      |   ^~~~
test.dl:4:3: error: this is neither a float nor an IPv4 address
    4 | a(1.2.3).
      |   ^~~~~
test.dl:5:3: error: a part of this IPv4 address is larger than 255
    5 | a(300.1.1.1).
      |   ^~~~~~~~~
4 errors, 0 warnings
)");
}

TEST(SyntaxErrors, HashInTheMiddle) {
  EXPECT_EQ(
      outcome_of(R"(.decl a(x:number) # comment
a(1).
)"),
      R"(test.dl:1:19: error: `#` begins a preprocessor line and must be the first character of its line
    1 | .decl a(x:number) # comment
      |                   ^
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, WrongFunctorArity) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:symbol)
a(substr("abc", 1)).
a(cat()).
a(x) :- a(x), match(x).
a(to_string(strlen("a", "b"))).
a(to_string(range(1))).
)"),
            R"(test.dl:2:3: error: `substr` takes 3 arguments, not 2
    2 | a(substr("abc", 1)).
      |   ^~~~~~~~~~~~~~~~
      = expected: `substr(text, start, length)`
test.dl:3:3: error: `cat` takes at least 1 argument, not 0
    3 | a(cat()).
      |   ^~~~~
      = expected: `cat(a, b, ...)`
test.dl:4:15: error: `match` takes 2 arguments, not 1
    4 | a(x) :- a(x), match(x).
      |               ^~~~~~~~
      = expected: `match(pattern, text)`
test.dl:5:13: error: `strlen` takes 1 argument, not 2
    5 | a(to_string(strlen("a", "b"))).
      |             ^~~~~~~~~~~~~~~~
      = expected: `strlen(text)`
test.dl:6:13: error: `range` takes 2 or 3 arguments, not 1
    6 | a(to_string(range(1))).
      |             ^~~~~~~~
      = expected: `range(from, to)` or `range(from, to, step)`
5 errors, 0 warnings
)");
}

TEST(SyntaxErrors, AggregateWithoutBody) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(x) :- x = count.
a(x) :- x = sum y.
a(x) :- x = sum : { a(_) }.
a(x) :- x = count y : { a(y) }.
a(x) :- x = sum(1, 2).
a(x) :- x = count : x.
)"),
            R"(test.dl:2:13: error: unexpected reserved word `count`
    2 | a(x) :- x = count.
      |             ^~~~~
      = expected: `count : { body }`, or a variable of another name
      = hint: `count` is a reserved word and cannot be used as a name
test.dl:3:18: error: unexpected `.`
    3 | a(x) :- x = sum y.
      |                  ^
      = expected: `:` and the body of the aggregate
test.dl:4:13: error: `sum` needs an expression
    4 | a(x) :- x = sum : { a(_) }.
      |             ^~~
      = expected: `sum expression : { body }`
test.dl:5:19: error: `count` takes no expression
    5 | a(x) :- x = count y : { a(y) }.
      |                   ^
      = expected: `count : { body }`
test.dl:6:13: error: `sum` is an aggregate, not a functor
    6 | a(x) :- x = sum(1, 2).
      |             ^~~~~~~~~
      = expected: `sum expression : { body }`
test.dl:7:22: error: unexpected `.`
    7 | a(x) :- x = count : x.
      |                      ^
      = expected: `(` and the arguments
      = hint: a relation without columns is written `x()`
6 errors, 0 warnings
)");
}

TEST(SyntaxErrors, AttributeWithoutType) {
  EXPECT_EQ(outcome_of(R"(.decl a(x)
.decl b(x:)
b(1).
)"),
            R"(test.dl:1:10: error: unexpected `)`
    1 | .decl a(x)
      |          ^
      = expected: `:` and the type of the attribute
test.dl:2:11: error: unexpected `)`
    2 | .decl b(x:)
      |           ^
      = expected: a type: number, unsigned, float, symbol or a declared one
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, CastWithoutType) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(as(1)).
)"),
            R"(test.dl:2:7: error: unexpected `)`
    2 | a(as(1)).
      |       ^
      = expected: `,` and a type, as in `as(x, number)`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, ParameterWithoutValue) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.input a(filename)
.input a(filename=)
a(1).
)"),
            R"(test.dl:2:18: error: unexpected `)`
    2 | .input a(filename)
      |                  ^
      = expected: `=` and the value of the parameter
test.dl:3:19: error: unexpected `)`
    3 | .input a(filename=)
      |                   ^
      = expected: a value: a string, a name, a number, true or false
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, PragmaWithoutQuotes) {
  EXPECT_EQ(outcome_of(R"(.pragma magic-transform
.decl a(x:number)
a(1).
)"),
            R"(test.dl:1:9: error: unexpected reserved word `magic`
    1 | .pragma magic-transform
      |         ^~~~~
      = expected: the pragma's name in quotes
      = hint: `magic` is a reserved word and cannot be used as a name
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, TypeWithoutName) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.type 5
a(1).
)"),
            R"(test.dl:2:7: error: unexpected number `5`
    2 | .type 5
      |       ^
      = expected: the name of the new type
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, NegationOfNothing) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(x) :- a(x), !.
)"),
            R"(test.dl:2:16: error: unexpected `.`
    2 | a(x) :- a(x), !.
      |                ^
      = expected: a variable, a constant or an expression
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, UnbalancedParenthesis) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
a(x) :- (a(x), a(x).
a(x) :- a(x)).
)"),
            R"(test.dl:2:20: error: unexpected `.`
    2 | a(x) :- (a(x), a(x).
      |                    ^
      = expected: `,` `;` or `)`
test.dl:3:13: error: unexpected `)`
    3 | a(x) :- a(x)).
      |             ^
      = expected: `,` `;` or `.`
2 errors, 0 warnings
)");
}

TEST(SyntaxErrors, DirectiveWithoutBlank) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.output(a)
a(1).
)"),
            R"(test.dl:2:1: error: `.output` must be followed by a blank
    2 | .output(a)
      | ^~~~~~~
      = expected: `.output name`
1 error, 0 warnings
)");
}

TEST(SyntaxErrors, StringOverTwoLines) {
  EXPECT_EQ(outcome_of(R"(.decl s(x:symbol)
s("one
two").
s(3).
)"),
            R"(test.dl:2:3: error: this string is not closed on its line; `"` is missing
    2 | s("one
      |   ^~~~
1 error, 0 warnings
)");
}

}  // namespace
}  // namespace stratalog::datalog
