// SPDX-License-Identifier: Apache-2.0
// RowFiles for virtual ranks: HDF5 files whose frame the HDF5 library lays out in memory and whose
// rows are written through the Store, so that the real drivers of modes hdf5 and hdf5-opt can be
// recorded, crashed and failed without MPI processes. A file that all ranks create together gets
// its frame when it is closed, as HDF5 flushes it; one that rank 0 has made has it already.
// Contiguous datasets only: deflated ones have at least 10 MB. Collective as RowFiles.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "write/hdf5_row_layout.h"
#include "write/patient_open.h"

namespace stratalog::sample {

enum class FrameTime { kBefore, kAtClose };

struct StoreRowFile {
  RowFileImage image;
  std::vector<std::uint32_t> columns;
  std::unique_ptr<File> file;
  bool writes_frame = false;

  Status write(std::size_t index, std::span<const RowRun> runs,
               std::span<const std::uint64_t> rows) const {
    std::size_t at = 0;
    for (const RowRun& run : runs) {
      const std::size_t cells = run.rows * columns[index];
      STRATALOG_RETURN_IF_ERROR(
          file->write_at(image.placements[index].file_offset + (run.first_row * columns[index] * 8),
                         std::as_bytes(rows.subspan(at, cells))));
      at += cells;
    }
    return Status::ok();
  }

  Status finish(SyncFiles sync) const {
    Status status;
    if (writes_frame)
      for (const RowFileImage::Piece& piece : image.pieces)
        if (status.is_ok()) status = file->write_at(piece.offset, piece.bytes);
    if (status.is_ok() && sync == SyncFiles::kYes) status = file->sync();
    const Status closed = file->close();
    return status.is_ok() ? closed : status;
  }
};

// The lowest rank of this rank's group; every rank says which group it is in.
inline Result<int> leader_of_group(Comm& comm, std::uint32_t mine) {
  STRATALOG_ASSIGN_OR_RETURN(const Received all,
                             comm.allgather(std::as_bytes(std::span(&mine, 1))));
  for (int r = 0; r < comm.size(); ++r) {
    std::uint32_t theirs = 0;
    std::memcpy(&theirs, all.from(r).data(), sizeof(theirs));
    if (theirs == mine) return r;
  }
  return Status::internal("a rank without a group");
}

inline Result<RowFile> open_row_file(Comm& comm, Store& store, const std::string& path,
                                     const std::vector<RowDataset>& datasets,
                                     const RowFileSettings& settings, FrameTime frame) {
  for (const DatasetPlan& plan : settings.plans)
    if (plan.layout != DataLayout::kContiguous)
      return Status::not_supported("deflated chunks through a Store");
  STRATALOG_ASSIGN_OR_RETURN(const int leader, leader_of_group(comm, settings.group.mine));
  const bool leads = comm.rank() == leader;
  const bool is_in = settings.group.mine != kNoGroup;
  auto open = std::make_shared<StoreRowFile>();
  Status status;
  const auto get = [&](OpenMode mode) {
    auto file = open_patiently(store, path, mode);
    status = file.status();
    if (file.is_ok()) open->file = std::move(file).value();
  };
  if (is_in) {
    STRATALOG_ASSIGN_OR_RETURN(open->image, hdf5_serial_files().lay_out(datasets, settings));
    for (const RowDataset& dataset : datasets) open->columns.push_back(dataset.columns);
    open->writes_frame = leads && frame == FrameTime::kAtClose;
    if (open->writes_frame) get(OpenMode::kCreateExclusive);
  }
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  if (is_in && !open->file) get(OpenMode::kWriteExisting);
  STRATALOG_RETURN_IF_ERROR(agree(comm, status));
  RowFile file;
  file.write_all = [open, is_in](std::size_t index, std::span<const RowRun> runs,
                                 std::span<const std::uint64_t> rows) {
    return is_in ? open->write(index, runs, rows) : Status::ok();
  };
  file.finish = [open, is_in](SyncFiles sync) -> Result<std::vector<RowPlacement>> {
    if (is_in) STRATALOG_RETURN_IF_ERROR(open->finish(sync));
    return open->image.placements;
  };
  return file;
}

inline RowFiles store_row_files() {
  RowFiles files = hdf5_serial_files();
  files.create = [](Comm& comm, Store& store, const std::string& path,
                    const std::vector<RowDataset>& datasets, const RowFileSettings& settings) {
    return open_row_file(comm, store, path, datasets, settings, FrameTime::kAtClose);
  };
  files.open = [](Comm& comm, Store& store, const std::string& path,
                  const std::vector<RowDataset>& datasets, const RowFileSettings& settings) {
    return open_row_file(comm, store, path, datasets, settings, FrameTime::kBefore);
  };
  return files;
}

}  // namespace stratalog::sample
