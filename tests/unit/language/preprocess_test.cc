// SPDX-License-Identifier: Apache-2.0
// The preprocessor: macros, #include, .include, and the way back from expanded text to the user's
// lines.
#include "datalog/language/preprocess.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "datalog/language/compile.h"
#include "datalog/language/print_program.h"
#include "unit/language/outcome_of.h"

namespace stratalog::datalog {
namespace {

class Preprocess : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("stratalog_preprocess_" +
                  std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ / "inc");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }

  std::string outcome(const std::string& text, const CompileOptions& options = {}) const {
    const CompileOutcome result = compile({(directory_ / "main.dl").string(), text}, options);
    std::string seen = render_all(result.diagnostics);
    if (result.program) seen += print_program(*result.program);
    const std::string prefix = directory_.string() + '/';
    for (std::size_t at = seen.find(prefix); at != std::string::npos; at = seen.find(prefix)) {
      seen.erase(at, prefix.size());
    }
    return seen;
  }

  std::filesystem::path directory_;
};

TEST_F(Preprocess, MacrosAreExpanded) {
  EXPECT_EQ(outcome("#define TWICE(x) ((x) * 2)\n#ifdef MISSING\nsyntax error\n#endif\n"
                    ".decl a(x:number)\na(3).\na(TWICE(x)) :- a(x), x < LIMIT.\n",
                    {.macros = {"LIMIT=10"}}),
            ".decl a(x: number)\n"
            "stratum 0 (recursive): a\n"
            "  a(3).\n"
            "  a(x * 2) :- a(x), x < 10.\n");
}

TEST_F(Preprocess, ByteOrderMarksAreSkipped) {
  const std::string mark = "\xEF\xBB\xBF";
  write("a.dl", mark + ".decl a(x:number)\na(1).\n");
  const std::string expected = ".decl a(x: number)\nstratum 0: a\n  a(1).\n";
  EXPECT_EQ(outcome(mark + ".decl a(x:number)\na(1).\n"), expected);
  EXPECT_EQ(outcome(mark + "#define N 1\n.decl a(x:number)\na(N).\n"), expected);
  EXPECT_EQ(outcome(".include \"a.dl\"\n"), expected);
  EXPECT_EQ(outcome("#include \"a.dl\"\n"), expected);
}

TEST_F(Preprocess, FilesThatAreIncludedTwice) {
  write("a.dl", ".decl a(x:number)\na(1).\n");
  for (const std::string include : {".include \"a.dl\"\n", "#include \"a.dl\"\n"})
    EXPECT_EQ(outcome(include + include),
              "a.dl:1:7: error: relation `a` is declared twice\n"
              "    1 | .decl a(x:number)\n"
              "      |       ^\n"
              "      = hint: the file is included twice; write `.once` in it (of `#include`, "
              "`#pragma once`)\n"
              "a.dl:1:7: note: the first declaration is here\n"
              "    1 | .decl a(x:number)\n"
              "      |       ^\n"
              "1 error, 0 warnings\n");
  write("b.dl", "#pragma once\n.decl a(x:number)\na(1).\n");
  EXPECT_EQ(outcome("#include \"b.dl\"\n#include \"b.dl\"\n"),
            ".decl a(x: number)\nstratum 0: a\n  a(1).\n");
}

TEST_F(Preprocess, MacrosFromTheOptionsNeedNoDirective) {
  EXPECT_EQ(outcome(".decl a(x:number)\na(N).\n", {.macros = {"N=42"}}),
            ".decl a(x: number)\nstratum 0: a\n  a(42).\n");
}

TEST_F(Preprocess, PredefinedMacrosOfTheSystemDoNotRewriteNames) {
  EXPECT_EQ(outcome("#define ONE 1\n.decl linux(x:number)\nlinux(ONE).\n.decl "
                    "unix(x:number)\nunix(RAM_DOMAIN_SIZE).\n"),
            ".decl linux(x: number)\n.decl unix(x: number)\n"
            "stratum 0: linux\n  linux(1).\nstratum 1: unix\n  unix(64).\n");
}

