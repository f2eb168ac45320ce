// SPDX-License-Identifier: Apache-2.0
// SqliteDatabase: a database in memory, made of the bytes of a file and made bytes again, so that
// files go through the Store like all others: read whole, replaced in one step. Needs a build with
// SQLite; without, begin() says so. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"

struct sqlite3;
struct sqlite3_stmt;

namespace stratalog::datalog {

// A name in SQL, in quotes.
std::string sql_name(std::string_view name);

// One prepared statement. Values of a row are read, parameters are bound, both counted from 0.
class SqliteStatement {
 public:
  bool is_null(int column) const;
  bool is_integer(int column) const;
  bool is_real(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // until the next step
  int columns() const;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);
  void bind(int parameter, std::string_view text);

  // False after the last row.
  Result<bool> step();
  // So that it can be bound and run again.
  void rewind();
  // Runs a statement without rows, and rewinds it.
  Status run();

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class SqliteDatabase {
 public:
  // `image`: the bytes of a database file; empty for a new database. Corruption if it is none.
  static Result<SqliteDatabase> begin(std::span<const std::byte> image);

  Status execute(const std::string& sql);
  Result<SqliteStatement> prepare(const std::string& sql);
  std::int64_t last_row() const;
  // The bytes of a file with what the database holds.
  Result<Bytes> image() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace stratalog::datalog
