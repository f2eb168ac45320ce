// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/output_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <utility>

#include "datalog/facts/rank_zero.h"

namespace stratalog::datalog {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// ".edge.csv.0f3a.part" beside "edge.csv": hidden, and not a name that a reader would pick up.
Result<std::string> make_temporary_name(Store& store, const std::string& path) {
  std::array<std::byte, 8> chance = {};
  STRATALOG_RETURN_IF_ERROR(store.random_bytes(chance));
  std::uint64_t number = 0;
  std::memcpy(&number, chance.data(), sizeof(number));
  const std::size_t slash = path.rfind('/');
  const std::size_t name_at = slash == std::string::npos ? 0 : slash + 1;
  return fmt::format("{}.{}.{:016x}.part", path.substr(0, name_at), path.substr(name_at), number);
}

struct Created {
  FactLocation location;
  std::string temporary;
};

Result<Created> create_temporary(Store& store, const std::string& path) {
  Created created;
  STRATALOG_ASSIGN_OR_RETURN(created.location, locate_output(store, path));
  STRATALOG_ASSIGN_OR_RETURN(LocatedStore located, LocatedStore::open(store, created.location));
  STRATALOG_ASSIGN_OR_RETURN(created.temporary,
                             make_temporary_name(located.get(), created.location.path));
  STRATALOG_ASSIGN_OR_RETURN(const auto file,
                             located.get().open(created.temporary, OpenMode::kCreateExclusive));
  STRATALOG_RETURN_IF_ERROR(file->close());
  // At once, so that nobody reads what the file that goes was kept from.
  const Status moded =
      located.get().take_mode(created.location.path, created.temporary, FileModeUse::kWhileWritten);
  if (!moded.is_ok()) {
    static_cast<void>(located.get().remove_file(created.temporary));
    return moded;
  }
  return created;
}

}  // namespace

Result<OutputFile> OutputFile::create(Comm& comm, Store& store, const std::string& path) {
  OutputFile output;
  output.shown_ = shown_path(store, path);
  const auto told = ask_rank_zero(comm, [&]() -> Result<nlohmann::json> {
    auto created = create_temporary(store, path);
    if (!created.is_ok())
      return created.status().with_context(fmt::format("cannot write {}", output.shown_));
    const Created& c = created.value();
    return nlohmann::json{c.location.directory, c.location.path, c.temporary};
  });
  if (!told.is_ok()) return told.status();
  output.location_ = {.directory = told.value()[0].get<std::string>(),
                      .path = told.value()[1].get<std::string>()};
  output.temporary_ = told.value()[2].get<std::string>();
  auto located = LocatedStore::open(store, output.location_);
  STRATALOG_RETURN_IF_ERROR(agree(comm, located.status()));
  output.store_ = std::move(located).value();
  return output;
}

std::string OutputFile::temporary_path() const { return shown_path(store_.get(), temporary_); }

Status OutputFile::open_for_sync() {
  if (file_ != nullptr) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(file_, store_.get().open(temporary_, OpenMode::kWriteExisting));
  return Status::ok();
}

Status OutputFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return Status::ok();
  STRATALOG_RETURN_IF_ERROR(open_for_sync());
  return file_->write_at(offset, bytes);
}

Result<Bytes> OutputFile::read_older_database() {
  STRATALOG_ASSIGN_OR_RETURN(
      database_, DatabaseLock::take(store_.get(), location_.path, DatabaseUse::kReplace));
  auto file = store_.get().open(location_.path, OpenMode::kRead);
  if (!file.is_ok())
    return file.status().code() == StatusCode::kNotFound ? Result<Bytes>(Bytes()) : file.status();
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t size, file.value()->size_bytes());
  Bytes bytes(size);
  STRATALOG_RETURN_IF_ERROR(file.value()->read_at(0, bytes));
  return bytes;
}

Status OutputFile::close_mine() {
  if (file_ == nullptr) return Status::ok();
  const Status closed = close_file(*file_, SyncFiles::kYes);
  file_.reset();
  return closed;
}

Status OutputFile::publish(Comm& comm, const Status& mine) {
  const Status closed = close_mine();
  const Status written = agree(comm, mine.is_ok() ? closed : mine);
  Status renamed;
  if (comm.rank() == 0) {
    Store& store = store_.get();
    if (written.is_ok())
      renamed = store.take_mode(location_.path, temporary_, FileModeUse::kWhenDone);
    if (written.is_ok() && renamed.is_ok()) renamed = store.rename(temporary_, location_.path);
    if (!written.is_ok() || !renamed.is_ok()) {
      static_cast<void>(store.remove_file(temporary_));  // the error that counts is the first
      database_.remove_made(store, location_.path);
    } else {
      renamed = store.sync_directory(directory_of(location_.path));
    }
  }
  STRATALOG_RETURN_IF_ERROR(written);
  return agree(comm, renamed);
}

}  // namespace stratalog::datalog
