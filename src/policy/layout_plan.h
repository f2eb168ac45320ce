// SPDX-License-Identifier: Apache-2.0
// LayoutPlan: everything that the policy decides about one checkpoint, as values that writers carry
// out and manifests keep. What ranks and file system are like goes in as LayoutFacts, what the user
// insists on as LayoutWishes; policy/plan_layout.h makes the plan. Plain data; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policy/checkpoint_mode.h"
#include "policy/file_system_facts.h"
#include "policy/ladder.h"

namespace stratalog {

// One relation version with rows.
struct DatasetFacts {
  std::uint32_t columns = 1;
  std::vector<std::uint64_t> rows_of_rank;  // one per rank

  std::uint64_t rows() const;
  std::uint64_t row_bytes() const { return 8ULL * columns; }
};

struct LayoutFacts {
  int ranks = 1;
  std::vector<int> node_of_rank;  // empty: all ranks on one node
  std::vector<DatasetFacts> datasets;  // without empty ones
  // About how many bytes the encoding makes of a byte of rows, in thousandths; 1000 for rows_u64.
  std::uint32_t encoded_milli = 1000;
  FileSystemFacts file_system;
};

// 0 or absent: as the policy thinks best.
struct LayoutWishes {
  CheckpointMode mode = CheckpointMode::kFilePerProcess;
  LadderChoice ladder = LadderChoice::all();
  std::uint32_t files =
      0;  // files over which the ranks are spread, where the mode has shared files
  std::uint32_t relations_per_file = 0;
  std::uint64_t alignment = 0;  // where ranks' parts of shared files are cut; a power of two
  std::uint32_t aggregators = 0;
  // Of all data sets that are not tiny: 0 contiguous, 1..9 chunked and deflated.
  std::optional<std::uint32_t> deflate_level;
};

enum class DataLayout : std::uint8_t { kContiguous, kChunked };
enum class SpaceTime : std::uint8_t { kDefault, kEarly, kIncremental };
enum class FillValues : std::uint8_t { kDefault, kNever };
enum class FileCreation : std::uint8_t {
  kCollective,  // all ranks create and write
  kByRankZero,  // rank 0 creates and closes, all reopen and write collectively (O2)
  kRankZeroOnly,  // rank 0 collects the rows and writes alone (O1)
  kRankZeroLaysOut,  // rank 0 creates and closes, all write raw bytes at the offsets (hdf5-direct)
};

enum class RowTransfer : std::uint8_t {
  kCollective,  // all ranks write together, in rounds
  kIndependent,  // each rank for itself, into space that is there; contiguous only
};

struct DatasetPlan {
  DataLayout layout = DataLayout::kContiguous;
  std::uint64_t chunk_rows = 0;  // kChunked only
  std::uint32_t deflate_level = 0;  // kChunked only
  SpaceTime space = SpaceTime::kDefault;
  FillValues fill = FillValues::kDefault;
  RowTransfer transfer = RowTransfer::kCollective;
  std::vector<std::uint32_t> phase_of_rank;  // empty: one phase
  std::uint32_t phases = 1;
};

// A key and value for MPI_Info.
struct FileHint {
  std::string name;
  std::string value;
  friend bool operator==(const FileHint&, const FileHint&) = default;
};

struct StripingPlan {
  std::uint32_t stripe_count = 0;  // 0: the file system's default
  std::uint64_t stripe_bytes = 0;
};

// Property lists of an HDF5 file; 0 leaves HDF5's default.
struct RowFileTuning {
  std::uint64_t align_from = 0;  // objects of at least this size are aligned
  std::uint64_t alignment = 0;
  std::uint64_t metadata_cache_bytes = 0;  // H5Pset_mdc_config
  std::uint64_t cache_call_bytes = 0;  // H5Pset_cache, as printed
  std::uint64_t sieve_bytes = 0;  // H5Pset_sieve_buf_size, as printed
  std::uint64_t transfer_bytes = 0;  // H5Pset_buffer, as printed
};

struct Reason {
  std::string about;  // "O5", "files", "alignment"
  std::string text;
};

struct LayoutPlan {
  CheckpointMode mode = CheckpointMode::kFilePerProcess;  // never one that is_learned
  LadderChoice ladder;  // kHdf5Opt only
  std::uint32_t files = 1;
  std::uint32_t relations_per_file = 1;  // 0: all
  std::vector<std::uint32_t> file_of_rank;  // empty: all in file 0
  std::uint64_t extent_alignment = 4096;  // where ranks' parts of shared files begin
  // Direct and streams: boundaries between writers are rounded to this.
  std::uint64_t edge_alignment = 1;
  StripingPlan striping;
  FileCreation creation = FileCreation::kCollective;
  RowFileTuning tuning;
  std::vector<FileHint> hints;
  // What a rank hands over in one write, in modes whose ranks stage bytes; 0: all that it may
  // stage.
  std::uint64_t round_bytes = 0;
  std::vector<DatasetPlan> datasets;  // as in the facts, where the mode stores rows
  std::vector<Reason> reasons;
};

}  // namespace stratalog
