// SPDX-License-Identifier: Apache-2.0
// OutputFile: a file that many ranks write and that appears under its name complete or not at all:
// written under a temporary name in the same directory, synced by everyone who wrote, renamed, and
// the directory synced. An older file of that name stays until the rename, and leaves its mode to
// the new one. Collective; every call ends with the same Status on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/facts/database_lock.h"
#include "datalog/facts/fact_location.h"
#include "write/store.h"

namespace stratalog::datalog {

class OutputFile {
 public:
  // Collective. `path` as the user gave it, relative to `store` or not.
  static Result<OutputFile> create(Comm& comm, Store& store, const std::string& path);

  // Local. Opens the file on first use.
  Status write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Local. Says that this rank has written by other means (HDF5), so that publish() syncs here.
  Status open_for_sync();

  // Local, on one rank. What the SQLite database that will be replaced holds; empty if there is
  // none. Until this file is published, or destroyed, nobody else writes it.
  Result<Bytes> read_older_database();

  // Collective. Syncs and renames if everyone's `mine` is OK, else removes the temporary file. Call
  // once.
  Status publish(Comm& comm, const Status& mine);

  // The temporary file, for messages and for libraries that open files by name.
  std::string temporary_path() const;
  std::string shown() const { return shown_; }

 private:
  OutputFile() = default;
  Status close_mine();

  LocatedStore store_;
  FactLocation location_;
  std::string temporary_;  // in the located store
  std::string shown_;
  std::unique_ptr<File> file_;
  DatabaseLock database_;
};

}  // namespace stratalog::datalog
