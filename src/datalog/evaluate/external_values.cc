// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/external_values.h"

#include <fmt/format.h>

#include <limits>
#include <vector>

namespace stratalog::datalog {
namespace {

// A map's key. Cells and references are below 2^32.
std::uint64_t key_of(StructureId structure, std::uint64_t id) {
  return (std::uint64_t{structure} << 32U) | id;
}

const std::uint64_t* find_in(const std::unordered_map<std::uint64_t, std::uint64_t>& map,
                             std::uint64_t key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

std::int64_t signed_of(std::uint64_t word) { return static_cast<std::int64_t>(word); }

}  // namespace

Status ExternalValues::Call::no_value(const Record& record, std::string_view why) const {
  return Status::invalid_argument(fmt::format("{}, which is no value of the type `{}`: {}",
                                              signed_of(record.id),
                                              structure(record.structure).name, why));
}

const std::uint64_t* ExternalValues::Call::known_word(const Record& record) const {
  const bool is_new = is_provisional_record(static_cast<Cell>(record.id));
  return find_in(is_new ? new_words_ : values_.words_, key_of(record.structure, record.id));
}

const std::uint64_t* ExternalValues::Call::known_cell(const Record& record) const {
  const std::uint64_t key = key_of(record.structure, record.id);
  const std::uint64_t* const known = find_in(values_.cells_, key);
  return known == nullptr ? find_in(new_cells_, key) : known;
}

Result<std::uint64_t> ExternalValues::Call::word(const ExternalType& type, Cell cell) {
  const Record root{type.structure, cell};
  if (type.kind == ValueKind::kRecord && !is_nil(root)) STRATALOG_RETURN_IF_ERROR(make_word(root));
  return word_of(type.kind, type.structure, cell);
}

// Of a record that is nil or known.
std::uint64_t ExternalValues::Call::word_of(ValueKind kind, StructureId structure, Cell cell) {
  if (kind == ValueKind::kSymbol) return tables_.symbol(values_.values_->text(cell));
  if (kind != ValueKind::kRecord) return values_.values_->bits(cell);
  return cell == kNilCell ? 0 : *known_word({structure, cell});
}

// Parts come before what they are parts of; lists may be long, so that nothing here recurses.
Status ExternalValues::Call::make_word(const Record& root) {
  open_.assign(1, root);
  while (!open_.empty()) {
    const Record record = open_.back();
    if (known_word(record) == nullptr) {
      STRATALOG_ASSIGN_OR_RETURN(const Parts<Cell> parts, open_cell(record));
      if (queue_cells(parts)) continue;
      const std::uint64_t word = pack(record, parts);
      const bool is_new = is_provisional_record(static_cast<Cell>(record.id));
      (is_new ? new_words_ : values_.words_).emplace(key_of(record.structure, record.id), word);
    }
    open_.pop_back();
  }
  return {};
}

Result<ExternalValues::Call::Parts<Cell>> ExternalValues::Call::open_cell(
    const Record& record) const {
  const Structure& of = structure(record.structure);
  const auto found = values_.values_->record_of(static_cast<Cell>(record.id));
  Parts<Cell> parts;
  if (found) {
    parts.fields = found->cells;
    if (of.form == StructureForm::kAlgebraic && !parts.fields.empty()) {
      parts.number = parts.fields[0];
      parts.fields = parts.fields.subspan(1);
    }
  }
  if (found && parts.number < of.branches.size()) parts.branch = &of.branches[parts.number];
  if (parts.branch == nullptr || parts.branch->shape != found->shape)
    return no_value(record, "a number was cast to it");
  return parts;
}

// Whether there are fields whose words are not known yet.
bool ExternalValues::Call::queue_cells(const Parts<Cell>& parts) {
  const std::size_t before = open_.size();
  const auto& fields = parts.branch->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != ValueKind::kRecord) continue;
    const Record field{fields[i].structure, parts.fields[i]};
    if (!is_nil(field) && known_word(field) == nullptr) open_.push_back(field);
  }
  return open_.size() > before;
}

std::uint64_t ExternalValues::Call::pack(const Record& record, const Parts<Cell>& parts) {
  std::vector<std::uint64_t> words;
  const auto& fields = parts.branch->fields;
  words.reserve(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i)
    words.push_back(word_of(fields[i].kind, fields[i].structure, parts.fields[i]));
  if (structure(record.structure).form == StructureForm::kRecord) return tables_.record(words);
  const std::uint64_t value = words.size() == 1 ? words[0] : tables_.record(words);
  return tables_.record(std::vector{parts.number, value});
}

