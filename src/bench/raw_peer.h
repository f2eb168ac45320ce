// SPDX-License-Identifier: Apache-2.0
// What the file system gives without us: every rank writes as many bytes as a checkpoint would,
// with plain positioned writes and fsync, and reads them back. No checksums, no manifest, no
// atomicity. Collective; times are the maximum over ranks.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "comm/comm.h"
#include "commit/vocabulary.h"
#include "write/store.h"

namespace stratalog {

enum class RawFiles : std::uint8_t {
  kOwn,  // "raw-fpp": a file for each rank that has bytes
  kShared,  // "raw-shared": one file, ranks at their offsets
};

struct RawWrite {
  double create_seconds = 0;
  double write_seconds = 0;
  double sync_seconds = 0;  // files, and the directory where durability is full
  double total_seconds = 0;  // until all ranks are done
  std::uint64_t bytes = 0;  // of all ranks
  std::uint64_t files = 0;
};

struct RawRead {
  double total_seconds = 0;
  std::uint64_t bytes = 0;
};

// Bytes that do not compress, in calls of 1 MiB. The store is empty.
Result<RawWrite> write_raw(Comm& comm, Store& store, RawFiles files, std::uint64_t local_bytes,
                           Durability durability);
// What write_raw wrote, by as many ranks.
Result<RawRead> read_raw(Comm& comm, Store& store, RawFiles files, std::uint64_t local_bytes);

enum class RawInto : std::uint8_t {
  kOneBuffer,  // the same few MB again and again
  kOwnMemory,  // fresh memory that has room for all: what whoever wants the bytes needs at least
};

// All files of a folder of the store, whoever wrote them, by any number of ranks: each reads as
// many bytes. NoSpace without memory.
Result<RawRead> read_folder_raw(Comm& comm, Store& store, const std::string& folder,
                                RawInto into = RawInto::kOneBuffer);

}  // namespace stratalog
