// SPDX-License-Identifier: Apache-2.0
// Errors in declarations, types and IO directives, with the whole message.
#include <gtest/gtest.h>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

TEST(DeclarationErrors, RelationDeclaredTwice) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.decl edge(x:symbol)
edge(1).
)"),
            R"(test.dl:2:7: error: relation `edge` is declared twice
    2 | .decl edge(x:symbol)
      |       ^~~~
test.dl:1:7: note: the first declaration is here
    1 | .decl edge(x:number)
      |       ^~~~
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, TooManyColumns) {
  const auto wide = [](int columns) {
    std::string text = ".decl wide(c0:number";
    for (int c = 1; c < columns; ++c) text += ",c" + std::to_string(c) + ":number";
    return text + ")\n.output wide\n";
  };
  EXPECT_EQ(outcome_of(wide(64)).find("supported"), std::string::npos);
  const std::string outcome = outcome_of(wide(65));
  EXPECT_EQ(outcome.find("test.dl:1:7: error: relation `wide` has 65 columns, at most 64 are "
                         "supported\n"),
            0U)
      << outcome;
  EXPECT_NE(outcome.find("records hold several values in one column"), std::string::npos);
}

TEST(DeclarationErrors, AttributeDeclaredTwice) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number, x:symbol)
edge(1, "a").
)"),
            R"(test.dl:1:22: error: attribute `x` of `edge` is declared twice
    1 | .decl edge(x:number, x:symbol)
      |                      ^
test.dl:1:12: note: the first one is here
    1 | .decl edge(x:number, x:symbol)
      |            ^
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, UnknownType) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:numbor, y:Node)
.type Mode <: number
edge(1, 2).
)"),
            R"(test.dl:1:14: error: unknown type `numbor`
    1 | .decl edge(x:numbor, y:Node)
      |              ^~~~~~
      = hint: did you mean `number`?
test.dl:1:24: error: unknown type `Node`
    1 | .decl edge(x:numbor, y:Node)
      |                        ^~~~
      = hint: did you mean `Mode`?
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, TypeDeclaredTwice) {
  EXPECT_EQ(outcome_of(R"(.type Node <: number
.type Node <: symbol
.type number <: symbol
.decl a(x:Node)
a(1).
)"),
            R"(test.dl:2:7: error: type `Node` is declared twice
    2 | .type Node <: symbol
      |       ^~~~
test.dl:1:7: note: the first declaration is here
    1 | .type Node <: number
      |       ^~~~
test.dl:3:7: error: `number` is a predefined type and cannot be declared
    3 | .type number <: symbol
      |       ^~~~~~
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, TypeThroughItself) {
  EXPECT_EQ(outcome_of(R"(.type A <: B
.type B = C
.type C <: A
.type D <: D
.decl a(x:A)
a(1).
)"),
            R"(test.dl:3:7: error: type `C` is defined through itself
    3 | .type C <: A
      |       ^
test.dl:1:7: note: by way of `A`
    1 | .type A <: B
      |       ^
test.dl:2:7: note: by way of `B`
    2 | .type B = C
      |       ^
test.dl:4:7: error: type `D` is defined through itself
    4 | .type D <: D
      |       ^
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, UnionOfKinds) {
  EXPECT_EQ(outcome_of(R"(.type A <: number
.type B <: symbol
.type U = A | number | B
.decl a(x:U)
a(1).
)"),
            R"(test.dl:3:24: error: union type `U` mixes `A` (a number) and `B` (a symbol)
    3 | .type U = A | number | B
      |                        ^
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, SubtypeOfUnion) {
  EXPECT_EQ(outcome_of(R"(.type A <: number
.type B <: number
.type U = A | B
.type V = U
.type S <: V
.decl a(x:S)
a(1).
)"),
            R"(test.dl:5:12: error: `V` is a union and cannot have subtypes
    5 | .type S <: V
      |            ^
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, RepeatedQualifier) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number) brie brie
a(1).
)"),
            R"(test.dl:1:24: error: the qualifier `brie` is given twice
    1 | .decl a(x:number) brie brie
      |                        ^~~~
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, DirectiveForUnknownRelation) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
edge(1).
.output edgr
.printsize missing
)"),
            R"(test.dl:3:9: error: undeclared relation `edgr`
    3 | .output edgr
      |         ^~~~
      = hint: did you mean `edge`?
test.dl:4:12: error: undeclared relation `missing`
    4 | .printsize missing
      |            ^~~~~~~
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, PrintsizeTwice) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
edge(1).
.printsize edge
.printsize edge
)"),
            R"(test.dl:4:12: error: `.printsize edge` is given twice
    4 | .printsize edge
      |            ^~~~
test.dl:3:12: note: the first one is here
    3 | .printsize edge
      |            ^~~~
1 error, 0 warnings
)");
}

TEST(IoParameterErrors, UnknownParameter) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.input edge(delimitar=",")
.input edge(file="x", foo=1)
)"),
            R"(test.dl:2:13: error: unknown IO parameter `delimitar`
    2 | .input edge(delimitar=",")
      |             ^~~~~~~~~
      = hint: did you mean `delimiter`?
test.dl:3:13: error: unknown IO parameter `file`
    3 | .input edge(file="x", foo=1)
      |             ^~~~
      = hint: the parameters are IO, filename, delimiter, headers, compress, rfc4180, columns, format, name, attributeNames, dbname
test.dl:3:23: error: unknown IO parameter `foo`
    3 | .input edge(file="x", foo=1)
      |                       ^~~
      = hint: the parameters are IO, filename, delimiter, headers, compress, rfc4180, columns, format, name, attributeNames, dbname
