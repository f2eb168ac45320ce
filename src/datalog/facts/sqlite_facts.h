// SPDX-License-Identifier: Apache-2.0
// Relations in SQLite databases, as Soufflé's IO=sqlite has them: facts are the rows of the table
// or view of the relation's name; an output is a table `_NAME` of numbers, a table `__SymbolTable`
// that all outputs in the file share, and a view NAME that joins them. Records and algebraic types
// are stored as their text, floats as REAL (Soufflé: numbers without meaning outside). Local.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "datalog/facts/parsed_facts.h"
#include "datalog/facts/sqlite_database.h"
#include "datalog/facts/value_order.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog::datalog {

// `image` is the whole file. Errors: what is wrong with the file or its table. New values stay
// provisional in `values`.
Result<ParsedFacts> read_sqlite_facts(const Relation& relation, const std::string& table,
                                      std::span<const std::byte> image, NewValues& values);

// One relation written into a database, whose other tables stay.
class SqliteTable {
 public:
  // All arguments must outlive the table. InvalidArgument if something else has the name.
  static Result<SqliteTable> create(SqliteDatabase& database, const Relation& relation,
                                    const std::string& table, const ValueDictionary& dictionary,
                                    std::span<const ColumnOrder> orders);

  // Appends rows of order codes.
  Status append(std::span<const OrderCode> rows);
  // After the last row.
  Status finish();

 private:
  SqliteTable(SqliteDatabase& database, const Relation& relation, const ValueDictionary& dictionary,
              std::span<const ColumnOrder> orders)
      : database_(&database), relation_(&relation), dictionary_(&dictionary), orders_(orders) {}
  Status bind(std::size_t column, Cell cell);
  void bind_float(int parameter, double value);
  Result<std::int64_t> text_id(const Attribute& attribute, Cell cell);
  Result<std::int64_t> id_of(std::string_view text);

  SqliteDatabase* database_;
  const Relation* relation_;
  const ValueDictionary* dictionary_;
  std::span<const ColumnOrder> orders_;
  std::unordered_map<Cell, std::int64_t> symbol_ids_;  // of symbols told before
  SqliteStatement insert_;
  SqliteStatement find_symbol_;
  SqliteStatement add_symbol_;
};

}  // namespace stratalog::datalog
