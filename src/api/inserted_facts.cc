// SPDX-License-Identifier: Apache-2.0
#include "api/inserted_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/memory_end.h"
#include "datalog/facts/cell_class.h"
#include "datalog/facts/remap_columns.h"
#include "datalog/facts/structured_parser.h"

namespace stratalog {
namespace {

using datalog::Attribute;
using datalog::Relation;
using datalog::TupleColumns;
using datalog::ValueKind;

constexpr std::size_t kShownBytes = 60;

std::string column_name(const Relation& relation, std::size_t column) {
  const Attribute& attribute = relation.attributes[column];
  return fmt::format("relation `{}`, column `{}` (type {})", relation.name, attribute.name,
                     attribute.type_name);
}

template <typename T>
T value_at(const stratalog_column_in& given, std::uint64_t row) {
  T value;
  std::memcpy(
      &value,
      static_cast<const char*>(given.values) + (static_cast<std::int64_t>(row) * given.stride),
      sizeof(T));
  return value;
}

// Text i of a column, checked.
Result<std::string_view> text_at(const Relation& relation, std::size_t column,
                                 const stratalog_column_in& given, std::int64_t i) {
  const std::int64_t from = given.offsets[i];
  const std::int64_t to = given.offsets[i + 1];
  if (from < 0 || to < from || (given.text == nullptr && to > from))
    return Status::invalid_argument(fmt::format("{}: text {} lies from byte {} to byte {}",
                                                column_name(relation, column), i, from, to));
  if (static_cast<std::uint64_t>(to - from) > SymbolTable::kMaxSymbolBytes)
    return Status::invalid_argument(fmt::format("{}: text {} has {} bytes; at most {} are possible",
                                                column_name(relation, column), i, to - from,
                                                SymbolTable::kMaxSymbolBytes));
  return to == from ? std::string_view() : std::string_view(given.text + from, to - from);
}

// Which values of a NewValues some tuples use, by id.
class UsedValues {
 public:
  explicit UsedValues(const NewValues& values)
      : values_(values),
        symbols_(values.symbols().size()),
        wides_(values.wides().size()),
        records_(values.records().size()) {}

  void mark(const Relation& relation, const TupleColumns& tuples) {
    for (std::size_t c = 0; c < tuples.columns.size(); ++c)
      for (const Cell cell : tuples.columns[c])
        mark(datalog::cell_class(relation.attributes[c].kind), cell);
  }
  // After all others. Records hold earlier ones only.
  void mark_fields() {
    const RecordTable& records = values_.records();
    for (std::size_t id = records_.size(); id-- > 0;) {
      if (!records_[id]) continue;
      const auto cells = records.cells(static_cast<std::uint32_t>(id));
      const Shape& shape = records.fields_of(records.shape_of(static_cast<std::uint32_t>(id)));
      for (std::size_t f = 0; f < cells.size(); ++f) mark(shape[f], cells[f]);
    }
  }

  bool has_symbol(std::size_t id) const { return symbols_[id]; }
  bool has_wide(std::size_t id) const { return wides_[id]; }
  bool has_record(std::size_t id) const { return records_[id]; }

 private:
  void mark(CellClass of, Cell cell) {
    if (of == CellClass::kSymbol && is_provisional_symbol(cell))
      symbols_[cell - kProvisionalSymbolBase] = true;
    else if (of == CellClass::kNumber && is_provisional_wide(cell))
      wides_[cell - kProvisionalWideBase] = true;
    else if (of == CellClass::kRecord && is_provisional_record(cell))
      records_[cell - kProvisionalRecordBase] = true;
  }

