// SPDX-License-Identifier: Apache-2.0
// The parser on text in memory: every layout of lines, the sentence for every mistake, and the same
// result however the text is cut into pieces.
#include "datalog/facts/fact_parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "unit/facts/fact_text.h"

namespace stratalog::datalog {
namespace {

struct Parsed {
  std::vector<std::string> rows;  // "1|abc", by column kinds
  std::vector<std::string> problems;  // "3: text", lines from 1
};

class Case {
 public:
  explicit Case(std::string_view attributes, std::map<std::string, std::string> parameters = {})
      : relation_(make_relation("r", attributes)),
        format_(plan_input(relation_, make_directive(IoAction::kInput, std::move(parameters)))
                    .value()) {}

  // Feeds the text in pieces that end where `piece_bytes` says.
  Parsed parse(std::string_view text, std::size_t piece_bytes = std::string_view::npos) const {
    const ValueDictionary dictionary;
    NewValues values(dictionary);
    FactParser parser(relation_, format_, LinePlace::kFirstOfFile, values);
    std::size_t done = 0;
    for (std::size_t fed = 0; fed < text.size();) {
      fed = piece_bytes < text.size() - fed ? fed + piece_bytes : text.size();
      // As a reader does: an end is announced on its own.
      done += parser.consume(text.substr(done, fed - done), TextEnd::kMoreFollows);
    }
    parser.consume(text.substr(done), TextEnd::kIsEnd);
    Parsed result;
    for (const FactProblem& p : parser.problems())
      result.problems.push_back(std::to_string(p.line + 1) + ": " + p.text);
    const TupleColumns tuples = parser.take_tuples();
    for (std::uint64_t i = 0; i < tuples.rows; ++i) {
      std::string row;
      for (std::size_t c = 0; c < tuples.columns.size(); ++c) {
        if (c != 0) row += '|';
        const Cell cell = tuples.columns[c][i];
        if (relation_.attributes[c].kind == ValueKind::kSymbol)
          row += values.text(cell);
        else if (relation_.attributes[c].kind == ValueKind::kFloat)
          row += std::to_string(std::bit_cast<double>(values.bits(cell)));
        else
          row += std::to_string(static_cast<std::int64_t>(values.bits(cell)));
      }
      result.rows.push_back(row);
    }
    for (const auto& column : tuples.columns) EXPECT_EQ(column.size(), tuples.rows);
    return result;
  }

  void expect_rows(std::string_view text, const std::vector<std::string>& rows) const {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::string_view::npos}) {
      const Parsed parsed = parse(text, piece);
      EXPECT_EQ(parsed.rows, rows) << "pieces of " << piece;
      EXPECT_EQ(parsed.problems, std::vector<std::string>{}) << "pieces of " << piece;
    }
  }

  void expect_problem(std::string_view text, const std::string& problem) const {
    for (const std::size_t piece : {std::size_t{1}, std::string_view::npos})
      EXPECT_EQ(parse(text, piece).problems, std::vector<std::string>{problem}) << text;
  }

 private:
  Relation relation_;
  FactFormat format_;
};

TEST(FactParser, PlainNumbers) {
  const Case numbers("x:number y:number");
  numbers.expect_rows("", {});
  numbers.expect_rows("1\t2\n3\t4\n", {"1|2", "3|4"});
  numbers.expect_rows("1\t2\n3\t4", {"1|2", "3|4"});
  numbers.expect_rows("1\t2\r\n3\t4\r\n", {"1|2", "3|4"});
  numbers.expect_rows("1\t2\r\n3\t4\r", {"1|2", "3|4"});
  numbers.expect_rows("-1\t+2\n0x10\t 4\n5\t6\n", {"-1|2", "16|4", "5|6"});
  numbers.expect_rows("9223372036854775807\t-9223372036854775808\n",
                      {"9223372036854775807|-9223372036854775808"});
  numbers.expect_rows("000000000000000000000000012\t1\n", {"12|1"});
}

