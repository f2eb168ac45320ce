// SPDX-License-Identifier: Apache-2.0
// Hostile sizes: nothing may exhaust the stack or the memory, and each limit says so.
#include <gtest/gtest.h>

#include <string>

#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

std::string repeated(const std::string& piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

const std::string kDeclaration = ".decl a(x:number)\n";

TEST(Limits, NestedParenthesesInTerms) {
  const std::string text =
      kDeclaration + "a(" + repeated("(", 100000) + "1" + repeated(")", 100000) + ").\n";
  EXPECT_EQ(first_line(outcome_of(text)),
            "test.dl:2:203: error: this nests deeper than 200 levels");
}

TEST(Limits, NestedParenthesesInFormulas) {
  const std::string text =
      kDeclaration + "a(1) :- " + repeated("(", 3000) + "a(2)" + repeated(")", 3000) + ".\n";
  EXPECT_EQ(first_line(outcome_of(text)),
            "test.dl:2:209: error: this nests deeper than 200 levels");
}

TEST(Limits, Negations) {
  EXPECT_EQ(first_line(outcome_of(kDeclaration + "a(1) :- " + repeated("!", 100000) + "a(2).\n")),
            "test.dl:2:208: error: this nests deeper than 200 levels");
}

TEST(Limits, UnaryOperators) {
  EXPECT_EQ(first_line(outcome_of(kDeclaration + "a(" + repeated("- ", 100000) + "1).\n")),
            "test.dl:2:401: error: this nests deeper than 200 levels");
}

TEST(Limits, OperatorChains) {
  EXPECT_EQ(first_line(outcome_of(kDeclaration + "a(1" + repeated(" + 1", 100000) + ").\n")),
            "test.dl:2:3: error: this nests deeper than 1000 levels");
  EXPECT_EQ(first_line(outcome_of(kDeclaration + "a(1" + repeated(" ^ 1", 100000) + ").\n")),
            "test.dl:2:803: error: this nests deeper than 200 levels");
  EXPECT_EQ(first_line(outcome_of(kDeclaration + "a(1" + repeated(" + 1", 999) + ").\n")),
            ".decl a(x: number)");
}

TEST(Limits, NestedAggregates) {
  const std::string text = kDeclaration + "a(x) :- x = " + repeated("sum x : { a(x), x = ", 10000) +
                           "1" + repeated("}", 10000) + ".\n";
  EXPECT_NE(first_line(outcome_of(text)).find("this nests deeper than 200 levels"),
            std::string::npos);
}

TEST(Limits, DisjunctionsThatMultiply) {
  const std::string text = kDeclaration + "a(x) :- x = 1" + repeated(", (a(x) ; a(x))", 60) + ".\n";
  EXPECT_EQ(first_line(outcome_of(text)),
            "test.dl:2:9: error: this body is too large once its disjunctions are written out "
            "(more than 4096 rules, or "
            "1024 literals in one)");
}

TEST(Limits, HeadsTimesBodies) {
  const std::string text =
      kDeclaration + repeated("a(x), ", 1100) + "a(x) :- a(x), (x = 1 ; x = 2 ; x = 3 ; x = 4).\n";
  EXPECT_EQ(first_line(outcome_of(text)),
            "test.dl:2:1: error: this rule stands for 4404 rules; the limit is 4096");
}

TEST(Limits, LongBodies) {
  EXPECT_EQ(
      first_line(outcome_of(kDeclaration + "a(x) :- a(x)" + repeated(", a(x)", 5000) + ".\n")),
      "test.dl:2:9: error: this body is too large once its disjunctions are written out (more than "
      "4096 rules, or "
      "1024 literals in one)");
}

TEST(Limits, ErrorsAreCapped) {
  const std::string seen = outcome_of(kDeclaration + repeated("b(1).\n", 250));
  EXPECT_NE(seen.find("test.dl:101:1: error: undeclared relation `b`"), std::string::npos);
  EXPECT_EQ(seen.find("test.dl:102:1: error"), std::string::npos);
  EXPECT_NE(seen.find("test.dl: error: 150 more errors are not shown\n"), std::string::npos);
  EXPECT_NE(seen.find("\n250 errors, "), std::string::npos);
}

TEST(Limits, NotDatalogAtAll) {
  const std::string seen = outcome_of(repeated("int main() { return 0; }\n", 20000));
  EXPECT_NE(seen.find("test.dl:1:5: error: unexpected name `main`"), std::string::npos);
}

TEST(Limits, TooLargeAProgram) {
  const std::string text(kMaxSourceBytes + 1, ' ');
  EXPECT_EQ(outcome_of(text),
            "test.dl: error: the program has 67108865 bytes; the limit is 67108864; put facts into "
            "files and read them "
            "with .input\n1 error, 0 warnings\n");
}

TEST(Limits, LongChainsOfTypes) {
  std::string text;
  for (int i = 0; i < 20000; ++i) {
    text += ".type T" + std::to_string(i) +
            " <: " + (i == 19999 ? "number" : "T" + std::to_string(i + 1)) + "\n";
  }
  text += ".decl a(x:T0)\na(1).\n";
  EXPECT_NE(outcome_of(text).find("  a(1).\n"), std::string::npos);
}

TEST(Limits, LongChainsOfRelations) {
  std::string text = ".decl r0(x:number)\nr0(1).\n";
  for (int i = 1; i < 20000; ++i) {
    const std::string n = std::to_string(i);
    text += ".decl r" + n + "(x:number)\nr" + n + "(x) :- r" + std::to_string(i - 1) + "(x).\n";
  }
  const CompileOutcome outcome = compile({"test.dl", text});
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_EQ(outcome.program->strata.size(), 20000U);
}

TEST(Limits, ManyFacts) {
  std::string text = kDeclaration;
  for (int i = 0; i < 50000; ++i) text += "a(" + std::to_string(i) + ").";
  const CompileOutcome outcome = compile({"test.dl", text});
  ASSERT_TRUE(outcome.is_ok());
  EXPECT_EQ(outcome.program->rules.size(), 50000U);
}

TEST(Limits, LongLinesAreCutAroundTheCaret) {
  const std::string line =
      kDeclaration + repeated("a(1). ", 100) + "b(2). " + repeated("a(3). ", 100) + "\n";
  EXPECT_EQ(outcome_of(line),
            "test.dl:2:601: error: undeclared relation `b`\n"
            "    2 | ..." +
                repeated("a(1). ", 10) + "b(2). " + repeated("a(3). ", 15) +
                "a(3)...\n"
                "      | " +
                std::string(63, ' ') +
                "^\n"
                "      = hint: declare it with `.decl b(...)`\n"
                "1 error, 0 warnings\n");
}

TEST(Limits, BytesOfAnyKind) {
  std::string text = kDeclaration;
  for (int i = 0; i < 256; ++i) text.push_back(static_cast<char>(i));
  EXPECT_NE(outcome_of(text).find("error"), std::string::npos);
  EXPECT_NE(outcome_of(std::string("\0.decl", 6)).find("error"), std::string::npos);
}

}  // namespace
}  // namespace stratalog::datalog