3 errors, 0 warnings
)");
}

TEST(IoParameterErrors, UnknownKind) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.input edge(IO=fil)
.output edge(IO="parquet")
)"),
            R"(test.dl:2:16: error: unknown IO `fil`
    2 | .input edge(IO=fil)
      |                ^~~
      = expected: file, stdin, jsonfile, sqlite or hdf5
      = hint: did you mean `file`?
test.dl:3:17: error: unknown IO `parquet`
    3 | .output edge(IO="parquet")
      |                 ^~~~~~~~~
      = expected: file, jsonfile, stdout, stdoutprintsize, json, sqlite or hdf5
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, UnknownQualifiers) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number) eqrell
.decl b(x:number) quick brie
a(x) :- b(x).
b(1).
.decl c(x:number) c(1).
)"),
            R"(test.dl:1:19: error: unknown qualifier `eqrell`
    1 | .decl a(x:number) eqrell
      |                   ^~~~~~
      = hint: did you mean `eqrel`?
test.dl:2:19: error: unknown qualifier `quick`
    2 | .decl b(x:number) quick brie
      |                   ^~~~~
      = hint: the qualifiers are brie, btree, btree_delete, choice-domain, eqrel, inline, magic, no_magic, overridable, no_inline, input, output, printsize
2 errors, 0 warnings
)");
}

TEST(DeclarationErrors, BrokenFunctorsAreReportedOnce) {
  EXPECT_EQ(outcome_of(R"(.decl a(x:number)
.functor f(x:number):whole stateful
.functor g(x:number):number
a(@f(1)).
a(@g(1, 2)).
)"),
            R"(test.dl:2:22: error: unknown type `whole`
    2 | .functor f(x:number):whole stateful
      |                      ^~~~~
      = hint: declare it with `.type whole <: number` (or unsigned, float, symbol)
test.dl:5:3: error: `@g` takes 1 argument, not 2
    5 | a(@g(1, 2)).
      |   ^~~~~~~~
test.dl:3:10: note: it is declared here
    3 | .functor g(x:number):number
      |          ^
2 errors, 0 warnings
)");
}

TEST(IoParameterErrors, ParametersThatDoNothing) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.output edge(columns="0")
.input edge(columns="", attributeNames="A")
.output edge(attributeNames="A")
.output edge(IO=stdout, headers=true, attributeNames="A")
)"),
            R"(test.dl:2:14: error: `columns` has no meaning for writing
    2 | .output edge(columns="0")
      |              ^~~~~~~
      = hint: it says which fields of a file are read; a relation is written as it is declared
test.dl:3:21: error: `columns` is empty
    3 | .input edge(columns="", attributeNames="A")
      |                     ^~
      = expected: numbers of fields, such as "0:2"
test.dl:3:25: error: `attributeNames` has no meaning for reading
    3 | .input edge(columns="", attributeNames="A")
      |                         ^~~~~~~~~~~~~~
      = hint: it is the line that `headers=true` writes
test.dl:4:14: error: `attributeNames` does nothing without `headers=true`
    4 | .output edge(attributeNames="A")
      |              ^~~~~~~~~~~~~~
      = hint: add `headers=true`: it is the line that this writes
4 errors, 0 warnings
)");
}

TEST(IoParameterErrors, WrongDirection) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.input edge(IO=stdout)
.output edge(IO=stdin)
)"),
            R"(test.dl:2:16: error: IO `stdout` cannot be used for reading
    2 | .input edge(IO=stdout)
      |                ^~~~~~
      = expected: file, stdin, jsonfile, sqlite or hdf5
test.dl:3:17: error: IO `stdin` cannot be used for writing
    3 | .output edge(IO=stdin)
      |                 ^~~~~
      = expected: file, jsonfile, stdout, stdoutprintsize, json, sqlite or hdf5
2 errors, 0 warnings
)");
}

TEST(IoParameterErrors, WrongValue) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.input edge(headers=yes, compress=1)
.output edge(delimiter="", rfc4180="maybe")
)"),
            R"(test.dl:2:21: error: `headers` is true or false, not `yes`
    2 | .input edge(headers=yes, compress=1)
      |                     ^~~
test.dl:2:35: error: `compress` is true or false, not `1`
    2 | .input edge(headers=yes, compress=1)
      |                                   ^
test.dl:3:24: error: the delimiter is empty
    3 | .output edge(delimiter="", rfc4180="maybe")
      |                        ^~
      = expected: a text such as "," or "\t"
test.dl:3:36: error: `rfc4180` is true or false, not `maybe`
    3 | .output edge(delimiter="", rfc4180="maybe")
      |                                    ^~~~~~~
4 errors, 0 warnings
)");
}

TEST(IoParameterErrors, ParameterTwice) {
  EXPECT_EQ(outcome_of(R"(.decl edge(x:number)
.input edge(filename="a", filename="b")
)"),
            R"(test.dl:2:27: error: parameter `filename` is given twice
    2 | .input edge(filename="a", filename="b")
      |                           ^~~~~~~~
1 error, 0 warnings
)");
}

TEST(DeclarationErrors, PragmasWithoutMeaningNameThoseThatHaveOne) {
  EXPECT_EQ(outcome_of(".pragma \"compile\"\n"),
            R"(test.dl:1:9: warning: `.pragma "compile"` is ignored
    1 | .pragma "compile"
      |         ^~~~~~~~~
      = hint: the names that have a meaning are fact-dir, output-dir, libraries, library-dir, magic-transform and magic-transform-exclude
0 errors, 1 warning
)");
}

}  // namespace
}  // namespace stratalog::datalog
