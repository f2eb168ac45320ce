// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/sqlite_facts.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "datalog/facts/fact_printer.h"
#include "datalog/facts/field_parser.h"
#include "datalog/facts/structured_parser.h"
#include "datalog/facts/structured_text.h"
#include "datalog/value_kind_name.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kSymbols = "__SymbolTable";

// Whether a column's values are texts, which are kept once for all tables.
bool is_text(const Attribute& attribute) {
  return attribute.structure != kNoStructure || attribute.kind == ValueKind::kSymbol;
}

// The type of a column. Floats have none: SQLite makes 0.0 of -0.0 in columns of REAL.
std::string_view column_type(const Attribute& attribute) {
  return !is_text(attribute) && attribute.kind == ValueKind::kFloat ? "" : " INTEGER";
}

// One value of a row to a cell, or what is wrong with it.
class ValueReader {
 public:
  ValueReader(const Relation& relation, NewValues& values) : relation_(relation), values_(values) {}

  // Empty if all is well.
  std::string read(const SqliteStatement& row, std::size_t column, Cell& cell) {
    const Attribute& attribute = relation_.attributes[column];
    const int at = static_cast<int>(column);
    if (attribute.structure != kNoStructure) {
      const ParsedStructure parsed =
          parse_structured(*relation_.structures, attribute.structure, row.text(at), values_);
      if (!parsed.is_ok) return describe_structured(attribute, column + 1, parsed, row.text(at));
      cell = parsed.cell;
      return {};
    }
    if (attribute.kind == ValueKind::kSymbol) {
      cell = values_.symbol(row.text(at));  // NULL: empty, as in Soufflé
      return {};
    }
    if (row.is_null(at))
      return fmt::format("attribute `{}` (column {}): expected {}, found NULL", attribute.name,
                         column + 1, value_kind_with_article(attribute.kind));
    cell = values_.number(0);
    if (attribute.kind == ValueKind::kFloat && (row.is_real(at) || row.is_integer(at))) {
      cell = values_.number(std::bit_cast<std::uint64_t>(row.real(at)));
      return {};
    }
    // Unsigned numbers from 2^63 on are written as negative ones, which have the same 64 bits.
    if (row.is_integer(at)) {
      cell = values_.number(static_cast<std::uint64_t>(row.integer(at)));
      return {};
    }
    const ParsedField parsed = parse_field(attribute.kind, row.text(at));
    if (parsed.problem != FieldProblem::kNone)
      return describe_field(attribute, column + 1, parsed.problem, row.text(at), LinePlace::kLater);
    cell = values_.number(parsed.bits);
    return {};
  }

 private:
  const Relation& relation_;
  NewValues& values_;
};

}  // namespace

Result<ParsedFacts> read_sqlite_facts(const Relation& relation, const std::string& table,
                                      std::span<const std::byte> image, NewValues& values) {
  STRATALOG_ASSIGN_OR_RETURN(SqliteDatabase database, SqliteDatabase::begin(image));
  STRATALOG_ASSIGN_OR_RETURN(
      SqliteStatement known,
      database.prepare("SELECT 1 FROM sqlite_master WHERE type IN ('table','view') AND name = ?"));
  known.bind(0, table);
  STRATALOG_ASSIGN_OR_RETURN(const bool is_there, known.step());
  if (!is_there)
    return Status::not_found(fmt::format(
        "the database has no table or view {}; name one with name=\"...\"", sql_name(table)));
  STRATALOG_ASSIGN_OR_RETURN(SqliteStatement row,
                             database.prepare("SELECT * FROM " + sql_name(table)));
  const std::size_t arity = relation.attributes.size();
  if (row.columns() != static_cast<int>(arity))
    return Status::invalid_argument(
        fmt::format("{} has {} columns, relation {} has {} attributes; a view can choose columns",
                    sql_name(table), row.columns(), relation.name, arity));
  ParsedFacts facts;
  facts.tuples.columns.resize(arity);
  ValueReader reader(relation, values);
  while (true) {
    STRATALOG_ASSIGN_OR_RETURN(const bool has_row, row.step());
    if (!has_row) return facts;
    for (std::size_t c = 0; c < arity; ++c) {
      Cell cell = 0;
      std::string problem = reader.read(row, c, cell);
      if (!problem.empty()) {
        facts.problem = FactProblem{.line = facts.tuples.rows, .text = std::move(problem)};
        return facts;
      }
      facts.tuples.columns[c].push_back(cell);
    }
    ++facts.tuples.rows;
  }
}

