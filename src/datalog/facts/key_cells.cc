// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/key_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "datalog/facts/field_parser.h"
#include "datalog/facts/value_key.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kFirstNegative = ~std::uint64_t{0} - ((1U << 24) - 1);  // pattern of -2^24

// Keys from `first` to `last`, both included.
struct KeyRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

// All that a range without ends holds: of floats not the NaNs.
KeyRange everything(ValueKind kind) {
  if (kind != ValueKind::kFloat) return {.first = 0, .last = ~std::uint64_t{0}};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {.first = value_key(kind, std::bit_cast<std::uint64_t>(-kInfinity)),
          .last = value_key(kind, std::bit_cast<std::uint64_t>(kInfinity))};
}

// Adds the cells of the narrow patterns from `from` to `to` (neighbours in value and in cell) whose
// keys are wanted.
void add_narrow(ValueKind kind, const KeyRange& wanted, std::uint64_t from, std::uint64_t to,
                std::vector<CellRange>& ranges) {
  const std::uint64_t first = std::max(wanted.first, value_key(kind, from));
  const std::uint64_t last = std::min(wanted.last, value_key(kind, to));
  if (first > last) return;
  const Cell cell = narrow_cell(from);
  const auto step = [&](std::uint64_t key) {
    return cell + static_cast<Cell>(key - value_key(kind, from));
  };
  ranges.push_back({.lowest = step(first), .highest = step(last)});
}

CellSet cells_between(ValueKind kind, const KeyRange& wanted, const WideTable& wides) {
  std::vector<CellRange> ranges;
  add_narrow(kind, wanted, 0, kNegativeBase - 1, ranges);
  // Of floats these patterns are NaNs.
  if (kind != ValueKind::kFloat)
    add_narrow(kind, wanted, kFirstNegative, ~std::uint64_t{0}, ranges);
  for (std::uint32_t id = 0; id < wides.size(); ++id) {
    const std::uint64_t key = value_key(kind, wides.bits(id));
    if (key >= wanted.first && key <= wanted.last)
      ranges.push_back({.lowest = kWideBase + id, .highest = kWideBase + id});
  }
  return CellSet(std::move(ranges));
}

Status bad_value(const Attribute& attribute, std::string_view text) {
  return Status::invalid_argument(
      fmt::format("column {} has type {}: expected a value, or LOW:HIGH (HIGH is not included), "
                  "found \"{}\"",
                  attribute.name, attribute.type_name, text));
}

Result<std::uint64_t> parse_bits(const Attribute& attribute, std::string_view text) {
  const ParsedField field = parse_field(attribute.kind, text);
  if (field.problem != FieldProblem::kNone) return bad_value(attribute, text);
  return field.bits;
}

// Both zeros of floats are one value: bounds begin at the lower one.
std::uint64_t bound_key(ValueKind kind, std::uint64_t bits) {
  return value_key(kind, kind == ValueKind::kFloat && bits == 0 ? kSignBit : bits);
}

Result<CellSet> number_cells(const Attribute& attribute, const WideTable& wides,
                             std::string_view text) {
  const ValueKind kind = attribute.kind;
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t bits, parse_bits(attribute, text));
    KeyRange wanted{.first = bound_key(kind, bits), .last = value_key(kind, bits)};
    if (kind == ValueKind::kFloat && bits == kSignBit) wanted.last = value_key(kind, 0);
    return cells_between(kind, wanted, wides);
  }
  KeyRange wanted = everything(kind);
  if (colon != 0) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t low,
                               parse_bits(attribute, text.substr(0, colon)));
    wanted.first = std::max(wanted.first, bound_key(kind, low));
  }
  if (colon + 1 != text.size()) {
    STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t high,
                               parse_bits(attribute, text.substr(colon + 1)));
    const std::uint64_t key = bound_key(kind, high);
    if (key == 0) return CellSet();
    wanted.last = std::min(wanted.last, key - 1);
  }
  if (wanted.first > wanted.last) return CellSet();
  return cells_between(kind, wanted, wides);
}

Result<CellSet> branch_cells(const Attribute& attribute, const Structure& structure,
                             std::string_view text) {
  if (structure.form != StructureForm::kEnumeration)
    return Status::not_supported(
        fmt::format("column {} holds values of {}, which cannot be chosen by value yet; export the "
                    "relation and choose among its lines",
                    attribute.name, attribute.type_name));
  if (text.starts_with('$')) text.remove_prefix(1);
  for (Cell number = 0; number < structure.branches.size(); ++number)
    if (structure.branches[number].name == text)
      return CellSet({{.lowest = number, .highest = number}});
  return Status::invalid_argument(fmt::format("column {}: type {} has no branch {}", attribute.name,
                                              attribute.type_name, text));
}

}  // namespace

Result<CellSet> cells_of_key(const Attribute& attribute, const std::vector<Structure>& structures,
                             const ValueDictionary& dictionary, std::string_view text) {
  if (attribute.structure != kNoStructure)
    return branch_cells(attribute, structures[attribute.structure], text);
  if (attribute.kind != ValueKind::kSymbol)
    return number_cells(attribute, dictionary.wides(), text);
  const auto cell = dictionary.symbols().find(text);
  if (!cell) return CellSet();
  return CellSet({{.lowest = *cell, .highest = *cell}});
}

}  // namespace stratalog::datalog
