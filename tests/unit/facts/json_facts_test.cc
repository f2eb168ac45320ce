// SPDX-License-Identifier: Apache-2.0
// JSON facts: values of every kind as lists and objects, what is refused and on which line, text
// cut and changed anywhere without a crash, and what is printed reads back.
#include "datalog/facts/json_facts.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "datalog/facts/json_printer.h"
#include "datalog/facts/tuple_source.h"

namespace stratalog::datalog {
namespace {

Attribute attribute(const char* name, const char* type, ValueKind kind,
                    StructureId structure = kNoStructure) {
  return {.name = name, .type_name = type, .kind = kind, .structure = structure};
}

// .type L = [h: symbol, t: L]
// .decl r(n: number, u: unsigned, f: float, s: symbol, l: L)
Relation mixed_relation() {
  Relation relation;
  relation.name = "r";
  relation.attributes = {
      attribute("n", "number", ValueKind::kNumber),
      attribute("u", "unsigned", ValueKind::kUnsigned), attribute("f", "float", ValueKind::kFloat),
      attribute("s", "symbol", ValueKind::kSymbol), attribute("l", "L", ValueKind::kRecord, 0)};
  Structure list{.name = "L", .form = StructureForm::kRecord, .branches = {}};
  list.branches.push_back({.name = "",
                           .fields = {attribute("h", "symbol", ValueKind::kSymbol),
                                      attribute("t", "L", ValueKind::kRecord, 0)},
                           .shape = 0});
  relation.structures = std::make_shared<const std::vector<Structure>>(1, list);
  return relation;
}

struct ParsedJson {
  std::uint64_t rows = 0;
  std::string problem;
  std::string printed;  // as lists, or as objects
};

enum class Form : std::uint8_t { kList, kObject };

ParsedJson parse(const std::string& text, Form form = Form::kList) {
  const Relation relation = mixed_relation();
  ValueDictionary dictionary;
  dictionary.records().shape({CellClass::kSymbol, CellClass::kRecord});
  NewValues values(dictionary);
  const ParsedFacts facts = parse_json_facts(relation, text, values);
  if (facts.problem)
    return {.problem = std::to_string(facts.problem->line + 1) + ": " + facts.problem->text};
  // Into a dictionary that knows all, as the ranks would agree on.
  ValueDictionary known;
  known.records().shape({CellClass::kSymbol, CellClass::kRecord});
  std::vector<Cell> symbols;
  std::vector<Cell> records;
  for (Cell id = 0; id < values.symbols().size(); ++id)
    symbols.push_back(known.encode_symbol(values.symbols().text(id)));
  const auto record_cell = [&](Cell cell) {
    return is_provisional_record(cell) ? records[cell - kProvisionalRecordBase] : cell;
  };
  for (std::uint32_t id = 0; id < values.records().size(); ++id) {
    const auto cells = values.records().cells(id);
    const Cell fields[] = {symbols[cells[0] - kProvisionalSymbolBase], record_cell(cells[1])};
    records.push_back(known.encode_record(0, fields));
  }
  ValueOrder order(known);
  TupleColumns tuples = facts.tuples;
  for (std::size_t c = 0; c < tuples.columns.size(); ++c)
    for (Cell& cell : tuples.columns[c]) {
      if (c < 3) cell = known.encode(values.bits(cell));
      if (c == 3) cell = symbols[cell - kProvisionalSymbolBase];
      if (c == 4) cell = record_cell(cell);
    }
  const std::vector<ColumnOrder> orders = order.for_relation(relation);
  const TupleSource source = source_of_columns(tuples, orders);
  CodeRows rows;
  EXPECT_TRUE(source.sample(1, rows).is_ok());
  FactFormat format;
  format.is_json_object = form == Form::kObject;
  const JsonPrinter printer(relation, format, known, orders);
  ParsedJson result{.rows = facts.tuples.rows};
  for (std::size_t at = 0; at < rows.size(); at += 5) {
    result.printed += at == 0 ? "[" : ",\n";
    printer.print(std::span(rows).subspan(at, 5), result.printed);
  }
  result.printed += result.printed.empty() ? "[]" : "]";
  return result;
}

constexpr const char* kLists =
    R"([[-5, 18446744073709551615, 0.5, "a\"b", null],
[9223372036854775807, 0, "inf", "é", ["x", ["", null]]]])";

TEST(JsonFacts, ReadsListsAndPrintsThem) {
  const ParsedJson parsed = parse(kLists);
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(parsed.rows, 2U);
  EXPECT_EQ(parsed.printed, kLists);
}