// Nineteen digits may not fit a number, twenty may fit an unsigned one.
TEST(FactParser, TheLargestNumbers) {
  const Case unsigneds("x:unsigned");
  unsigneds.expect_rows("9999999999999999999\n10000000000000000000\n",
                        {"-8446744073709551617", "-8446744073709551616"});
  unsigneds.expect_rows("18446744073709551615\n09223372036854775808\n",
                        {"-1", "-9223372036854775808"});
  for (const char* text :
       {"18446744073709551616", "18446744073709551620", "19999999999999999999",
        "20000000000000000000", "28446744073709551615", "100000000000000000000"}) {
    const Parsed parsed = unsigneds.parse(fmt::format("7\n{}\n8\n", text), 99);
    EXPECT_EQ(parsed.rows, (std::vector<std::string>{"7", "8"})) << text;
    EXPECT_EQ(parsed.problems.size(), 1U) << text;
  }
  const Case numbers("x:number");
  numbers.expect_rows("9223372036854775807\n-9223372036854775808\n-9223372036854775807\n",
                      {"9223372036854775807", "-9223372036854775808", "-9223372036854775807"});
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "9999999999999999999",
                           "10000000000000000000", "-18446744073709551615"}) {
    const Parsed parsed = numbers.parse(fmt::format("7\n{}\n8\n", text), 99);
    EXPECT_EQ(parsed.rows, (std::vector<std::string>{"7", "8"})) << text;
    EXPECT_EQ(parsed.problems.size(), 1U) << text;
  }
}

TEST(FactParser, OtherDelimiters) {
  Case("x:number y:number", {{"delimiter", ","}}).expect_rows("1,2\n", {"1|2"});
  Case("x:number y:number", {{"delimiter", " "}}).expect_rows("1 2\n", {"1|2"});
  Case("x:number y:number", {{"delimiter", "::"}}).expect_rows("1::2\n", {"1|2"});
  Case("x:number y:number", {{"delimiter", "\\t"}}).expect_rows("1\t2\n", {"1|2"});
  Case("x:symbol y:symbol", {{"delimiter", "::"}}).expect_rows("a:b::c:\n", {"a:b|c:"});
  Case("x:number y:number", {{"delimiter", "0"}}).expect_rows("102\n", {"1|2"});
  Case("x:number y:number", {{"delimiter", "-"}}).expect_rows("1-2\n", {"1|2"});
}

TEST(FactParser, SymbolsAreBytes) {
  const Case symbols("x:symbol y:symbol");
  symbols.expect_rows("a b\t\"c\"\n\t\n", {"a b|\"c\"", "|"});
  symbols.expect_rows(std::string_view("a\0b\t\xff\n", 6), {std::string("a\0b|\xff", 5)});
  Case("x:symbol").expect_rows("a\n\nb\n", {"a", "", "b"});
}

TEST(FactParser, MixedKinds) {
  Case("x:symbol y:number z:float u:unsigned")
      .expect_rows("a\t-1\t0.5\t0b11\nb\t2\t1e2\t18446744073709551615\n",
                   {"a|-1|0.500000|3", "b|2|100.000000|-1"});
}

TEST(FactParser, NullaryRelations) {
  const Case nullary("");
  nullary.expect_rows("()\n", {""});
  nullary.expect_rows("()", {""});
  nullary.expect_rows("", {});
  nullary.expect_problem("yes\n",
                         "1: relation r has no attributes: expected a line with (), found \"yes\"");
}

TEST(FactParser, Headers) {
  const Case headed("x:number y:number", {{"headers", "true"}});
  headed.expect_rows("x\ty\n1\t2\n", {"1|2"});
  headed.expect_rows("x\ty", {});
  headed.expect_rows("x\ty\n", {});
  headed.expect_problem(
      "x\ty\n1\t2\na\t3\n",
      "3: field 1 (attribute `x`, type number): expected a whole number, found \"a\"; "
      "declare the attribute as symbol to read any text");
}

TEST(FactParser, ChosenColumns) {
  const Case chosen("x:number y:symbol", {{"columns", "2:0"}});
  chosen.expect_rows("a\tb\t3\nc\td\t4\te\n", {"3|a", "4|c"});
  chosen.expect_problem(
      "a\tb\n",
      "1: expected at least 3 fields separated by tabs (columns= asks for them), found 2: "
      "\"a\\tb\"");
}