TEST_F(Preprocess, PlacesLeadBackToTheUsersLines) {
  write("inc/edges.dl", ".decl edge(x:number,   y:number)\n.input edge\n\nedge(1, z).\n");
  EXPECT_EQ(outcome("#include \"inc/edges.dl\"\n"
                    "/* a comment\n   of two lines */\n"
                    ".decl   path( x : number,    y:number )   // blanks\n"
                    "path(x,  y)  :-  /* here */  edgr(x,   y).\n"),
            "inc/edges.dl:4:9: error: variable `z` in a fact\n"
            "    4 | edge(1, z).\n"
            "      |         ^\n"
            "      = expected: constants only\n"
            "      = hint: for a symbol write \"z\"; for a rule add `:-` and a body\n"
            "main.dl:5:30: error: undeclared relation `edgr`\n"
            "    5 | path(x,  y)  :-  /* here */  edgr(x,   y).\n"
            "      |                              ^~~~\n"
            "      = hint: did you mean `edge`?\n"
            "2 errors, 0 warnings\n");
}

TEST_F(Preprocess, LinesThatMacrosMadeAreShownExpanded) {
  EXPECT_EQ(outcome("#define BAD(x) nothing(x)\n.decl a(x:number)\na(x) :- BAD(x).\n"),
            "main.dl:3:9: error: undeclared relation `nothing`\n"
            "    3 | a(x) :- nothing(x).\n"
            "      |         ^~~~~~~\n"
            "      = after macro expansion\n"
            "      = hint: declare it with `.decl nothing(...)`\n"
            "1 error, 0 warnings\n");
}

TEST_F(Preprocess, MissingIncludeFile) {
  EXPECT_EQ(outcome(".decl a(x:number)\n#include \"nowhere.dl\"\n"),
            "main.dl:2:10: error: preprocessor: nowhere.dl: No such file or directory\n"
            "    2 | #include \"nowhere.dl\"\n"
            "      |          ^\n"
            "1 error, 0 warnings\n");
}

TEST_F(Preprocess, ErrorDirective) {
  EXPECT_EQ(outcome("#ifndef SIZE\n#error give SIZE\n#endif\n"),
            "main.dl:2:2: error: preprocessor: #error give SIZE\n"
            "    2 | #error give SIZE\n"
            "      |  ^\n"
            "1 error, 0 warnings\n");
}

TEST_F(Preprocess, IncludeDirectoriesAreSearched) {
  write("inc/types.dl", ".type Id <: number\n");
  const std::string expected = ".decl a(x: Id <: number)\nstratum 0: a\n  a(1).\n";
  const CompileOptions options{.include_directories = {(directory_ / "inc").string()}};
  EXPECT_EQ(outcome("#include \"types.dl\"\n.decl a(x:Id)\na(1).\n", options), expected);
  EXPECT_EQ(outcome(".include \"types.dl\"\n.decl a(x:Id)\na(1).\n", options), expected);
}

TEST_F(Preprocess, WithoutDirectivesNoProcessIsStarted) {
  const CompileOptions options{.preprocessor_command = "no-such-preprocessor"};
  EXPECT_EQ(
      outcome("/*\n#define X\n*/\n.decl a(x:symbol)\na(\"# no directive\"). // # none\n", options),
      ".decl a(x: symbol)\nstratum 0: a\n  a(\"# no directive\").\n");
}

TEST_F(Preprocess, MissingPreprocessor) {
  EXPECT_EQ(outcome(".decl a(x:number)\n#define ONE 1\na(ONE).\n",
                    {.preprocessor_command = "no-such-preprocessor"}),
            "main.dl:2:1: error: this program needs the C preprocessor, and `no-such-preprocessor` "
            "cannot be run: "
            "No such file or directory\n"
            "    2 | #define ONE 1\n"
            "      | ^\n"
            "      = hint: install it (Debian: apt-get install cpp), or write the program without "
            "`#` lines and macros\n"
            "1 error, 0 warnings\n");
}

TEST_F(Preprocess, FailingPreprocessor) {
  EXPECT_EQ(outcome("#define ONE 1\n", {.preprocessor_command = "false"}),
            "main.dl:1:1: error: the preprocessor `false` failed: it gave no reason\n"
            "    1 | #define ONE 1\n"
            "      | ^\n"
            "1 error, 0 warnings\n");
}