  const NewValues& values_;
  std::vector<bool> symbols_;
  std::vector<bool> wides_;
  std::vector<bool> records_;
};

// Gives the cells of one NewValues those of another; of `used`, if given, only those.
class Translation {
 public:
  Translation(const NewValues& from, NewValues& to, const UsedValues* used = nullptr) {
    cells_.symbols.reserve(from.symbols().size());
    for (Cell id = 0; id < from.symbols().size(); ++id)
      cells_.symbols.push_back(
          used == nullptr || used->has_symbol(id) ? to.symbol(from.symbols().text(id)) : 0);
    cells_.wides.reserve(from.wides().size());
    for (std::uint32_t id = 0; id < from.wides().size(); ++id)
      cells_.wides.push_back(
          used == nullptr || used->has_wide(id) ? to.number(from.wides().bits(id)) : 0);
    // Records hold earlier ones only.
    const RecordTable& records = from.records();
    std::vector<Cell> fields;
    cells_.records.reserve(records.size());
    for (std::uint32_t id = 0; id < records.size(); ++id) {
      if (used != nullptr && !used->has_record(id)) {
        cells_.records.push_back(kNilCell);
        continue;
      }
      const ShapeId shape = records.shape_of(id);
      const auto cells = records.cells(id);
      fields.assign(cells.begin(), cells.end());
      for (std::size_t f = 0; f < fields.size(); ++f)
        fields[f] = cells_.of(records.fields_of(shape)[f], fields[f]);
      cells_.records.push_back(to.record(shape, fields));
    }
  }
  const CellRemapping& cells() const { return cells_; }

