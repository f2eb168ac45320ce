// SPDX-License-Identifier: Apache-2.0
// Function tables for files that many ranks write together: SharedFiles (a byte file at disjoint
// offsets; MPI collective I/O in production) and RowFiles (HDF5 datasets of uint64 rows). Plain
// functions, so that the rooms that use them cannot see MPI or HDF5. Calls are collective unless
// marked Local; the Status is this rank's own view and must be agreed on by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/status.h"
#include "comm/comm.h"
#include "policy/layout_plan.h"
#include "write/column_label.h"
#include "write/store.h"

namespace stratalog {

// Which of several files of one kind this rank takes part in. All ranks of the Comm open, write and
// close at the same time, each group its own file; kNoGroup takes part in opening only and gets a
// file that does nothing.
inline constexpr std::uint32_t kNoGroup = 0xFFFFFFFFU;
struct FileGroup {
  std::uint32_t groups = 1;
  std::uint32_t mine = 0;
};

// One open shared file. A rank without bytes passes an empty span.
struct SharedFile {
  std::function<Status(std::uint64_t offset, std::span<const std::byte> bytes)> write_all;
  std::function<Status(SyncFiles sync)> finish;  // sync if asked, then close; call once
};

struct SharedFileSettings {
  StripingPlan striping;
  std::vector<FileHint> hints;
  FileGroup group;
};

struct SharedFiles {
  // Creates `path` (relative to the store's root; the same within a group), which must not exist.
  // Empty function: not available.
  std::function<Result<SharedFile>(Comm& comm, Store& store, const std::string& path,
                                   const SharedFileSettings& settings)>
      create;
};

// What an HDF5 file says of itself, in attributes of its root.
struct FileLabels {
  std::string generation;
  std::string file;  // "1 of 4"
  std::string builds_on;  // an older generation; empty: on none
};

struct RowDataset {
  std::string name;  // of the dataset: "path.total"
  std::string relation;  // attribute
  std::string version;  // attribute
  std::string part;  // attribute: "whole", or "growth" since an older generation
  std::uint64_t rows = 0;  // of all ranks of the group
  ColumnLabels labels;  // attributes
  std::uint32_t columns = 0;  // >= 1
};

// A chunk as it lies in the file: a zlib stream.
struct StoredChunk {
  std::uint64_t file_offset = 0;
  std::uint64_t bytes = 0;
};

// Where the rows of a dataset lie in the file once it is closed.
struct RowPlacement {
  std::uint64_t file_offset = 0;  // contiguous
  std::uint64_t bytes = 0;  // contiguous
  std::vector<StoredChunk> chunks;  // chunked: in row order
};

struct RowRun {
  std::uint64_t first_row = 0;  // of the dataset
  std::uint64_t rows = 0;
};

struct RowFile {
  // `rows` holds the rows of `runs` of dataset `index`, back to back; runs ascend and do not touch.
  // None on ranks that have nothing this time. Local where the plan's transfer is kIndependent.
  std::function<Status(std::size_t index, std::span<const RowRun> runs,
                       std::span<const std::uint64_t> rows)>
      write_all;
  // Placement of every dataset, then flush, sync if asked, close; call once.
  std::function<Result<std::vector<RowPlacement>>(SyncFiles sync)> finish;
};

struct RowFileSettings {
  StripingPlan striping;
  std::vector<FileHint> hints;
  RowFileTuning tuning;
  std::vector<DatasetPlan> plans;  // one per dataset
  FileGroup group;
  FileLabels labels;
};

// Everything of a file but its rows.
struct RowFileImage {
  struct Piece {
    std::uint64_t offset = 0;
    Bytes bytes;
  };
  std::vector<Piece> pieces;  // ascending, disjoint
  std::uint64_t file_bytes = 0;  // once the rows are there
  std::vector<RowPlacement> placements;  // without space for chunks that are yet to be written
};

// Where the chunks of files of streams may begin.
inline constexpr std::uint64_t kStreamsBegin = 4096;

// Numbers of 32 bits in chunks behind HDF5's shuffle and deflate, which lie in the file already.
struct StreamDataset {
  std::string name;  // in the relation's group: "key"
  std::uint64_t numbers = 0;  // >= 1
  std::uint64_t chunk = 0;  // numbers a chunk, <= numbers
  std::vector<StoredChunk> chunks;  // in order; of 4 * chunk bytes: not filtered
};

// One version of one relation as streams: a group with a data set for each stream and one more,
// "blocks".
struct StreamRelation {
  std::string name;  // of the group: "path.total"
  std::string relation;  // attribute
  std::string version;  // attribute
  std::string part;  // attribute
  std::uint64_t rows = 0;  // attribute
  ColumnLabels labels;  // attributes; in the order of the streams
  std::vector<std::uint32_t> column_order;  // attribute: which declared column each of them is
  std::vector<StreamDataset> streams;
  // For each block its first key, and the position of its first number in each stream.
  std::vector<std::uint64_t> blocks;
};

// A data set whose rows lie in other files, one run after the other.
struct RowSource {
  std::string file;  // in the directory of the view
  std::uint64_t rows = 0;  // of the data set of the same name there
};
struct RowView {
  RowDataset about;
  std::vector<RowSource> sources;  // their rows are those of `about`
};

struct RowFiles {
  // Creates the file for all ranks of a group.
  std::function<Result<RowFile>(Comm& comm, Store& store, const std::string& path,
                                const std::vector<RowDataset>& datasets,
                                const RowFileSettings& settings)>
      create;
  // Local: what a serial HDF5 would have written after creating file and datasets and closing it.
  // Touches no file.
  std::function<Result<RowFileImage>(const std::vector<RowDataset>& datasets,
                                     const RowFileSettings& settings)>
      lay_out;
  // Local: what makes an HDF5 file of chunks that lie in it below `data_end`, in front of them (not
  // beyond kStreamsBegin) and behind them. Touches no file.
  std::function<Result<RowFileImage>(const std::vector<StreamRelation>& relations,
                                     const FileLabels& labels, std::uint32_t deflate_level,
                                     std::uint64_t data_end)>
      lay_out_streams;
  // Local: a file that holds no rows, and shows those of others as its own (HDF5's virtual data
  // sets). Touches no file.
  std::function<Result<RowFileImage>(const std::vector<RowView>& views, const FileLabels& labels)>
      lay_out_views;
  // Opens a file that lay_out's image was written to, for all ranks of a group.
  std::function<Result<RowFile>(Comm& comm, Store& store, const std::string& path,
                                const std::vector<RowDataset>& datasets,
                                const RowFileSettings& settings)>
      open;
};

}  // namespace stratalog