TEST_F(Preprocess, IncludeDirective) {
  write("inc/a.dl", ".decl a(x:number)\n.include \"b.dl\"\na(1).\n");
  write("inc/b.dl", "// nothing but\n.decl b(x:number) b(oops).\n");
  EXPECT_EQ(outcome(".include \"inc/a.dl\" a(two).\na(x) :- b(x), c(x).\n"),
            "inc/b.dl:2:21: error: variable `oops` in a fact\n"
            "    2 | .decl b(x:number) b(oops).\n"
            "      |                     ^~~~\n"
            "      = expected: constants only\n"
            "      = hint: for a symbol write \"oops\"; for a rule add `:-` and a body\n"
            "main.dl:1:23: error: variable `two` in a fact\n"
            "    1 |                     a(two).\n"
            "      |                       ^~~\n"
            "      = expected: constants only\n"
            "      = hint: for a symbol write \"two\"; for a rule add `:-` and a body\n"
            "main.dl:2:15: error: undeclared relation `c`\n"
            "    2 | a(x) :- b(x), c(x).\n"
            "      |               ^\n"
            "      = hint: declare it with `.decl c(...)`\n"
            "3 errors, 0 warnings\n");
}

TEST_F(Preprocess, IncludeErrors) {
  write("self.dl", ".include \"self.dl\"\n");
  EXPECT_EQ(outcome(".include \"missing.dl\"\n.include 5\n.include \"self.dl\"\n"),
            "self.dl:1:10: error: `self.dl` includes itself\n"
            "    1 | .include \"self.dl\"\n"
            "      |          ^~~~~~~~~\n"
            "      = hint: write `.once` in files that are included from several places\n"
            "main.dl:1:10: error: cannot find the included file `missing.dl`\n"
            "    1 | .include \"missing.dl\"\n"
            "      |          ^~~~~~~~~~~~\n"
            "      = hint: it is searched beside `main.dl`; add directories (-I, `include` of the "
            "library)\n"
            "main.dl:2:1: error: `.include` without a file\n"
            "    2 | .include 5\n"
            "      | ^~~~~~~~\n"
            "      = expected: `.include \"file\"`\n"
            "3 errors, 0 warnings\n");
}

TEST_F(Preprocess, OnceInTheMainFile) {
  write("main.dl", ".once\n.include \"b.dl\"\n.decl a(x:number)\na(1).\n");
  write("b.dl", ".include \"main.dl\"\n.decl b(x:number)\nb(1).\n");
  EXPECT_EQ(outcome(".once\n.include \"b.dl\"\n.decl a(x:number)\na(1).\n"),
            ".decl b(x: number)\n.decl a(x: number)\nstratum 0: b\n  b(1).\nstratum 1: a\n  "
            "a(1).\n");
}

TEST_F(Preprocess, OnceMeansOnce) {
  write("a.dl", ".once\n.decl a(x:number)\na(1).\n");
  EXPECT_EQ(outcome(".include \"a.dl\"\n.include \"a.dl\"\n"),
            ".decl a(x: number)\nstratum 0: a\n  a(1).\n");
}

TEST_F(Preprocess, ExpandedTextCompilesAgainWithoutFiles) {
  write("inc/edges.dl", ".decl edge(x:number,y:number)\nedge(1, 2).\n");
  const SourceText source{(directory_ / "main.dl").string(),
                          "#include \"inc/edges.dl\"\n.decl a(x:number)\na(x) :- edge(x,_), "
                          "b(x).\n.decl b(x:number)\nb(1).\n"};
  const CompileOutcome first = compile(source);
  ASSERT_TRUE(first.is_ok());
  std::filesystem::remove_all(directory_);
  const CompileOutcome second =
      compile({source.name, first.program->source_text}, {.preprocessor = PreprocessorUse::kNever});
  ASSERT_TRUE(second.is_ok());
  EXPECT_EQ(print_program(*second.program), print_program(*first.program));
  EXPECT_EQ(second.program->source_text, first.program->source_text);
  EXPECT_EQ(second.program->rules[1].place.file, source.name);
  EXPECT_EQ(second.program->rules[1].place.line, 3U);
}