TEST(JsonFacts, ReadsObjectsInAnyOrderAndBesideLists) {
  const ParsedJson parsed =
      parse(R"( [ {"s": "x", "n": 1, "l": {"t": null, "h": "y"}, "f": 2, "u": 3},
    [1, 3, 2.0, "x", ["y", null]], [1, 3, 2.0, "x", {"h": "y", "t": []}] ] )");
  EXPECT_EQ(parsed.problem, "2: a value for `h` (type symbol) is missing");
  const ParsedJson good =
      parse(R"([{"s": "x", "n": 1, "l": {"t": null, "h": "y"}, "f": 2, "u": 3}])", Form::kObject);
  EXPECT_EQ(good.printed, R"([{"n": 1, "u": 3, "f": 2, "s": "x", "l": {"h": "y", "t": null}}])");
  EXPECT_EQ(parse(good.printed, Form::kObject).printed, good.printed);
  EXPECT_EQ(parse("[]").rows, 0U);
}

TEST(JsonFacts, NamesWhatIsWrongAndTheLine) {
  const auto problem = [](const std::string& text) { return parse(text).problem; };
  const std::string rest = R"(, 1, 1, "s", null]])";
  EXPECT_EQ(problem("[\n[1.5" + rest),
            "2: attribute or field `n` (type number): expected an integer, found 1.5");
  EXPECT_EQ(problem("[[9223372036854775808" + rest),
            "1: attribute or field `n` (type number): expected an integer, found "
            "9223372036854775808");
  EXPECT_EQ(problem(R"([[1, -1, 1, "s", null]])"),
            "1: attribute or field `u` (type unsigned): expected an integer from 0 on, found -1");
  EXPECT_EQ(problem(R"([[1, 1, "1.5", "s", null]])"),
            "1: attribute or field `f` (type float): expected a number, found \"1.5\"");
  EXPECT_EQ(problem(R"([[1, 1, 1, 7, null]])"),
            "1: attribute or field `s` (type symbol): expected a string, found 7");
  EXPECT_EQ(problem(R"([[1, 1, 1, "s", true]])"),
            "1: attribute or field `l` (type L): expected a list, an object or null, found true");
  EXPECT_EQ(problem(R"([[1, 1, 1, "s"]])"), "1: a value for `l` (type L) is missing");
  EXPECT_EQ(problem(R"([[1, 1, 1, "s", null, 2]])"), "1: expected 5 values, found more");
  EXPECT_EQ(problem(R"([{"n": 1, "n": 2}])"), "1: attribute or field `n` is there twice");
  EXPECT_EQ(problem(R"([{"m": 1}])"), "1: there is no attribute or field \"m\"");
  EXPECT_EQ(problem("7"), "1: expected a list of tuples, found 7");
  EXPECT_EQ(problem("{}"), "1: expected a list of tuples, found an object");
  EXPECT_EQ(problem("[7]"), "1: expected a tuple, as a list or an object, found 7");
  EXPECT_EQ(problem("[\n\n[1, x").substr(0, 11), "3: byte 8: ");
  EXPECT_NE(problem(""), "");
  EXPECT_NE(problem("[] []"), "");
  EXPECT_NE(problem(R"([[1, 1, 1e999, "s", null]])"), "");
  EXPECT_NE(problem("[[1, 1, 1, \"\xff\", null]]"), "");
}

TEST(JsonFacts, DepthAndDamageDoNoHarm) {
  EXPECT_NE(parse(std::string(1'000'000, '[')).problem, "");
  std::string deep = "null";
  std::string open;
  std::string close;
  for (int i = 0; i < 100'000; ++i) {
    open += R"(["x", )";
    close += ']';
  }
  const ParsedJson parsed = parse(R"([[1, 1, 1, "s", )" + open + deep + close + "]]");
  EXPECT_EQ(parsed.problem, "");
  std::mt19937 random(7);
  const std::string good = kLists;
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_NE(parse(good.substr(0, cut)).problem, "");
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) {
      constexpr std::string_view kBytes = "[]{},:\"0-nue\n \\\xc3";
      bad[random() % bad.size()] = kBytes[random() % kBytes.size()];
    }
    const ParsedJson outcome = parse(bad);
    if (outcome.problem.empty() && outcome.rows > 0) {
      EXPECT_EQ(parse(outcome.printed).printed, outcome.printed);
    }
  }
}

}  // namespace
}  // namespace stratalog::datalog