TEST(FactParser, QuotedFields) {
  const Case quoted("x:symbol y:number", {{"rfc4180", "true"}});
  quoted.expect_rows("\"a,b\",1\nplain,2\n", {"a,b|1", "plain|2"});
  quoted.expect_rows("\"say \"\"hi\"\"\",1\r\n", {"say \"hi\"|1"});
  quoted.expect_rows("\"two\r\nlines\",\"7\"\n\"\",8", {"two\r\nlines|7", "|8"});
  quoted.expect_rows("mid\"dle,1\n", {"mid\"dle|1"});
  Case("x:number y:symbol", {{"rfc4180", "true"}}).expect_rows("1,\"a\"", {"1|a"});
  quoted.expect_problem(
      "a,1\n\"b\nc,2\n",
      "2: field 1: expected a closing double quote before the end of the file, the record "
      "begins \"\\\"b\\x0ac,2\\x0a\"; inside quotes, double quotes are written twice");
  quoted.expect_problem(
      "\"a\nb\",1\n\"c\"d,2\n",
      "3: field 1: expected \",\" or the end of the line after the closing quote, the "
      "record begins \"\\\"c\\\"d,2\\x0a\"; inside quotes, double quotes are written twice");
}

TEST(FactParser, SentencesForFields) {
  const Case number("x:number");
  const Case unsigned_number("x:unsigned");
  const std::string field = "2: field 1 (attribute `x`, type ";
  number.expect_problem("1\nabc\n",
                        field +
                            "number): expected a whole number, found \"abc\"; declare the "
                            "attribute as symbol to read any text");
  number.expect_problem(
      "abc\n1\n",
      "1: field 1 (attribute `x`, type number): expected a whole number, found \"abc\"; if "
      "the first line holds column names, add headers=true to .input");
  number.expect_problem("1\n2.5\n",
                        field +
                            "number): expected a whole number, found \"2.5\"; declare the "
                            "attribute as float to keep fractions");
  number.expect_problem("1\n\n", field + "number): expected a whole number, found nothing");
  number.expect_problem(
      "1\n3 \n",
      field + "number): expected a whole number, found \"3 \"; remove the blanks after the value");
  number.expect_problem(
      "1\n\"3\"\n",
      field +
          "number): expected a whole number, found \"\\\"3\\\"\"; add rfc4180=true to "
          ".input to read quoted fields");
  number.expect_problem(
      "1\n9223372036854775808\n",
      field +
          "number): expected a number from -9223372036854775808 to 9223372036854775807, "
          "found \"9223372036854775808\"; declare the attribute as unsigned, float or "
          "symbol");
  number.expect_problem(
      "\xEF\xBB\xBF"
      "1\n",
      "1: field 1 (attribute `x`, type number): expected a whole number, found \"\xEF\xBB\xBF"
      "1\"; the file begins with a byte order mark: save it as plain UTF-8");
  unsigned_number.expect_problem(
      "1\n-3\n", field +
                     "unsigned): expected an unsigned whole number, found \"-3\"; declare "
                     "the attribute as number to allow negative values");
  unsigned_number.expect_problem(
      "1\n18446744073709551616\n",
      field +
          "unsigned): expected a number from 0 to 18446744073709551615, found "
          "\"18446744073709551616\"");
  Case("x:float").expect_problem(
      "1\n1e999\n", field +
                        "float): expected a number that a 64-bit float can hold, found "
                        "\"1e999\"");
  Case("x:float").expect_problem(
      "1\n1,5\n", field +
                      "float): expected a floating point number, found \"1,5\"; declare the "
                      "attribute as symbol to read any text");
  Case("x:Node").expect_problem(
      "1\n7_\n", field +
                     "Node, a number): expected a whole number, found \"7_\"; declare the "
                     "attribute as symbol to read any text");
}

