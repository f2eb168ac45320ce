// SPDX-License-Identifier: Apache-2.0
// DatabaseLock: SQLite's own locks on the file of a database, so that no program changes it while
// its bytes are read, and none, Stratalog neither, while they are replaced; and what lies beside a
// database that SQLite has to take into it, or out of it, first. Where a file system has no locks,
// nobody is kept away. Local.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/result.h"
#include "write/store.h"

namespace stratalog::datalog {

enum class DatabaseUse : std::uint8_t { kRead, kReplace };

class DatabaseLock {
 public:
  static constexpr std::chrono::milliseconds kPatience{10000};

  // Waits for others, and looks for what is not finished. A database that is to be replaced and is
  // not there is made, empty, so that two who make it take turns. IoError if others do not end.
  static Result<DatabaseLock> take(Store& store, const std::string& path, DatabaseUse use,
                                   std::chrono::milliseconds patience = kPatience);
  DatabaseLock() = default;

  // The file that was made to be locked, if it got nothing to hold.
  void remove_made(Store& store, const std::string& path) const;

 private:
  // AlreadyExists if another one holds it.
  Status try_take(Store& store, const std::string& path, DatabaseUse use);

  std::unique_ptr<StoreLock> writing_;
  std::unique_ptr<StoreLock> reading_;
  bool made_file_ = false;
};

// InvalidArgument, with what to do, if changes of the database wait in files beside it: it is then
// not what its bytes say. A writer that is at work has such files as well, and is no matter.
Status refuse_unfinished(Store& store, const std::string& path);

}  // namespace stratalog::datalog
