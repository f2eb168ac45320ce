// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_relation_writer.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <array>

#include "comm/mpi_comm.h"
#include "write/hdf5_objects.h"
#include "write/hdf5_row_layout.h"
#include "write/hdf5_stream_layout.h"
#include "write/hdf5_view_layout.h"
#include "write/mpi_file_status.h"
#include "write/mpi_group.h"
#include "write/mpi_held_errors.h"
#include "write/private_file.h"
#include "write/reserve_space.h"

namespace stratalog {
namespace {

struct OpenRowFile {
  OpenRowFile() = default;
  OpenRowFile(const OpenRowFile&) = delete;
  OpenRowFile& operator=(const OpenRowFile&) = delete;
  // A file that was given up has tables that closing writes, on all ranks together, perhaps to a
  // disk that is full: nobody may hear of it and leave.
  ~OpenRowFile() {
    const HeldErrors held(path);
    datasets.clear();
    (void)file.close();
  }

  std::string path;  // for HDF5
  std::string store_path;  // for the Store
  Store* store = nullptr;
  MpiGroup group;
  Hdf5Handle file;
  Hdf5Handle transfer;  // collective
  Hdf5Handle own_transfer;  // independent
  std::vector<RowDataset> about;
  std::vector<DatasetPlan> plans;
  std::vector<Hdf5Handle> datasets;
};

// Selects `runs` (rows of all columns).
Status select_runs(hid_t space, std::span<const RowRun> runs, std::uint32_t columns,
                   const std::string& path) {
  if (runs.empty()) return hdf5_check(H5Sselect_none(space), "H5Sselect_none", path);
  H5S_seloper_t how = H5S_SELECT_SET;
  for (const RowRun& run : runs) {
    const std::array<hsize_t, 2> start = {run.first_row, 0};
    const std::array<hsize_t, 2> count = {run.rows, columns};
    STRATALOG_RETURN_IF_ERROR(
        hdf5_check(H5Sselect_hyperslab(space, how, start.data(), nullptr, count.data(), nullptr),
                   "H5Sselect_hyperslab", path));
    how = H5S_SELECT_OR;
  }
  return Status::ok();
}

Result<MPI_File> handle_of(const OpenRowFile& open) {
  MPI_File* handle = nullptr;
  STRATALOG_RETURN_IF_ERROR(
      hdf5_check(H5Fget_vfd_handle(open.file.id(), H5P_DEFAULT, reinterpret_cast<void**>(&handle)),
                 "H5Fget_vfd_handle", open.path));
  return *handle;
}

Status write_rows(OpenRowFile& open, std::size_t index, std::span<const RowRun> runs,
                  std::span<const std::uint64_t> rows) {
  const RowDataset& about = open.about[index];
  const hid_t dataset = open.datasets[index].id();
  const std::array<hsize_t, 2> count = {rows.size() / about.columns, about.columns};
  const Hdf5Handle file_space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle memory_space(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
  if (!file_space.is_open() || !memory_space.is_open()) return hdf5_error("H5Screate", open.path);
  const Status selected = select_runs(file_space.id(), runs, about.columns, open.path);
  // A rank that cannot select takes part in the write all the same, with nothing.
  if (!selected.is_ok()) H5Sselect_none(file_space.id());
  if (!selected.is_ok() || runs.empty()) H5Sselect_none(memory_space.id());
  static const std::uint64_t kNothing = 0;
  const bool alone = open.plans[index].transfer == RowTransfer::kIndependent;
  const HeldErrors held(open.path);
  const Status written =
      hdf5_check(H5Dwrite(dataset, H5T_NATIVE_UINT64, memory_space.id(), file_space.id(),
                          alone ? open.own_transfer.id() : open.transfer.id(),
                          rows.empty() ? &kNothing : rows.data()),
                 "H5Dwrite", open.path);
  STRATALOG_RETURN_IF_ERROR(selected);
  return held.status().is_ok() ? written : held.status();
}

// Collective also on ranks that have had errors.
Status sync_through_mpi(OpenRowFile& open) {
  const Status flushed =
      hdf5_check(H5Fflush(open.file.id(), H5F_SCOPE_GLOBAL), "H5Fflush", open.path);
  // Without it nobody could sync: it only looks into the open file.
  STRATALOG_ASSIGN_OR_RETURN(const MPI_File handle, handle_of(open));
  const Status synced = mpi_file_status(MPI_File_sync(handle), "MPI_File_sync", open.path);
  return flushed.is_ok() ? synced : flushed;
}

// What closing wrote (HDF5's own tables) is made durable by the group's first rank.
Status sync_after_close(OpenRowFile& open) {
  if (open.group.rank() != 0) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                             open.store->open(open.store_path, OpenMode::kRead));
  return close_file(*file, SyncFiles::kYes);
}

// What the rows and HDF5's own tables may take, from the beginning of the file. Rows that are
// deflated have their space when they are written, at most that of rows which deflating makes no
// smaller.
std::uint64_t most_bytes(const OpenRowFile& open, const RowFileTuning& tuning) {
  constexpr std::uint64_t kTables = std::uint64_t{1} << 20;
  constexpr std::uint64_t kTableBytesPerChunk = 128;
  std::uint64_t allocated = 0;
  std::uint64_t chunked = 0;
  for (std::size_t i = 0; i < open.about.size(); ++i) {
    const DatasetPlan& plan = open.plans[i];
    if (plan.layout != DataLayout::kChunked || plan.chunk_rows == 0) {
      const haddr_t begin = H5Dget_offset(open.datasets[i].id());
      const std::uint64_t bytes = open.about[i].rows * open.about[i].columns * 8;
      if (begin != HADDR_UNDEF) allocated = std::max<std::uint64_t>(allocated, begin + bytes);
      continue;
    }
    const std::uint64_t chunk_bytes = plan.chunk_rows * open.about[i].columns * 8;
    const std::uint64_t padding = chunk_bytes < tuning.align_from ? 0 : tuning.alignment;
    const std::uint64_t chunks = (open.about[i].rows + plan.chunk_rows - 1) / plan.chunk_rows;
    chunked += chunks * (chunk_bytes + padding + kTableBytesPerChunk);
  }
  return allocated + chunked + kTables;
}

// Collective in the group; fails on all ranks or on none. `mine` says whether this rank has the
// file and its datasets: a rank that has not must not leave while the others wait for it to close
// them.
Status reserve_for_rows(const OpenRowFile& open, const RowFileTuning& tuning, Status mine) {
  if (mine.is_ok() && open.group.rank() == 0) {
    mine = reserve_space(open.path, most_bytes(open, tuning));
    const bool deflates = std::any_of(open.plans.begin(), open.plans.end(), [](const auto& plan) {
      return plan.layout == DataLayout::kChunked;
    });
    if (!mine.is_ok() && deflates)
      mine = mine.with_context("rows need as much room as before deflating while they are written");
  }
  auto worst = static_cast<int>(mine.code());
  STRATALOG_RETURN_IF_ERROR(
      mpi_file_status(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, open.group.comm()),
                      "MPI_Allreduce", open.path));
  if (worst == 0 || !mine.is_ok()) return mine;
  return {static_cast<StatusCode>(worst), open.path + ": another rank cannot make it ready"};
}

// Collective even on ranks that have had errors, so that closing finds everybody.
Result<std::vector<RowPlacement>> close_row_file(OpenRowFile& open, SyncFiles sync) {
  const HeldErrors held(open.path);
  std::vector<RowPlacement> placements;
  Status status;
  for (std::size_t i = 0; i < open.datasets.size(); ++i) {
    Result<RowPlacement> placement =
        placement_of(open.datasets[i].id(), open.about[i], open.plans[i], open.path);
    if (!placement.is_ok()) {
      if (status.is_ok()) status = placement.status();
      continue;
    }
    placements.push_back(std::move(placement).value());
  }
  for (Hdf5Handle& dataset : open.datasets) {
    const Status closed = hdf5_check(dataset.close(), "H5Dclose", open.path);
    if (status.is_ok()) status = closed;
  }
  if (sync == SyncFiles::kYes) {
    const Status synced = sync_through_mpi(open);
    if (status.is_ok()) status = synced;
  }
  const Status closed = hdf5_check(open.file.close(), "H5Fclose", open.path);
  if (status.is_ok()) status = closed;
  if (status.is_ok()) status = held.status();
  if (status.is_ok() && open.group.rank() == 0) status = release_reserved(open.path);
  if (status.is_ok() && sync == SyncFiles::kYes) status = sync_after_close(open);
  STRATALOG_RETURN_IF_ERROR(status);
  return placements;
}

Hdf5Handle file_access(MPI_Comm comm, const RowFileSettings& settings) {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const MpiHints hints(settings.striping, settings.hints);
  tune_file_access(access.id(), settings.tuning);
  H5Pset_fapl_mpio(access.id(), comm, hints.info());
  H5Pset_coll_metadata_write(access.id(), true);
  return access;
}

Result<std::shared_ptr<OpenRowFile>> prepare(Comm& comm, Store& store, const std::string& path,
                                             const std::vector<RowDataset>& datasets,
                                             const RowFileSettings& settings) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  auto open = std::make_shared<OpenRowFile>();
  STRATALOG_ASSIGN_OR_RETURN(open->group, MpiGroup::of(comm, settings.group, "parallel HDF5"));
  open->path = store.name_of(path);
  open->store_path = path;
  open->store = &store;
  open->about = datasets;
  open->plans = settings.plans;
  open->transfer = Hdf5Handle(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  H5Pset_dxpl_mpio(open->transfer.id(), H5FD_MPIO_COLLECTIVE);
  open->own_transfer = Hdf5Handle(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  if (settings.tuning.transfer_bytes != 0)
    for (const Hdf5Handle* transfer : {&open->transfer, &open->own_transfer})
      H5Pset_buffer(transfer->id(), settings.tuning.transfer_bytes, nullptr, nullptr);
  return open;
}

RowFile row_file(const std::shared_ptr<OpenRowFile>& open) {
  RowFile file;
  file.write_all = [open](std::size_t index, std::span<const RowRun> runs,
                          std::span<const std::uint64_t> rows) {
    return write_rows(*open, index, runs, rows);
  };
  file.finish = [open](SyncFiles sync) { return close_row_file(*open, sync); };
  return file;
}

// For ranks that take no part.
RowFile no_file() {
  RowFile file;
  file.write_all = [](std::size_t, std::span<const RowRun>, std::span<const std::uint64_t>) {
    return Status::ok();
  };
  file.finish = [](SyncFiles) { return std::vector<RowPlacement>(); };
  return file;
}

Status add_datasets(OpenRowFile& open, const RowFileSettings& settings) {
  STRATALOG_RETURN_IF_ERROR(label_file(open.file.id(), settings.labels, open.path));
  for (std::size_t i = 0; i < open.about.size(); ++i) {
    STRATALOG_ASSIGN_OR_RETURN(Hdf5Handle dataset, add_row_dataset(open.file.id(), open.about[i],
                                                                   settings.plans[i], open.path));
    open.datasets.push_back(std::move(dataset));
  }
  return Status::ok();
}

Status open_datasets(OpenRowFile& open) {
  for (const RowDataset& about : open.about) {
    open.datasets.emplace_back(H5Dopen2(open.file.id(), about.name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!open.datasets.back().is_open()) return hdf5_error("H5Dopen", open.path);
  }
  return Status::ok();
}

Result<RowFile> create_row_file(Comm& comm, Store& store, const std::string& path,
                                const std::vector<RowDataset>& datasets,
                                const RowFileSettings& settings) {
  STRATALOG_ASSIGN_OR_RETURN(const auto open, prepare(comm, store, path, datasets, settings));
  if (!open->group.takes_part()) return no_file();
  const Hdf5Handle access = file_access(open->group.comm(), settings);
  const HeldErrors held(open->path);
  open->file =
      Hdf5Handle(H5Fcreate(open->path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.id()), H5Fclose);
  Status made =
      open->file.is_open() ? add_datasets(*open, settings) : hdf5_error("H5Fcreate", open->path);
  if (made.is_ok()) made = held.status();
  if (made.is_ok() && open->group.rank() == 0) made = make_private(open->path);
  STRATALOG_RETURN_IF_ERROR(reserve_for_rows(*open, settings.tuning, made));
  return row_file(open);
}

Result<RowFile> open_laid_out(Comm& comm, Store& store, const std::string& path,
                              const std::vector<RowDataset>& datasets,
                              const RowFileSettings& settings) {
  STRATALOG_ASSIGN_OR_RETURN(const auto open, prepare(comm, store, path, datasets, settings));
  if (!open->group.takes_part()) return no_file();
  const Hdf5Handle access = file_access(open->group.comm(), settings);
  const HeldErrors held(open->path);
  open->file = Hdf5Handle(H5Fopen(open->path.c_str(), H5F_ACC_RDWR, access.id()), H5Fclose);
  Status opened = open->file.is_open() ? open_datasets(*open) : hdf5_error("H5Fopen", open->path);
  if (opened.is_ok()) opened = held.status();
  STRATALOG_RETURN_IF_ERROR(reserve_for_rows(*open, settings.tuning, opened));
  return row_file(open);
}

}  // namespace

RowFiles hdf5_row_files() {
  return {.create = create_row_file,
          .lay_out = lay_out_rows,
          .lay_out_streams = lay_out_streams,
          .lay_out_views = lay_out_views,
          .open = open_laid_out};
}

}  // namespace stratalog