TEST(FactParser, SentencesForFieldCounts) {
  const Case two("x:number y:number");
  two.expect_problem("1\t2\n3\n", "2: expected 2 fields (x, y) separated by tabs, found 1: \"3\"");
  two.expect_problem(
      "1,2\n",
      "1: expected 2 fields (x, y) separated by tabs, found 1: \"1,2\"; add delimiter=\",\" to "
      ".input if that separates the fields");
  two.expect_problem(
      "1 2\n",
      "1: expected 2 fields (x, y) separated by tabs, found 1: \"1 2\"; add delimiter=\" \" to "
      ".input if that separates the fields");
  two.expect_problem(
      "1\t2\t3\n",
      "1: expected 2 fields (x, y) separated by tabs, found 3: \"1\\t2\\t3\"; choose the fields "
      "to read with columns=\"0:1:...\" in .input");
  two.expect_problem("1\t2\n\n",
                     "2: expected 2 fields (x, y) separated by tabs, found 1: an empty line");
  Case("x:symbol y:symbol", {{"delimiter", ";"}})
      .expect_problem("a\n", "1: expected 2 fields (x, y) separated by \";\", found 1: \"a\"");
}

TEST(FactParser, QuotesInMessagesAreShortAndPrintable) {
  EXPECT_EQ(quote_found("a\tb\n\x01\x7f\"\\"), "\"a\\tb\\x0a\\x01\\x7f\\\"\\\\\"");
  EXPECT_EQ(quote_found(std::string(100, 'x')), "\"" + std::string(60, 'x') + "\"... (100 bytes)");
  std::string umlauts;
  for (int i = 0; i < 40; ++i) umlauts += "\xC3\xA4";
  EXPECT_EQ(quote_found("x" + umlauts), "\"x" + umlauts.substr(0, 58) + "\"... (81 bytes)");
  EXPECT_EQ(quote_found(std::string(200, '\x80')).size(), 2U + 56 + 15);
}

TEST(FactParser, StopsAfterElevenProblems) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "bad\n";
  EXPECT_EQ(Case("x:number").parse(text).problems.size(), FactParser::kMaxProblems);
  EXPECT_EQ(Case("x:number", {{"rfc4180", "true"}}).parse(text).problems.size(),
            FactParser::kMaxProblems);
}

TEST(FactParser, EveryFieldOfALineIsReported) {
  const Parsed parsed = Case("x:number y:number").parse("1\t1\na\tb\n2\t2\n");
  EXPECT_EQ(parsed.problems.size(), 2U);
  EXPECT_EQ(parsed.rows, (std::vector<std::string>{"1|1", "2|2"}));
}

// The short way must agree with the long one, which chosen columns force.
TEST(FactParser, PlainLinesAgreeWithTheLongWay) {
  constexpr unsigned kParserSeed = 11;
  std::mt19937 random(kParserSeed);
  const std::string alphabet = "0123456789-+ \t\t\n\n\rxb.";
  const Case plain("x:number y:unsigned");
  const Case chosen("x:number y:unsigned", {{"columns", "0:1"}});
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) {
      if (random() % 3 == 0) {
        text += std::to_string(random()) + "\t" + std::to_string(random()) + "\n";
      } else {
        text += alphabet[random() % alphabet.size()];
      }
    }
    const Parsed a = plain.parse(text);
    const Parsed b = chosen.parse(text);
    // Surplus fields are an error only where columns are not chosen.
    bool has_surplus = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      has_surplus |= std::count(text.begin() + static_cast<long>(at),
                                text.begin() + static_cast<long>(end), '\t') > 1;
      at = end + 1;
    }
    if (has_surplus) continue;
    ASSERT_EQ(a.rows, b.rows) << "seed " << kParserSeed << " round " << round << " text "
                              << quote_found(text);
    ASSERT_EQ(a.problems.size(), b.problems.size()) << "seed " << kParserSeed << " round " << round;
  }
}