 private:
  CellRemapping cells_;
};

}  // namespace

InsertedFacts::InsertedFacts(const datalog::Program& program)
    : program_(program), values_(known_), facts_(program.relations.size()) {
  announce_shapes(program, known_);
  for (std::size_t r = 0; r < facts_.size(); ++r)
    facts_[r].columns.resize(program.relations[r].attributes.size());
}

Result<std::vector<Cell>> InsertedFacts::cells_of_texts(const Relation& relation,
                                                        std::size_t column,
                                                        const stratalog_column_in& given) {
  const Attribute& attribute = relation.attributes[column];
  if (given.texts < 0 || (given.texts > 0 && given.offsets == nullptr))
    return Status::invalid_argument(
        fmt::format("{}: texts without their offsets, or a number of "
                    "texts below zero",
                    column_name(relation, column)));
  std::vector<Cell> cells;
  cells.reserve(static_cast<std::size_t>(given.texts));
  for (std::int64_t i = 0; i < given.texts; ++i) {
    STRATALOG_ASSIGN_OR_RETURN(const std::string_view text, text_at(relation, column, given, i));
    if (attribute.structure == datalog::kNoStructure) {
      cells.push_back(values_.symbol(text));
      continue;
    }
    const datalog::ParsedStructure parsed =
        parse_structured(*relation.structures, attribute.structure, text, values_);
    if (!parsed.is_ok)
      return Status::invalid_argument(fmt::format(
          "{}: text {}, byte {}: expected {}, found \"{}\"", column_name(relation, column), i,
          parsed.at, parsed.expected, text.substr(parsed.at, kShownBytes)));
    cells.push_back(parsed.cell);
  }
  return cells;
}

Result<std::vector<Cell>> InsertedFacts::cells_of(const Relation& relation, std::size_t column,
                                                  std::uint64_t rows,
                                                  const stratalog_column_in& given) {
  const Attribute& attribute = relation.attributes[column];
  const bool has_texts =
      attribute.structure != datalog::kNoStructure || attribute.kind == ValueKind::kSymbol;
  if (!has_texts) {
    if (given.values == nullptr && rows > 0)
      return Status::invalid_argument(
          fmt::format("{}: no values were given", column_name(relation, column)));
    std::vector<Cell> cells(rows);
    for (std::uint64_t r = 0; r < rows; ++r)
      cells[r] = values_.number(value_at<std::uint64_t>(given, r));
    return cells;
  }
  STRATALOG_ASSIGN_OR_RETURN(std::vector<Cell> texts, cells_of_texts(relation, column, given));
  if (given.values == nullptr) {
    if (texts.size() == rows) return texts;
    return Status::invalid_argument(fmt::format("{}: expected {} texts, one a row, found {}",
                                                column_name(relation, column), rows, texts.size()));
  }
  std::vector<Cell> cells(rows);
  for (std::uint64_t r = 0; r < rows; ++r) {
    const auto number = value_at<std::int32_t>(given, r);
    if (number < 0 || static_cast<std::uint64_t>(number) >= texts.size())
      return Status::invalid_argument(fmt::format("{}: row {} names text {}; there are {}",
                                                  column_name(relation, column), r, number,
                                                  texts.size()));
    cells[r] = texts[static_cast<std::size_t>(number)];
  }
  return cells;
}

Status InsertedFacts::insert(std::size_t relation, std::uint64_t rows,
                             std::span<const stratalog_column_in> columns) {
  const Relation& into = program_.relations[relation];
  if (columns.size() != into.attributes.size())
    return Status::invalid_argument(fmt::format("relation `{}` has {} columns; {} were given",
                                                into.name, into.attributes.size(), columns.size()));
  if (into.numbering)
    return Status::invalid_argument(fmt::format(
        "relation `{}` is made by the compiler for autoinc(); insert into the relations "
        "of the program",
        into.name));
  const std::string no_memory =
      fmt::format("the machine has no memory left for {} rows of relation `{}`", rows, into.name);
  if (rows > std::vector<Cell>().max_size()) return Status::no_space(no_memory);
  return or_no_space(no_memory, [&] { return take(relation, rows, columns); });
}

// All of them or nothing.
Status InsertedFacts::take(std::size_t relation, std::uint64_t rows,
                           std::span<const stratalog_column_in> columns) {
  const Relation& into = program_.relations[relation];
  std::vector<std::vector<Cell>> cells;
  cells.reserve(columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    STRATALOG_ASSIGN_OR_RETURN(std::vector<Cell> column, cells_of(into, c, rows, columns[c]));
    cells.push_back(std::move(column));
  }
  if (values_.overflowed())
    return Status::no_space("more than 2^30 different values were inserted");
  TupleColumns& facts = facts_[relation];
  for (std::vector<Cell>& column : facts.columns)
    if (column.capacity() < column.size() + rows)
      column.reserve(std::max(2 * column.capacity(), column.size() + rows));
  facts.rows += rows;
  for (std::size_t c = 0; c < cells.size(); ++c)
    facts.columns[c].insert(facts.columns[c].end(), cells[c].begin(), cells[c].end());
  return Status::ok();
}

void InsertedFacts::clear(std::size_t relation) {
  TupleColumns& facts = facts_[relation];
  facts.rows = 0;
  for (auto& column : facts.columns) column = {};
  forget_unused_values();
}

std::uint64_t InsertedFacts::value_count() const {
  return values_.size().symbols + values_.size().wides + values_.records().size();
}

// To look for them costs a look at all tuples; it waits until as many may be found.
void InsertedFacts::forget_unused_values() {
  constexpr std::uint64_t kFewValues = 1024;
  std::uint64_t cells = 0;
  for (const TupleColumns& facts : facts_) cells += facts.rows * facts.columns.size();
  const std::uint64_t added = value_count() - kept_values_;
  if (cells > 0 && added < std::max({kept_values_, cells / 8, kFewValues})) return;
  UsedValues used(values_);
  for (std::size_t r = 0; r < facts_.size(); ++r) used.mark(program_.relations[r], facts_[r]);
  used.mark_fields();
  NewValues kept(known_);
  const Translation translation(values_, kept, &used);
  for (std::size_t r = 0; r < facts_.size(); ++r)
    datalog::remap_columns(program_.relations[r], translation.cells(), facts_[r]);
  values_ = std::move(kept);
  kept_values_ = value_count();
}

std::vector<TupleColumns> InsertedFacts::supply(NewValues& values) const {
  const Translation translation(values_, values);
  std::vector<TupleColumns> supplied = facts_;
  for (std::size_t r = 0; r < supplied.size(); ++r)
    datalog::remap_columns(program_.relations[r], translation.cells(), supplied[r]);
  return supplied;
}

}  // namespace stratalog
