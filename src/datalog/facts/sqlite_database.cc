// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/sqlite_database.h"

#include <fmt/format.h>

#include <cstring>

#ifdef STRATALOG_HAS_SQLITE
#include <sqlite3.h>
#endif

namespace stratalog::datalog {

std::string sql_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

#ifdef STRATALOG_HAS_SQLITE

namespace {

Status sql_error(sqlite3* database, int code) {
  const std::string text =
      fmt::format("SQLite: {}", database != nullptr ? sqlite3_errmsg(database) : "out of memory");
  if (code == SQLITE_NOMEM || code == SQLITE_FULL || code == SQLITE_TOOBIG)
    return Status::no_space(text);
  return code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? Status::corruption(text)
                                                         : Status::invalid_argument(text);
}

}  // namespace

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
bool SqliteStatement::is_integer(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}
bool SqliteStatement::is_real(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_FLOAT;
}
std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double SqliteStatement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view SqliteStatement::text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_.get(), column);
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(bytes)};
}
int SqliteStatement::columns() const { return sqlite3_column_count(statement_.get()); }

// What binding cannot do (memory), the step that follows reports.
void SqliteStatement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), parameter + 1, value);
}
void SqliteStatement::bind(int parameter, double value) {
  sqlite3_bind_double(statement_.get(), parameter + 1, value);
}
void SqliteStatement::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL, not an empty text.
  sqlite3_bind_text64(statement_.get(), parameter + 1, text.empty() ? "" : text.data(), text.size(),
                      SQLITE_TRANSIENT, SQLITE_UTF8);
}

Result<bool> SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return sql_error(sqlite3_db_handle(statement_.get()), code);
}

void SqliteStatement::rewind() { sqlite3_reset(statement_.get()); }

Status SqliteStatement::run() {
  STRATALOG_RETURN_IF_ERROR(step().status());
  rewind();
  return Status::ok();
}

void SqliteDatabase::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Result<SqliteDatabase> SqliteDatabase::begin(std::span<const std::byte> image) {
  SqliteDatabase database;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(":memory:", &opened);
  database.database_.reset(opened);
  if (code != SQLITE_OK) return sql_error(opened, code);
  if (image.empty()) return database;
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(image.size()));
  if (copy == nullptr) return sql_error(nullptr, SQLITE_NOMEM);
  std::memcpy(copy, image.data(), image.size());
  // It owns the copy from here on, also where it fails.
  const auto size = static_cast<sqlite3_int64>(image.size());
  const int read =
      sqlite3_deserialize(opened, "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
  if (read != SQLITE_OK) return sql_error(opened, read);
  const Status looked = database.execute("PRAGMA schema_version");
  if (looked.is_ok()) return database;
  constexpr std::size_t kWalVersion = 18;  // of the header: 2 where there is a write-ahead log
  if (image.size() > kWalVersion && image[kWalVersion] == std::byte{2})
    return looked.with_context(
        "its latest changes may be in a write-ahead log; change that with "
        "`PRAGMA journal_mode=delete`");
  return looked;
}

Status SqliteDatabase::execute(const std::string& sql) {
  STRATALOG_ASSIGN_OR_RETURN(SqliteStatement statement, prepare(sql));
  return statement.step().status();
}

Result<SqliteStatement> SqliteDatabase::prepare(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &prepared, nullptr);
  SqliteStatement statement;
  statement.statement_.reset(prepared);
  if (code != SQLITE_OK) return sql_error(database_.get(), code);
  return statement;
}

std::int64_t SqliteDatabase::last_row() const { return sqlite3_last_insert_rowid(database_.get()); }

Result<Bytes> SqliteDatabase::image() const {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database_.get(), "main", &size, 0);
  if (bytes == nullptr) return sql_error(nullptr, SQLITE_NOMEM);
  Bytes image(static_cast<std::size_t>(size));
  std::memcpy(image.data(), bytes, image.size());
  sqlite3_free(bytes);
  return image;
}

#else

// Nothing of this is reached: there is no database to ask.
void SqliteStatement::Finalize::operator()(sqlite3_stmt* /*statement*/) const {}
bool SqliteStatement::is_null(int /*column*/) const { return true; }
bool SqliteStatement::is_integer(int /*column*/) const { return false; }
bool SqliteStatement::is_real(int /*column*/) const { return false; }
std::int64_t SqliteStatement::integer(int /*column*/) const { return 0; }
double SqliteStatement::real(int /*column*/) const { return 0; }
std::string_view SqliteStatement::text(int /*column*/) const { return {}; }
int SqliteStatement::columns() const { return 0; }
void SqliteStatement::bind(int /*parameter*/, std::int64_t /*value*/) {}
void SqliteStatement::bind(int /*parameter*/, double /*value*/) {}
void SqliteStatement::bind(int /*parameter*/, std::string_view /*text*/) {}

namespace {

Status no_sqlite() {
  return Status::not_supported(
      "this build has no SQLite; install its development files (libsqlite3-dev) and build again, "
      "or choose IO=file");
}

}  // namespace

Result<bool> SqliteStatement::step() { return no_sqlite(); }
void SqliteStatement::rewind() {}
Status SqliteStatement::run() { return no_sqlite(); }
void SqliteDatabase::Close::operator()(sqlite3* /*database*/) const {}
Result<SqliteDatabase> SqliteDatabase::begin(std::span<const std::byte> /*image*/) {
  return no_sqlite();
}
Status SqliteDatabase::execute(const std::string& /*sql*/) { return no_sqlite(); }
Result<SqliteStatement> SqliteDatabase::prepare(const std::string& /*sql*/) { return no_sqlite(); }
std::int64_t SqliteDatabase::last_row() const { return 0; }
Result<Bytes> SqliteDatabase::image() const { return no_sqlite(); }

#endif

}  // namespace stratalog::datalog
