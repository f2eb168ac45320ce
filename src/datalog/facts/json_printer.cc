// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/json_printer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "datalog/facts/fact_printer.h"

namespace stratalog::datalog {
namespace {

// JSON is UTF-8: bytes that are none become the replacement character.
void append_string(std::string_view symbol, std::string& text) {
  text += nlohmann::json(symbol).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// JSON has no numbers for what is not finite: those are strings, which read back. `-0` is an
// integer for most readers, which has no sign.
void append_number(double value, std::string& text) {
  if (value == 0 && std::signbit(value)) {
    text += "-0.0";
    return;
  }
  if (std::isfinite(value)) return append_float(value, text);
  text += '"';
  append_float(value, text);
  text += '"';
}

}  // namespace

// A record that is not complete.
struct JsonPrinter::Frame {
  std::span<const Attribute> fields;
  std::span<const Cell> cells;
  std::size_t next = 0;
};

void JsonPrinter::append_key(std::string_view name, std::string& text) const {
  if (!format_.is_json_object) return;
  append_string(name, text);
  text += ": ";
}

// Writes a value, or begins a record.
void JsonPrinter::append_value(const Attribute& attribute, Cell cell, std::vector<Frame>& frames,
                               std::string& text) const {
  if (attribute.structure != kNoStructure) {
    const Branch& record = (*relation_.structures)[attribute.structure].branches[0];
    const auto cells = dictionary_.fields(record.shape, cell);
    if (!cells) {
      text += "null";
      return;
    }
    text += format_.is_json_object ? '{' : '[';
    frames.push_back({.fields = record.fields, .cells = *cells});
    return;
  }
  switch (attribute.kind) {
    case ValueKind::kNumber:
      fmt::format_to(std::back_inserter(text), "{}",
                     static_cast<std::int64_t>(dictionary_.decode(cell)));
      return;
    case ValueKind::kUnsigned:
      fmt::format_to(std::back_inserter(text), "{}", dictionary_.decode(cell));
      return;
    case ValueKind::kFloat:
      append_number(std::bit_cast<double>(dictionary_.decode(cell)), text);
      return;
    case ValueKind::kSymbol:
      append_string(dictionary_.text(cell), text);
      return;
    case ValueKind::kRecord:
      return;  // has a structure
  }
}

void JsonPrinter::print(std::span<const OrderCode> row, std::string& text) const {
  text += format_.is_json_object ? '{' : '[';
  std::vector<Frame> frames;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (c > 0) text += ", ";
    append_key(relation_.attributes[c].name, text);
    append_value(relation_.attributes[c], orders_[c].cell(row[c]), frames, text);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next == frame.fields.size()) {
        text += format_.is_json_object ? '}' : ']';
        frames.pop_back();
        continue;
      }
      if (frame.next > 0) text += ", ";
      const Attribute& field = frame.fields[frame.next];
      const Cell cell = frame.cells[frame.next];
      ++frame.next;
      append_key(field.name, text);
      append_value(field, cell, frames, text);
    }
  }
  text += format_.is_json_object ? '}' : ']';
}

}  // namespace stratalog::datalog