// The same text with and without the C preprocessor.
constexpr const char* kPlaces =
    ".decl at(file:symbol, line:number, incl:symbol)\n"
    "at(__FILE__, __LINE__, __INCL__).\n"
    "  .include \"inc/b.dl\"\n"
    "at(\"__FILE__ \" , /* __LINE__ */ 0,\n"
    "   __INCL__). at(__FILE__, __LINE__, \"\").\n";

TEST_F(Preprocess, WordsForPlacesAreConstants) {
  write("inc/b.dl", "at(__FILE__, __LINE__, __INCL__).\n.include \"c.dl\"\n");
  write("inc/c.dl", "\nat(__FILE__, __LINE__, __INCL__).\n");
  write("main.dl", kPlaces);
  const std::string expected =
      "  at(\"main.dl\", 2, \"\").\n"
      "  at(\"inc/b.dl\", 1, \"main.dl:3:3\").\n"
      "  at(\"inc/c.dl\", 2, \"main.dl:3:3;inc/b.dl:2:1\").\n"
      "  at(\"__FILE__ \", 0, \"\").\n"
      "  at(\"main.dl\", 5, \"\").\n";
  EXPECT_EQ(outcome(kPlaces),
            ".decl at(file: symbol, line: number, incl: symbol)\n"
            "stratum 0: at\n" +
                expected);
  // An unrelated line for the C preprocessor changes nothing.
  EXPECT_EQ(outcome(std::string(kPlaces) + "#define UNRELATED 1\n"), outcome(kPlaces));
}

TEST_F(Preprocess, WordsForPlacesInFilesOfTheCPreprocessor) {
  write("inc/b.dl", "at(__FILE__, __LINE__, __INCL__).\n#include \"c.dl\"\n");
  write("inc/c.dl", "\nat(HERE, __INCL__).\n");
  write("main.dl", "");
  EXPECT_EQ(outcome("#define HERE __FILE__, __LINE__\n"
                    ".decl at(file:symbol, line:number, incl:symbol)\n"
                    "#include \"inc/b.dl\"\n"
                    "at(HERE, __INCL__).\n"),
            ".decl at(file: symbol, line: number, incl: symbol)\n"
            "stratum 0: at\n"
            "  at(\"inc/b.dl\", 1, \"main.dl:3:1\").\n"
            "  at(\"inc/c.dl\", 2, \"main.dl:3:1;inc/b.dl:2:1\").\n"
            "  at(\"main.dl\", 4, \"\").\n");
}

TEST_F(Preprocess, WhatWordsForPlacesMeanIsInTheTextThatRanksGet) {
  write("inc/b.dl", "at(__FILE__).\n");
  write("main.dl", "");
  const CompileOutcome first = compile({(directory_ / "main.dl").string(),
                                        ".decl at(file:symbol)\nat(__FILE__).\n"
                                        ".include \"inc/b.dl\"\n.printsize at\n"});
  ASSERT_TRUE(first.is_ok());
  CompileOptions options;
  options.preprocessor = PreprocessorUse::kNever;
  const CompileOutcome again = compile({"program", first.program->source_text}, options);
  ASSERT_TRUE(again.is_ok());
  EXPECT_EQ(print_program(*again.program), print_program(*first.program));
  EXPECT_NE(first.program->source_text.find("# 3 \"" + (directory_ / "main.dl").string() + "\"\n"),
            std::string::npos)
      << "line markers are as they always were: " << first.program->source_text;
}

TEST_F(Preprocess, ErrorsBesideWordsForPlacesAreShownAsAfterAMacro) {
  EXPECT_EQ(outcome(".decl at(line:number)\nat(__LINE__) :- nowhere(1).\n"),
            "main.dl:2:10: error: undeclared relation `nowhere`\n"
            "    2 | at(2) :- nowhere(1).\n"
            "      |          ^~~~~~~\n"
            "      = after macro expansion\n"
            "      = hint: declare it with `.decl nowhere(...)`\n"
            "1 error, 0 warnings\n");
}

}  // namespace
}  // namespace stratalog::datalog
