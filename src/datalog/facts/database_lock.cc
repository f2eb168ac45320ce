// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/database_lock.h"

#include <fmt/format.h>

#include <array>
#include <thread>
#include <utility>

namespace stratalog::datalog {
namespace {

// From SQLite's file format: who writes holds the one, who reads the others.
constexpr std::uint64_t kReservedByte = 0x40000001;
constexpr std::uint64_t kSharedFirst = 0x40000002;
constexpr std::uint64_t kSharedBytes = 510;

constexpr LockedBytes kReading = {
    .offset = kSharedFirst, .length = kSharedBytes, .sharing = LockSharing::kShared};
constexpr LockedBytes kWriting = {
    .offset = kReservedByte, .length = 1, .sharing = LockSharing::kExclusive};
// Fails beside a writer, and stands in the way of one only while it is held.
constexpr LockedBytes kNobodyWrites = {
    .offset = kReservedByte, .length = 1, .sharing = LockSharing::kShared};

enum class OtherWriter : std::uint8_t { kMayBe, kIsNot };

// Whether the file is there and begins with something other than a zero, which is what SQLite
// leaves in journals that have done their work and stay.
Result<bool> holds_something(Store& store, const std::string& path) {
  const auto info = store.info(path);
  if (info.status().code() == StatusCode::kNotFound) return false;
  if (!info.is_ok()) return info.status();
  if (info.value().kind != FileKind::kRegular || info.value().size_bytes == 0) return false;
  const auto file = store.open(path, OpenMode::kRead);
  if (file.status().code() == StatusCode::kNotFound) return false;
  if (!file.is_ok()) return file.status();
  std::array<std::byte, 1> first = {};
  const Status read = file.value()->read_at(0, first);
  if (read.code() == StatusCode::kCorruption) return false;  // emptied meanwhile
  STRATALOG_RETURN_IF_ERROR(read);
  return first[0] != std::byte{0};
}

Status check_beside(Store& store, const std::string& path, OtherWriter other) {
  STRATALOG_ASSIGN_OR_RETURN(const bool has_log, holds_something(store, path + "-wal"));
  if (has_log)
    return Status::invalid_argument(fmt::format(
        "{}-wal beside it holds changes that are not in the database yet; close what has it open, "
        "and change that with sqlite3 and `PRAGMA journal_mode=delete`",
        path));
  const std::string journal = path + "-journal";
  STRATALOG_ASSIGN_OR_RETURN(bool has_journal, holds_something(store, journal));
  if (!has_journal) return Status::ok();
  if (other == OtherWriter::kMayBe) {
    const auto probe = store.lock_bytes(path, kNobodyWrites);
    if (probe.status().code() == StatusCode::kAlreadyExists) return Status::ok();
    // Looked at again, now that nobody is about to remove it.
    STRATALOG_ASSIGN_OR_RETURN(has_journal, holds_something(store, journal));
    if (!has_journal) return Status::ok();
  }
  return Status::invalid_argument(fmt::format(
      "{} beside it is of a transaction that was cut off in the middle; look into the database "
      "once with sqlite3 (`.tables`), which undoes what was not finished",
      journal));
}

}  // namespace

Status refuse_unfinished(Store& store, const std::string& path) {
  return check_beside(store, path, OtherWriter::kMayBe);
}

void DatabaseLock::remove_made(Store& store, const std::string& path) const {
  if (!made_file_) return;
  const auto info = store.info(path);
  if (info.is_ok() && info.value().size_bytes == 0) static_cast<void>(store.remove_file(path));
}

Status DatabaseLock::try_take(Store& store, const std::string& path, DatabaseUse use) {
  writing_.reset();
  reading_.reset();
  if (use == DatabaseUse::kReplace) {
    auto writing = store.lock_bytes(path, kWriting);
    if (writing.status().code() == StatusCode::kNotFound) {
      const auto made = store.open(path, OpenMode::kCreateExclusive);
      made_file_ = made_file_ || made.is_ok();
      if (!made.is_ok() && made.status().code() != StatusCode::kAlreadyExists) return made.status();
      writing = store.lock_bytes(path, kWriting);
      // Gone again: another one, who made it, had to give up.
      if (writing.status().code() == StatusCode::kNotFound)
        return Status::already_exists(writing.status().message());
    }
    if (writing.is_ok())
      writing_ = std::move(writing).value();
    else if (writing.status().code() != StatusCode::kNotSupported)
      return writing.status();
  }
  auto reading = store.lock_bytes(path, kReading);
  if (reading.is_ok())
    reading_ = std::move(reading).value();
  else if (reading.status().code() != StatusCode::kNotSupported)
    return reading.status();
  return Status::ok();
}

Result<DatabaseLock> DatabaseLock::take(Store& store, const std::string& path, DatabaseUse use,
                                        std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kStep{50};
  const auto end = std::chrono::steady_clock::now() + patience;
  DatabaseLock lock;
  for (;;) {
    const Status taken = lock.try_take(store, path, use);
    if (taken.is_ok()) break;
    if (taken.code() != StatusCode::kAlreadyExists) return taken;
    if (std::chrono::steady_clock::now() >= end)
      return Status::io_error(
          "the database is locked by another process that writes it; try again when it is done");
    std::this_thread::sleep_for(kStep);
  }
  const bool is_writer = lock.writing_ != nullptr;
  const Status finished =
      check_beside(store, path, is_writer ? OtherWriter::kIsNot : OtherWriter::kMayBe);
  if (!finished.is_ok()) {
    lock.remove_made(store, path);
    return finished;
  }
  return lock;
}

}  // namespace stratalog::datalog
