// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/structured_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace stratalog::datalog {
namespace {

bool is_name_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '?' || c == '.';
}

class Reader {
 public:
  Reader(const std::vector<Structure>& structures, std::string_view text, NewValues& values)
      : structures_(structures), text_(text), values_(values) {}

  ParsedStructure run(StructureId id) {
    std::optional<Cell> cell;
    if (begin(id, cell)) {
      while (!frames_.empty() && step(cell)) {
      }
    }
    skip_blanks();
    if (problem_.expected.empty() && at_ != text_.size()) fail("the end of the field");
    if (!problem_.expected.empty()) return problem_;
    return {.is_ok = true, .cell = cell.value_or(kNilCell), .at = 0, .expected = {}};
  }

 private:
  struct Frame {
    const Branch* branch;
    std::vector<Cell> cells;  // of a branch: its number first
    std::size_t next;  // field
    char close;
  };

  bool fail(std::string expected) {
    if (problem_.expected.empty()) {
      problem_.at = at_;
      problem_.expected = std::move(expected);
    }
    return false;
  }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  bool take(char c, std::string_view expected) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return fail(std::string(expected));
    ++at_;
    return true;
  }

  // A value without fields gives `cell`; one with fields opens a frame.
  bool begin(StructureId id, std::optional<Cell>& cell) {
    const Structure& structure = structures_[id];
    skip_blanks();
    if (structure.form != StructureForm::kRecord) return begin_branch(structure, cell);
    if (text_.substr(at_, 3) == "nil") {
      at_ += 3;
      cell = kNilCell;
      return true;
    }
    if (!take('[', "`[` or `nil`")) return false;
    frames_.push_back({.branch = structure.branches.data(), .cells = {}, .next = 0, .close = ']'});
    return true;
  }

  bool begin_branch(const Structure& structure, std::optional<Cell>& cell) {
    if (!take('$', "`$` and a branch")) return false;
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const std::string_view name = text_.substr(from, at_ - from);
    const auto branch = std::find_if(structure.branches.begin(), structure.branches.end(),
                                     [&](const Branch& b) { return b.name == name; });
    if (branch == structure.branches.end()) {
      at_ = from;
      return fail(fmt::format("a branch of {}", structure.name));
    }
    const auto number = static_cast<Cell>(branch - structure.branches.begin());
    if (structure.form == StructureForm::kEnumeration) {
      cell = number;
      return true;
    }
    if (branch->fields.empty()) {
      cell = values_.record(branch->shape, std::span(&number, 1));
      return true;
    }
    if (!take('(', "`(` and the fields of the branch")) return false;
    frames_.push_back({.branch = &*branch, .cells = {number}, .next = 0, .close = ')'});
    return true;
  }

  // One field of the innermost value, or its end. `cell` is the value that was just finished, if
  // one was.
  bool step(std::optional<Cell>& cell) {
    Frame& frame = frames_.back();
    if (cell) {
      frame.cells.push_back(*cell);
      ++frame.next;
      cell.reset();
    }
    if (frame.next == frame.branch->fields.size()) {
      if (!take(frame.close, frame.close == ']' ? "`]`" : "`)`")) return false;
      cell = values_.record(frame.branch->shape, frame.cells);
      frames_.pop_back();
      return true;
    }
    if (frame.next > 0 && !take(',', "`,` and the next field")) return false;
    skip_blanks();
    const Attribute& field = frame.branch->fields[frame.next];
    if (field.structure != kNoStructure) return begin(field.structure, cell);
    return field.kind == ValueKind::kSymbol ? read_symbol(frame.close, cell)
                                            : read_number(field.kind, cell);
  }

  bool read_number(ValueKind kind, std::optional<Cell>& cell) {
    const std::size_t from = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ',' && text_[at_] != ']' &&
           text_[at_] != ')')
      ++at_;
    const ParsedField parsed = parse_field(kind, text_.substr(from, at_ - from));
    if (parsed.problem != FieldProblem::kNone) {
      at_ = from;
      const bool is_float = kind == ValueKind::kFloat;
      return fail(is_float ? "a float" : kind == ValueKind::kUnsigned ? "an unsigned" : "a number");
    }
    cell = values_.number(parsed.bits);
    return true;
  }

  bool read_symbol(char close, std::optional<Cell>& cell) {
    if (at_ < text_.size() && text_[at_] == '"') return read_quoted(cell);
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != close) ++at_;
    if (at_ == text_.size()) return fail(close == ']' ? "`,` or `]`" : "`,` or `)`");
    cell = values_.symbol(text_.substr(from, at_ - from));
    return true;
  }

  bool read_quoted(std::optional<Cell>& cell) {
    std::string symbol;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      symbol += text_[at_];
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return fail("a closing double quote");
    }
    ++at_;
    cell = values_.symbol(symbol);
    return true;
  }

  const std::vector<Structure>& structures_;
  std::string_view text_;
  NewValues& values_;
  std::size_t at_ = 0;
  std::vector<Frame> frames_;
  ParsedStructure problem_;
};

}  // namespace

ParsedStructure parse_structured(const std::vector<Structure>& structures, StructureId id,
                                 std::string_view text, NewValues& values) {
  return Reader(structures, text, values).run(id);
}

}  // namespace stratalog::datalog
