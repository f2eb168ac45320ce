// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/structured_text.h"

#include <fmt/format.h>

#include <bit>
#include <iterator>
#include <span>

#include "datalog/facts/fact_printer.h"

namespace stratalog::datalog {
namespace {

void append_escaping_quotes(std::string_view symbol, std::string& text) {
  text += '"';
  for (const char c : symbol) {
    if (c == '"') text += '\\';
    text += c;
  }
  text += '"';
}

void append_literal(std::string_view symbol, std::string& text) {
  text += '"';
  for (const char c : symbol) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n";
    else if (c == '\t')
      text += "\\t";
    else
      text += c;
  }
  text += '"';
}

std::uint64_t bits_of(const ValueDictionary& values, Cell cell) { return values.decode(cell); }
std::uint64_t bits_of(const NewValues& values, Cell cell) { return values.bits(cell); }

template <typename Values>
class Writer {
 public:
  Writer(const std::vector<Structure>& structures, const Values& values, SymbolQuotes quotes,
         std::string& text)
      : structures_(structures), values_(values), quotes_(quotes), text_(text) {}

  void run(StructureId id, Cell cell) {
    open(id, cell);
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next == frame.branch->fields.size()) {
        text_ += frame.close;
        frames_.pop_back();
        continue;
      }
      if (frame.next > 0) text_ += ", ";
      const Attribute& field = frame.branch->fields[frame.next];
      const Cell value = frame.cells[frame.next];
      ++frame.next;
      if (field.structure != kNoStructure)
        open(field.structure, value);
      else
        append_leaf(field.kind, value);
    }
  }

 private:
  struct Frame {
    const Branch* branch;
    std::span<const Cell> cells;
    char close;
    std::size_t next = 0;
  };

  // Writes a value without fields, or begins one with fields.
  void open(StructureId id, Cell cell) {
    const Structure& structure = structures_[id];
    switch (structure.form) {
      case StructureForm::kEnumeration:
        open_branch(structure, bits_of(values_, cell), {});
        return;
      case StructureForm::kRecord: {
        if (cell == kNilCell) {
          text_ += "nil";
          return;
        }
        const auto fields = values_.fields(structure.branches[0].shape, cell);
        if (!fields) return append_unknown(cell);
        text_ += '[';
        frames_.push_back({.branch = structure.branches.data(), .cells = *fields, .close = ']'});
        return;
      }
      case StructureForm::kAlgebraic:
        break;
    }
    const auto record = values_.record_of(cell);
    if (!record || record->cells.empty()) return append_unknown(cell);
    const std::uint64_t number = record->cells[0];
    if (number >= structure.branches.size() || structure.branches[number].shape != record->shape)
      return append_unknown(cell);
    open_branch(structure, number, record->cells.subspan(1));
  }

  void open_branch(const Structure& structure, std::uint64_t number, std::span<const Cell> cells) {
    if (number >= structure.branches.size()) return append_unknown(number);
    const Branch& branch = structure.branches[number];
    text_ += '$';
    text_ += branch.name;
    if (branch.fields.empty()) return;
    text_ += '(';
    frames_.push_back({.branch = &branch, .cells = cells, .close = ')'});
  }

  void append_unknown(std::uint64_t number) {
    fmt::format_to(std::back_inserter(text_), "?{}", number);
  }

  void append_leaf(ValueKind kind, Cell cell) {
    switch (kind) {
      case ValueKind::kNumber:
        fmt::format_to(std::back_inserter(text_), "{}",
                       static_cast<std::int64_t>(bits_of(values_, cell)));
        return;
      case ValueKind::kUnsigned:
        fmt::format_to(std::back_inserter(text_), "{}", bits_of(values_, cell));
        return;
      case ValueKind::kFloat:
        append_float(std::bit_cast<double>(bits_of(values_, cell)), text_);
        return;
      case ValueKind::kSymbol:
        if (quotes_ == SymbolQuotes::kDouble)
          append_escaping_quotes(values_.text(cell), text_);
        else if (quotes_ == SymbolQuotes::kLiteral)
          append_literal(values_.text(cell), text_);
        else
          text_ += values_.text(cell);
        return;
      case ValueKind::kRecord:
        return;  // has a structure
    }
  }

  const std::vector<Structure>& structures_;
  const Values& values_;
  SymbolQuotes quotes_;
  std::string& text_;
  std::vector<Frame> frames_;
};

}  // namespace

void append_structured(const std::vector<Structure>& structures, StructureId id,
                       const ValueDictionary& dictionary, Cell cell, SymbolQuotes quotes,
                       std::string& text) {
  Writer(structures, dictionary, quotes, text).run(id, cell);
}

void append_structured(const std::vector<Structure>& structures, StructureId id,
                       const NewValues& values, Cell cell, SymbolQuotes quotes, std::string& text) {
  Writer(structures, values, quotes, text).run(id, cell);
}

}  // namespace stratalog::datalog
