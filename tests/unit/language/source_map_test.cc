// SPDX-License-Identifier: Apache-2.0
// Places: from offsets in the expanded text to the user's files, lines and columns.
#include "datalog/language/source_map.h"

#include <gtest/gtest.h>

#include "datalog/language/diagnostic.h"

namespace stratalog::datalog::language {
namespace {

Span span_of(const std::string& text, const std::string& piece) {
  const auto begin = static_cast<std::uint32_t>(text.find(piece));
  return {begin, begin + static_cast<std::uint32_t>(piece.size())};
}

std::string position(const MarkedPlace& marked) {
  return marked.place.file + ':' + std::to_string(marked.place.line) + ':' +
         std::to_string(marked.place.column) + '+' + std::to_string(marked.length);
}

TEST(LineMarker, IsRead) {
  LineMarker marker;
  EXPECT_TRUE(parse_line_marker("# 12 \"a b.dl\" 1 3", marker));
  EXPECT_EQ(marker.line, 12U);
  EXPECT_EQ(marker.file, "a b.dl");
  EXPECT_TRUE(parse_line_marker("#line 7 \"x\"", marker));
  EXPECT_EQ(marker.line, 7U);
  EXPECT_TRUE(parse_line_marker(line_marker(3, "quo\"te\\"), marker));
  EXPECT_EQ(marker.file, "quo\"te\\");
}

TEST(LineMarker, IsNotAnythingElse) {
  LineMarker marker;
  for (const char* line : {"", "#", "# ", "# x", "# 1", "# 1 file", "# 1 \"open", "#define A 1",
                           "#include \"a\"", "# 99999999999 \"a\"", "a # 1 \"b\""}) {
    EXPECT_FALSE(parse_line_marker(line, marker)) << line;
  }
}

TEST(SourceMap, CountsCharactersNotBytes) {
  const std::string text = "a\n\"öäü\" x\n";
  const SourceMap map(text, "f.dl", {});
  EXPECT_EQ(position(map.locate(span_of(text, "x"))), "f.dl:2:7+1");
  EXPECT_EQ(position(map.locate(span_of(text, "\"öäü\""))), "f.dl:2:1+5");
  EXPECT_EQ(map.place(span_of(text, "x")).column, 7U);
}

TEST(SourceMap, FollowsLineMarkers) {
  const std::string text = "one\n# 1 \"inc.dl\" 1\ntwo\nthree\n# 9 \"f.dl\" 2\nfour";
  const SourceMap map(text, "f.dl", {});
  EXPECT_EQ(position(map.locate(span_of(text, "one"))), "f.dl:1:1+3");
  EXPECT_EQ(position(map.locate(span_of(text, "two"))), "inc.dl:1:1+3");
  EXPECT_EQ(position(map.locate(span_of(text, "three"))), "inc.dl:2:1+5");
  EXPECT_EQ(position(map.locate(span_of(text, "four"))), "f.dl:9:1+4");
}

TEST(SourceMap, UndoesSqueezedBlanks) {
  const OriginalTexts originals{{"f.dl", "a(x)  :-   /* why */ b(x ,\ty).   // because\n"}};
  const std::string text = "a(x) :- b(x , y).\n";
  const SourceMap map(text, "f.dl", originals);
  const MarkedPlace marked = map.locate(span_of(text, "b(x , y)"));
  EXPECT_EQ(position(marked), "f.dl:1:22+8");
  EXPECT_FALSE(marked.from_macro);
  EXPECT_EQ(marked.line_text, "a(x)  :-   /* why */ b(x ,\ty).   // because");
  EXPECT_EQ(map.place(span_of(text, "b(x")).column, 22U);
}

TEST(SourceMap, SaysWhenAMacroMadeTheLine) {
  const OriginalTexts originals{{"f.dl", "a(MACRO).\n"}};
  const std::string text = "a(1 + 2).\n";
  const SourceMap map(text, "f.dl", originals);
  const MarkedPlace marked = map.locate(span_of(text, "2"));
  EXPECT_TRUE(marked.from_macro);
  EXPECT_EQ(marked.line_text, "a(1 + 2).");
  EXPECT_EQ(position(marked), "f.dl:1:7+1");
}

TEST(SourceMap, SpansStayInsideTheirLineAndText) {
  const std::string text = "ab\ncd";
  const SourceMap map(text, "f.dl", {});
  EXPECT_EQ(position(map.locate({1, 5})), "f.dl:1:2+1");
  EXPECT_EQ(position(map.locate({5, 5})), "f.dl:2:3+1");
  EXPECT_EQ(position(map.locate({2, 2})), "f.dl:1:3+1");
  const SourceMap empty("", "f.dl", {});
  EXPECT_EQ(position(empty.locate({0, 0})), "f.dl:1:1+1");
}

TEST(Render, KeepsTabsUnderTheCaretAndHidesControlCharacters) {
  Diagnostic diagnostic;
  diagnostic.where = {{"f.dl", 12345, 4},
                      3,
                      "\ta\x1b"
                      "bad\r",
                      false};
  diagnostic.message = "message";
  EXPECT_EQ(render(diagnostic),
            "f.dl:12345:4: error: message\n"
            "12345 | \ta?bad?\n"
            "      | \t  ^~~\n");
}

TEST(Render, CountsErrorsAndWarnings) {
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.where.place.file = "f.dl";
  warning.message = "hm";
  EXPECT_EQ(render_all({}), "");
  EXPECT_EQ(render_all({warning, warning}),
            "f.dl: warning: hm\nf.dl: warning: hm\n0 errors, 2 warnings\n");
}

}  // namespace
}  // namespace stratalog::datalog::language
