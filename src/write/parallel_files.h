// SPDX-License-Identifier: Apache-2.0
// Function tables for files that all ranks write together: SharedFiles (a byte file at disjoint
// offsets; MPI collective I/O in production) and RowFiles (datasets of uint64 rows; parallel HDF5).
// Plain functions, so that the rooms that use them cannot see MPI. Calls are collective; the Status
// is this rank's own view and must be agreed on by the caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "comm/comm.h"
#include "write/store.h"

namespace stratalog {

// Striping for a new shared file; 0 leaves the file system's default.
struct StripingHint {
  std::uint32_t stripe_count = 0;
  std::uint64_t stripe_bytes = 0;
};

enum class SyncFiles : std::uint8_t { kYes, kNo };

// One open shared file. A rank without bytes passes an empty span.
struct SharedFile {
  std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)> write_all;
  std::function<Status(SyncFiles sync)> finish;  // sync if asked, then close; call once
};

struct SharedFiles {
  // Creates `path` (relative to the store's root), which must not exist. Empty function: not
  // available.
  std::function<Result<SharedFile>(Comm& comm, Store& store, const std::string& path,
                                   StripingHint striping)>
      create;
};

struct RowDataset {
  std::string name;  // of the dataset: "path.total"
  std::string relation;  // attribute
  std::string version;  // attribute
  std::uint64_t rows = 0;  // of all ranks
  std::vector<std::string> column_names;  // attribute
  std::uint32_t columns = 0;  // >= 1
};

// Where the rows of a dataset lie in the file once it is closed (contiguous layout).
struct RowPlacement {
  std::uint64_t file_offset = 0;
  std::uint64_t bytes = 0;
};

struct RowFile {
  // `rows` holds whole rows of dataset `index`, to be placed at `first_row`; empty on ranks that
  // have none this time.
  std::function<Status(std::size_t index, std::uint64_t first_row,
                       std::span<const std::uint64_t> rows)>
      write_all;
  // Placement of every dataset, then flush, sync if asked, close; call once.
  std::function<Result<std::vector<RowPlacement>>(SyncFiles sync)> finish;
};

struct RowFiles {
  std::function<Result<RowFile>(Comm& comm, Store& store, const std::string& path,
                                const std::vector<RowDataset>& datasets, StripingHint striping)>
      create;
};

}  // namespace stratalog