// Rows go to the columns a thousand at a time; lines that only the long way takes come in between.
TEST(FactParser, ManyLinesKeepTheirOrder) {
  std::string text;
  std::vector<std::string> rows;
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "s" + std::to_string(i * 7919 % 1500);
    const std::string number = std::to_string(i % 700 == 699 ? -i : i);
    text += name + "\t" + (i % 97 == 0 ? " " : "") + number + "\t" + name + "\n";
    rows.push_back(name + "|" + number + "|" + name);
  }
  const Case mixed("x:symbol n:number y:symbol");
  for (const std::size_t piece : {std::size_t{17}, std::size_t{4096}, text.size()})
    EXPECT_EQ(mixed.parse(text, piece).rows, rows) << "pieces of " << piece;
  std::string numbers;
  std::vector<std::string> pairs;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::uint64_t wide = (i % 3 == 0 ? 18446744073709551615ULL : 5000) - i;
    numbers += std::to_string(wide) + "\t" + std::to_string(i) + "\n";
    pairs.push_back(std::to_string(static_cast<std::int64_t>(wide)) + "|" + std::to_string(i));
  }
  const Case plain("x:unsigned n:number");
  for (const std::size_t piece : {std::size_t{17}, std::size_t{4096}, numbers.size()})
    EXPECT_EQ(plain.parse(numbers, piece).rows, pairs) << "pieces of " << piece;
}

// Symbols get their numbers in the order of the file, as one reader would give them.
TEST(FactParser, SymbolsAreNumberedRowByRow) {
  const Relation relation = make_relation("r", "x:symbol y:symbol");
  const FactFormat format = plan_input(relation, make_directive(IoAction::kInput, {})).value();
  const ValueDictionary dictionary;
  NewValues values(dictionary);
  FactParser parser(relation, format, LinePlace::kFirstOfFile, values);
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "a" + std::to_string(i) + "\tb" + std::to_string(i) + "\n";
  parser.consume(text, TextEnd::kIsEnd);
  const TupleColumns tuples = parser.take_tuples();
  ASSERT_EQ(tuples.rows, 3000U);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    ASSERT_EQ(tuples.columns[0][i], kProvisionalSymbolBase + (2 * i));
    ASSERT_EQ(tuples.columns[1][i], kProvisionalSymbolBase + (2 * i) + 1);
  }
}

// So do numbers that need a place in the dictionary, whichever way their lines are parsed.
TEST(FactParser, LargeNumbersAreNumberedRowByRow) {
  for (const char* attributes : {"x:unsigned y:number", "x:float y:number"}) {
    const Relation relation = make_relation("r", attributes);
    const FactFormat format = plan_input(relation, make_directive(IoAction::kInput, {})).value();
    const ValueDictionary dictionary;
    NewValues values(dictionary);
    FactParser parser(relation, format, LinePlace::kFirstOfFile, values);
    std::string text;
    // One line goes the long way, another one is wrong in its second field.
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const std::uint64_t x = 5'000'000'000 + i;
      if (i % 500 == 499) text += fmt::format("{}\tnothing\n", x + 1'000'000);
      text += fmt::format("{}\t{}{}\n", x, i % 700 == 699 ? " " : "", x * 3);
    }
    parser.consume(text, TextEnd::kIsEnd);
    EXPECT_EQ(parser.problems().size(), 6U);
    const TupleColumns tuples = parser.take_tuples();
    ASSERT_EQ(tuples.rows, 3000U);
    std::uint32_t next = kProvisionalWideBase;
    for (std::uint32_t i = 0; i < 3000; ++i) {
      // A wrong line's first field may have a number of its own.
      if (tuples.columns[0][i] == next + 1) ++next;
      ASSERT_EQ(tuples.columns[0][i], next++) << i;
      ASSERT_EQ(tuples.columns[1][i], next++) << i;
      ASSERT_EQ(values.bits(tuples.columns[1][i]), (5'000'000'000 + i) * 3);
    }
  }
}

TEST(FactParser, BigLine) {
  const std::string large(3U << 20, 'y');
  Case("x:symbol y:number").expect_rows("a\t1\n", {"a|1"});
  const Parsed parsed = Case("x:symbol y:number").parse(large + "\t5\n", 1U << 18);
  ASSERT_EQ(parsed.rows.size(), 1U);
  EXPECT_EQ(parsed.rows[0], large + "|5");
}

}  // namespace
}  // namespace stratalog::datalog
