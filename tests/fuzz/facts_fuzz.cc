// SPDX-License-Identifier: Apache-2.0
// Fuzzes the fact parser and the decoder of dictionary images. The first line of the input chooses
// kinds of attributes and the format, the rest is the text. Beyond not crashing: the rows and
// problems must not depend on how the text is cut into pieces, and what is printed must read back
// as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "datalog/facts/fact_parser.h"
#include "datalog/facts/fact_printer.h"
#include "datalog/facts/tuple_source.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

Relation choose_relation(std::string_view choice) {
  Relation relation;
  relation.name = "r";
  for (const char c : choice.substr(0, 6)) {
    Attribute attribute;
    attribute.name = std::string(1, c);
    if (c == 'n')
      attribute.kind = ValueKind::kNumber;
    else if (c == 'u')
      attribute.kind = ValueKind::kUnsigned;
    else if (c == 'f')
      attribute.kind = ValueKind::kFloat;
    else if (c == 's')
      attribute.kind = ValueKind::kSymbol;
    else
      continue;
    relation.attributes.push_back(attribute);
  }
  return relation;
}

IoDirective choose_directive(std::string_view choice) {
  IoDirective directive;
  if (choice.find('h') != std::string_view::npos) directive.parameters["headers"] = "true";
  if (choice.find('q') != std::string_view::npos) directive.parameters["rfc4180"] = "true";
  if (choice.find(',') != std::string_view::npos) directive.parameters["delimiter"] = ",";
  if (choice.find(';') != std::string_view::npos) directive.parameters["delimiter"] = ";;";
  const std::size_t columns = choice.find('c');
  if (columns != std::string_view::npos)
    directive.parameters["columns"] = std::string(choice.substr(columns + 1));
  return directive;
}

struct Parsed {
  TupleColumns tuples;
  std::vector<std::string> problems;
};

Parsed parse(const Relation& relation, const FactFormat& format, std::string_view text,
             std::size_t piece, NewValues& values) {
  FactParser parser(relation, format, LinePlace::kFirstOfFile, values);
  std::size_t done = 0;
  for (std::size_t fed = 0; fed < text.size();) {
    fed = std::min(text.size(), fed + piece);
    const std::size_t consumed =
        parser.consume(text.substr(done, fed - done), TextEnd::kMoreFollows);
    require(consumed <= fed - done);
    done += consumed;
  }
  parser.consume(text.substr(done), TextEnd::kIsEnd);
  Parsed parsed;
  for (const FactProblem& problem : parser.problems())
    parsed.problems.push_back(std::to_string(problem.line) + problem.text);
  parsed.tuples = parser.take_tuples();
  for (const auto& column : parsed.tuples.columns) require(column.size() == parsed.tuples.rows);
  return parsed;
}

// Prints the rows and parses them again; only where no symbol holds what separates fields and
// lines.
void check_round_trip(const Relation& relation, const FactFormat& format,
                      const TupleColumns& tuples, const NewValues& values) {
  if (relation.attributes.empty() || format.has_chosen_columns || format.has_headers ||
      tuples.rows > 1000)
    return;
  ValueDictionary dictionary;
  TupleColumns shared = tuples;
  for (std::size_t c = 0; c < shared.columns.size(); ++c)
    for (Cell& cell : shared.columns[c]) {
      if (relation.attributes[c].kind == ValueKind::kSymbol) {
        const std::string_view text = values.text(cell);
        if (text.ends_with('\r') || text.find_first_of("\n") != std::string_view::npos) return;
        // Without quotes a field cannot begin with what would be read as one, nor touch a
        // delimiter.
        if (text.find(format.delimiter.front()) != std::string_view::npos) return;
        cell = dictionary.encode_symbol(text);
      } else {
        cell = dictionary.encode(values.bits(cell));
      }
    }
  ValueOrder order(dictionary);
  const std::vector<ColumnOrder> orders = order.for_relation(relation);
  CodeRows rows;
  for (std::uint64_t i = 0; i < shared.rows; ++i)
    for (std::size_t c = 0; c < orders.size(); ++c) {
      rows.push_back(orders[c].code(shared.columns[c][i]));
      require(orders[c].cell(rows.back()) == shared.columns[c][i]);
    }
  FactPrinter printer(relation, format, dictionary, orders);
  std::string text;
  printer.print(rows, text);
  NewValues again(dictionary);
  const Parsed parsed = parse(relation, format, text, text.size() + 1, again);
  require(parsed.problems.empty());
  require(parsed.tuples.columns == shared.columns);
}

void fuzz_parser(std::string_view input) {
  const std::size_t newline = std::min(input.find('\n'), input.size());
  const std::string_view choice = input.substr(0, newline);
  const std::string_view text = input.substr(std::min(newline + 1, input.size()));
  const Relation relation = choose_relation(choice);
  const auto format = plan_input(relation, choose_directive(choice));
  if (!format.is_ok()) return;
  const ValueDictionary dictionary;
  NewValues values(dictionary);
  const Parsed whole = parse(relation, format.value(), text, text.size() + 1, values);
  const Parsed pieces = parse(relation, format.value(), text, 1 + (text.size() % 7), values);
  require(whole.problems == pieces.problems);
  require(whole.tuples.rows == pieces.tuples.rows);
  require(whole.tuples.columns == pieces.tuples.columns);
  if (whole.problems.empty()) check_round_trip(relation, format.value(), whole.tuples, values);
}

void fuzz_dictionary(std::string_view input) {
  ValueDictionary dictionary;
  if (!decode_dictionary(std::as_bytes(std::span(input)), dictionary).is_ok()) return;
  const auto image = encode_dictionary(dictionary, {}, dictionary.size());
  require(std::equal(image.begin(), image.end(), std::as_bytes(std::span(input)).begin()));
}

}  // namespace
}  // namespace stratalog::datalog

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with("SLDICT"))
    stratalog::datalog::fuzz_dictionary(input);
  else
    stratalog::datalog::fuzz_parser(input);
  return 0;
}