Result<Cell> ExternalValues::Call::cell(const ExternalType& type, std::uint64_t word) {
  const Record root{type.structure, word};
  if (type.kind == ValueKind::kRecord && !is_nil(root)) {
    if (word > std::numeric_limits<std::uint32_t>::max())
      return no_value(root, "there is no such record");
    STRATALOG_RETURN_IF_ERROR(make_cell(root));
  }
  return cell_of(type.kind, type.structure, word);
}

// Of a record that is nil or known.
Result<Cell> ExternalValues::Call::cell_of(ValueKind kind, StructureId structure_id,
                                           std::uint64_t word) {
  if (kind == ValueKind::kSymbol) {
    const auto text = tables_.text(word);
    if (text) return values_.values_->symbol(*text);
    return Status::invalid_argument(fmt::format(
        "{} as the number of a symbol, which its table does not have", signed_of(word)));
  }
  if (kind == ValueKind::kRecord)
    return word == 0 ? kNilCell : static_cast<Cell>(*known_cell({structure_id, word}));
  if (structure_id != kNoStructure && word >= structure(structure_id).branches.size())
    return no_value({structure_id, word}, "there is no branch of that number");
  return values_.values_->number(word);
}

Status ExternalValues::Call::make_cell(const Record& root) {
  open_.assign(1, root);
  while (!open_.empty()) {
    const Record record = open_.back();
    if (known_cell(record) == nullptr) {
      STRATALOG_ASSIGN_OR_RETURN(const Parts<std::uint64_t> parts, open_word(record));
      STRATALOG_ASSIGN_OR_RETURN(const bool must_wait, queue_words(record, parts));
      if (must_wait) continue;
      STRATALOG_RETURN_IF_ERROR(build(record, parts));
    }
    open_.pop_back();
  }
  return {};
}

Result<ExternalValues::Call::Parts<std::uint64_t>> ExternalValues::Call::open_word(
    const Record& record) const {
  const Structure& of = structure(record.structure);
  Parts<std::uint64_t> parts;
  parts.branch = of.branches.data();
  if (of.form == StructureForm::kRecord) {
    const auto words = tables_.words(record.id, parts.branch->fields.size());
    if (!words)
      return no_value(record, fmt::format("it does not refer to a record of {} fields",
                                          parts.branch->fields.size()));
    parts.fields = *words;
    return parts;
  }
  const auto pair = tables_.words(record.id, 2);
  if (!pair) return no_value(record, "it does not refer to a record [branch, value]");
  parts.number = (*pair)[0];
  if (parts.number >= of.branches.size())
    return no_value(record, fmt::format("there is no branch number {}", signed_of(parts.number)));
  parts.branch += parts.number;
  // What stands behind a branch without fields means nothing.
  const std::size_t count = parts.branch->fields.size();
  if (count == 0) return parts;
  parts.fields = pair->subspan(1);
  if (count == 1) return parts;
  const auto words = (*pair)[1] < record.id ? tables_.words((*pair)[1], count) : std::nullopt;
  if (!words)
    return no_value(
        record, fmt::format("branch `{}` has {} fields, and {} does not refer to a record of so "
                            "many that was there before",
                            parts.branch->name, count, signed_of((*pair)[1])));
  parts.fields = *words;
  return parts;
}

// Whether there are parts whose cells are not known yet.
Result<bool> ExternalValues::Call::queue_words(const Record& record,
                                               const Parts<std::uint64_t>& parts) {
  const std::size_t before = open_.size();
  const auto& fields = parts.branch->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != ValueKind::kRecord) continue;
    const Record field{fields[i].structure, parts.fields[i]};
    if (is_nil(field)) continue;
    // A record is made of what was there before; anything else might go in a circle.
    if (field.id >= record.id)
      return no_value(record, fmt::format("its field `{}` refers to {}, which was not there before",
                                          fields[i].name, signed_of(field.id)));
    if (known_cell(field) == nullptr) open_.push_back(field);
  }
  return open_.size() > before;
}

Status ExternalValues::Call::build(const Record& record, const Parts<std::uint64_t>& parts) {
  std::vector<Cell> cells;
  if (structure(record.structure).form == StructureForm::kAlgebraic)
    cells.push_back(static_cast<Cell>(parts.number));
  const auto& fields = parts.branch->fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(const Cell cell,
                               cell_of(fields[i].kind, fields[i].structure, parts.fields[i]));
    cells.push_back(cell);
  }
  const Cell cell = values_.values_->record(parts.branch->shape, cells);
  (is_provisional_record(cell) ? new_cells_ : values_.cells_)
      .emplace(key_of(record.structure, record.id), cell);
  return {};
}

}  // namespace stratalog::datalog
