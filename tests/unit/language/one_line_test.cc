// SPDX-License-Identifier: Apache-2.0
// Rules as people read them in the middle of other text.
#include "datalog/language/one_line.h"

#include <gtest/gtest.h>

namespace stratalog::datalog::language {
namespace {

TEST(OneLine, BlanksAndCommentsBecomeOneBlank) {
  EXPECT_EQ(on_one_line("a(x) :- b(x)."), "a(x) :- b(x).");
  EXPECT_EQ(on_one_line("a(x)\n  :-\tb(x), // why\n  /* c */ c(x)."), "a(x) :- b(x), c(x).");
  EXPECT_EQ(on_one_line("a(x) :-\n# 7 \"p.dl\"\nb(x)."), "a(x) :- b(x).");
  EXPECT_EQ(on_one_line("  a(x)  /* open"), "a(x)");
  EXPECT_EQ(on_one_line("// only"), "");
  EXPECT_EQ(on_one_line(""), "");
}

TEST(OneLine, StringsStayAsTheyAre) {
  EXPECT_EQ(on_one_line("a(\"x  // y\")  :- b(\"\\\"  /*\")."),
            "a(\"x  // y\") :- b(\"\\\"  /*\").");
  EXPECT_EQ(on_one_line("a(\"open \\"), "a(\"open \\");
}

}  // namespace
}  // namespace stratalog::datalog::language