Result<SqliteTable> SqliteTable::create(SqliteDatabase& database, const Relation& relation,
                                        const std::string& table, const ValueDictionary& dictionary,
                                        std::span<const ColumnOrder> orders) {
  const std::string numbers = sql_name("_" + table);
  const std::string view = sql_name(table);
  std::string columns;
  std::string places;
  std::string shown;
  std::string from = numbers;
  std::string where;
  for (std::size_t c = 0; c < relation.attributes.size(); ++c) {
    const Attribute& attribute = relation.attributes[c];
    const std::string column = fmt::format("{}.\"{}\"", numbers, c);
    const std::string symbols = fmt::format("\"_symtab_{}\"", c);
    const bool has_text = is_text(attribute);
    columns += fmt::format("{}\"{}\"{}", c == 0 ? "" : ",", c, column_type(attribute));
    places += c == 0 ? "?" : ",?";
    shown += fmt::format("{}{} AS {}", c == 0 ? "" : ",", has_text ? symbols + ".symbol" : column,
                         sql_name(attribute.name));
    if (!has_text) continue;
    from += fmt::format(",{} AS {}", kSymbols, symbols);
    where += fmt::format("{}{} = {}.id", where.empty() ? " WHERE " : " AND ", column, symbols);
  }
  SqliteTable made(database, relation, dictionary, orders);
  for (const std::string& sql :
       {std::string("BEGIN"), fmt::format("DROP VIEW IF EXISTS {}", view),
        fmt::format("DROP TABLE IF EXISTS {}", numbers),
        fmt::format("CREATE TABLE {} ({})", numbers, columns),
        fmt::format("CREATE TABLE IF NOT EXISTS {} (id INTEGER PRIMARY KEY, symbol TEXT UNIQUE)",
                    kSymbols),
        fmt::format("CREATE VIEW {} AS SELECT {} FROM {}{}", view, shown, from, where)})
    STRATALOG_RETURN_IF_ERROR(database.execute(sql));
  STRATALOG_ASSIGN_OR_RETURN(
      made.insert_, database.prepare(fmt::format("INSERT INTO {} VALUES ({})", numbers, places)));
  STRATALOG_ASSIGN_OR_RETURN(
      made.find_symbol_,
      database.prepare(fmt::format("SELECT id FROM {} WHERE symbol = ?", kSymbols)));
  STRATALOG_ASSIGN_OR_RETURN(
      made.add_symbol_,
      database.prepare(fmt::format("INSERT INTO {} (symbol) VALUES (?)", kSymbols)));
  return made;
}

Result<std::int64_t> SqliteTable::id_of(std::string_view text) {
  find_symbol_.bind(0, text);
  STRATALOG_ASSIGN_OR_RETURN(const bool is_known, find_symbol_.step());
  const std::int64_t known = is_known ? find_symbol_.integer(0) : 0;
  find_symbol_.rewind();
  if (is_known) return known;
  add_symbol_.bind(0, text);
  STRATALOG_RETURN_IF_ERROR(add_symbol_.run());
  return database_->last_row();
}

Result<std::int64_t> SqliteTable::text_id(const Attribute& attribute, Cell cell) {
  if (attribute.structure != kNoStructure) {
    std::string text;
    append_structured(*relation_->structures, attribute.structure, *dictionary_, cell,
                      SymbolQuotes::kDouble, text);
    return id_of(text);
  }
  if (const auto known = symbol_ids_.find(cell); known != symbol_ids_.end()) return known->second;
  STRATALOG_ASSIGN_OR_RETURN(const std::int64_t id, id_of(dictionary_->text(cell)));
  symbol_ids_.emplace(cell, id);
  return id;
}

Status SqliteTable::bind(std::size_t column, Cell cell) {
  const Attribute& attribute = relation_->attributes[column];
  const int at = static_cast<int>(column);
  if (is_text(attribute)) {
    STRATALOG_ASSIGN_OR_RETURN(const std::int64_t id, text_id(attribute, cell));
    insert_.bind(at, id);
    return Status::ok();
  }
  const std::uint64_t bits = dictionary_->decode(cell);
  if (attribute.kind == ValueKind::kFloat)
    bind_float(at, std::bit_cast<double>(bits));
  else
    insert_.bind(at, static_cast<std::int64_t>(bits));
  return Status::ok();
}

// SQLite would take NULL for NaN, which is text instead and read as such.
void SqliteTable::bind_float(int parameter, double value) {
  if (!std::isnan(value)) return insert_.bind(parameter, value);
  std::string text;
  append_float(value, text);
  insert_.bind(parameter, text);
}

Status SqliteTable::append(std::span<const OrderCode> rows) {
  const std::size_t arity = relation_->attributes.size();
  for (std::size_t at = 0; at < rows.size(); at += arity) {
    for (std::size_t c = 0; c < arity; ++c)
      STRATALOG_RETURN_IF_ERROR(bind(c, orders_[c].cell(rows[at + c])));
    STRATALOG_RETURN_IF_ERROR(insert_.run());
  }
  return Status::ok();
}

Status SqliteTable::finish() { return database_->execute("COMMIT"); }

}  // namespace stratalog::datalog
