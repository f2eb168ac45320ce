// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/fact_printer.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <charconv>
#include <iterator>

#include "datalog/facts/structured_text.h"

namespace stratalog::datalog {
namespace {

template <typename Integer>
void append_integer(Integer value, std::string& text) {
  std::array<char, 24> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end);
}

void append_doubling_quotes(std::string_view symbol, std::string& text) {
  text += '"';
  for (const char c : symbol) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

}  // namespace

void append_float(double value, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{:.17g}", value);
}

FactPrinter::FactPrinter(const Relation& relation, const FactFormat& format,
                         const ValueDictionary& dictionary, std::span<const ColumnOrder> orders)
    : relation_(relation),
      format_(format),
      dictionary_(dictionary),
      orders_(orders),
      columns_(relation.attributes.size()) {}

std::string FactPrinter::header() const {
  if (!format_.header.empty()) return format_.header + '\n';
  std::string line;
  for (const Attribute& attribute : relation_.attributes) {
    if (!line.empty()) line += format_.delimiter;
    line += attribute.name;
  }
  line += '\n';
  return line;
}

void FactPrinter::print(std::span<const OrderCode> rows, std::string& text) {
  const std::size_t width = columns_.size();
  for (std::size_t at = 0; at < rows.size(); at += width) {
    for (std::size_t c = 0; c + 1 < width; ++c) {
      Column& column = columns_[c];
      if (!column.is_set || column.code != rows[at + c]) {
        column.text.clear();
        format_value(c, rows[at + c], column.text);
        column.text += format_.delimiter;
        column.code = rows[at + c];
        column.is_set = true;
      }
      text += column.text;
    }
    format_value(width - 1, rows[at + width - 1], text);
    text += '\n';
  }
}

void FactPrinter::format_value(std::size_t column, OrderCode code, std::string& text) const {
  const Cell cell = orders_[column].cell(code);
  if (relation_.attributes[column].structure != kNoStructure)
    return format_structured(column, cell, text);
  switch (relation_.attributes[column].kind) {
    case ValueKind::kRecord:
      break;  // has a structure
    case ValueKind::kNumber:
      append_integer(static_cast<std::int64_t>(dictionary_.decode(cell)), text);
      break;
    case ValueKind::kUnsigned:
      append_integer(dictionary_.decode(cell), text);
      break;
    case ValueKind::kFloat:
      append_float(std::bit_cast<double>(dictionary_.decode(cell)), text);
      break;
    case ValueKind::kSymbol:
      if (format_.is_rfc4180)
        append_doubling_quotes(dictionary_.text(cell), text);
      else
        text += dictionary_.text(cell);
      break;
  }
}

// Between RFC 4180 quotes as a whole where those are wanted, with quoted symbols inside.
void FactPrinter::format_structured(std::size_t column, Cell cell, std::string& text) const {
  const StructureId id = relation_.attributes[column].structure;
  if (!format_.is_rfc4180) {
    append_structured(*relation_.structures, id, dictionary_, cell, SymbolQuotes::kNone, text);
    return;
  }
  std::string value;
  append_structured(*relation_.structures, id, dictionary_, cell, SymbolQuotes::kDouble, value);
  append_doubling_quotes(value, text);
}

}  // namespace stratalog::datalog
