// SPDX-License-Identifier: Apache-2.0
#include "write/hdf5_relation_writer.h"

#include <fmt/format.h>
#include <hdf5.h>
#include <mpi.h>

#include <array>
#include <cstring>

#include "comm/mpi_comm.h"
#include "write/mpi_file_status.h"

namespace stratalog {
namespace {

// Owns an HDF5 identifier; `close` is the function for its kind.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t id() const { return id_; }
  bool is_open() const { return id_ >= 0; }
  herr_t close() {
    const hid_t id = id_;
    id_ = -1;
    return close_(id);
  }

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

herr_t collect_error(unsigned /*depth*/, const H5E_error2_t* error, void* text) {
  auto& words = *static_cast<std::string*>(text);
  if (error->desc != nullptr && words.size() < 2000)
    words +=
        fmt::format("; {}: {}", error->func_name == nullptr ? "?" : error->func_name, error->desc);
  return 0;
}

// HDF5 tells why in words only.
Status hdf5_error(std::string_view call, std::string_view path) {
  std::string words;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect_error, &words);
  H5Eclear2(H5E_DEFAULT);
  const bool full = words.find("No space left") != std::string::npos ||
                    words.find("quota") != std::string::npos ||
                    words.find("MPI_ERR_NO_SPACE") != std::string::npos;
  return {full ? StatusCode::kNoSpace : StatusCode::kIoError,
          fmt::format("{} on {} failed{}", call, path, words)};
}

Status check(herr_t result, std::string_view call, std::string_view path) {
  return result >= 0 ? Status::ok() : hdf5_error(call, path);
}

struct OpenRowFile {
  std::string path;  // for HDF5
  std::string store_path;  // for the Store
  Comm* comm = nullptr;
  Store* store = nullptr;
  Handle file;
  Handle transfer;  // collective
  std::vector<RowDataset> about;
  std::vector<Handle> datasets;
};

Status put_attribute(hid_t object, const char* name, hid_t type, hid_t space, const void* value,
                     const std::string& path) {
  const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.is_open()) return hdf5_error("H5Acreate", path);
  return check(H5Awrite(attribute.id(), type, value), "H5Awrite", path);
}

Status put_text(hid_t object, const char* name, const std::string& text, const std::string& path) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  STRATALOG_RETURN_IF_ERROR(check(H5Tset_size(type.id(), text.size() + 1), "H5Tset_size", path));
  STRATALOG_RETURN_IF_ERROR(check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "H5Tset_cset", path));
  return put_attribute(object, name, type.id(), space.id(), text.c_str(), path);
}

// An array of fixed-length strings.
Status put_texts(hid_t object, const char* name, const std::vector<std::string>& texts,
                 const std::string& path) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size() + 1);
  std::vector<char> cells(width * texts.size(), '\0');
  for (std::size_t i = 0; i < texts.size(); ++i)
    std::memcpy(cells.data() + (i * width), texts[i].data(), texts[i].size());
  const hsize_t count = texts.size();
  const Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  STRATALOG_RETURN_IF_ERROR(check(H5Tset_size(type.id(), width), "H5Tset_size", path));
  STRATALOG_RETURN_IF_ERROR(check(H5Tset_cset(type.id(), H5T_CSET_UTF8), "H5Tset_cset", path));
  return put_attribute(object, name, type.id(), space.id(), cells.data(), path);
}

Status add_dataset(OpenRowFile& open, const RowDataset& about) {
  const std::array<hsize_t, 2> shape = {about.rows, about.columns};
  const Handle space(H5Screate_simple(2, shape.data(), nullptr), H5Sclose);
  if (!space.is_open()) return hdf5_error("H5Screate_simple", open.path);
  const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_layout(properties.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(properties.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_time(properties.id(), H5D_FILL_TIME_NEVER);
  Handle dataset(H5Dcreate2(open.file.id(), about.name.c_str(), H5T_STD_U64LE, space.id(),
                            H5P_DEFAULT, properties.id(), H5P_DEFAULT),
                 H5Dclose);
  if (!dataset.is_open()) return hdf5_error("H5Dcreate", open.path);
  STRATALOG_RETURN_IF_ERROR(put_text(dataset.id(), "relation", about.relation, open.path));
  STRATALOG_RETURN_IF_ERROR(put_text(dataset.id(), "version", about.version, open.path));
  STRATALOG_RETURN_IF_ERROR(put_texts(dataset.id(), "columns", about.column_names, open.path));
  open.datasets.push_back(std::move(dataset));
  return Status::ok();
}

Status write_all(OpenRowFile& open, std::size_t index, std::uint64_t first_row,
                 std::span<const std::uint64_t> rows) {
  const RowDataset& about = open.about[index];
  const hid_t dataset = open.datasets[index].id();
  const std::array<hsize_t, 2> start = {first_row, 0};
  const std::array<hsize_t, 2> count = {rows.size() / about.columns, about.columns};
  const Handle file_space(H5Dget_space(dataset), H5Sclose);
  const Handle memory_space(H5Screate_simple(2, count.data(), nullptr), H5Sclose);
  if (!file_space.is_open() || !memory_space.is_open()) return hdf5_error("H5Screate", open.path);
  if (rows.empty()) {
    H5Sselect_none(file_space.id());
    H5Sselect_none(memory_space.id());
  } else {
    STRATALOG_RETURN_IF_ERROR(
        check(H5Sselect_hyperslab(file_space.id(), H5S_SELECT_SET, start.data(), nullptr,
                                  count.data(), nullptr),
              "H5Sselect_hyperslab", open.path));
  }
  static const std::uint64_t kNothing = 0;
  return check(H5Dwrite(dataset, H5T_NATIVE_UINT64, memory_space.id(), file_space.id(),
                        open.transfer.id(), rows.empty() ? &kNothing : rows.data()),
               "H5Dwrite", open.path);
}

Status sync_through_mpi(OpenRowFile& open) {
  STRATALOG_RETURN_IF_ERROR(
      check(H5Fflush(open.file.id(), H5F_SCOPE_GLOBAL), "H5Fflush", open.path));
  MPI_File* handle = nullptr;
  STRATALOG_RETURN_IF_ERROR(
      check(H5Fget_vfd_handle(open.file.id(), H5P_DEFAULT, reinterpret_cast<void**>(&handle)),
            "H5Fget_vfd_handle", open.path));
  return mpi_file_status(MPI_File_sync(*handle), "MPI_File_sync", open.path);
}

// What closing wrote (HDF5's own tables) is made durable by rank 0.
Status sync_after_close(OpenRowFile& open) {
  if (open.comm->rank() != 0) return Status::ok();
  STRATALOG_ASSIGN_OR_RETURN(const std::unique_ptr<File> file,
                             open.store->open(open.store_path, OpenMode::kRead));
  const Status synced = file->sync();
  const Status closed = file->close();
  return synced.is_ok() ? closed : synced;
}

// Collective even on ranks that have had errors, so that closing finds everybody.
Result<std::vector<RowPlacement>> finish(OpenRowFile& open, SyncFiles sync) {
  std::vector<RowPlacement> placements;
  Status status;
  for (std::size_t i = 0; i < open.datasets.size(); ++i) {
    const haddr_t offset = H5Dget_offset(open.datasets[i].id());
    if (offset == HADDR_UNDEF && status.is_ok()) status = hdf5_error("H5Dget_offset", open.path);
    placements.push_back(
        {.file_offset = offset, .bytes = open.about[i].rows * open.about[i].columns * 8});
  }
  for (Handle& dataset : open.datasets) {
    const Status closed = check(dataset.close(), "H5Dclose", open.path);
    if (status.is_ok()) status = closed;
  }
  if (sync == SyncFiles::kYes) {
    const Status synced = sync_through_mpi(open);
    if (status.is_ok()) status = synced;
  }
  const Status closed = check(open.file.close(), "H5Fclose", open.path);
  if (status.is_ok()) status = closed;
  if (status.is_ok() && sync == SyncFiles::kYes) status = sync_after_close(open);
  STRATALOG_RETURN_IF_ERROR(status);
  return placements;
}

Handle file_access(MPI_Comm comm, StripingHint striping) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  MPI_Info info = MPI_INFO_NULL;
  if (striping.stripe_count != 0) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "striping_factor", std::to_string(striping.stripe_count).c_str());
    MPI_Info_set(info, "striping_unit", std::to_string(striping.stripe_bytes).c_str());
    H5Pset_alignment(access.id(), 65536, striping.stripe_bytes);
  }
  H5Pset_fapl_mpio(access.id(), comm, info);
  H5Pset_coll_metadata_write(access.id(), true);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  return access;
}

Result<RowFile> create(Comm& comm, Store& store, const std::string& path,
                       const std::vector<RowDataset>& datasets, StripingHint striping) {
  const auto* native = static_cast<const MPI_Comm*>(native_mpi_comm(comm));
  if (native == nullptr)
    return Status::invalid_argument("parallel HDF5 needs ranks that are MPI processes");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // we report errors ourselves
  auto open = std::make_shared<OpenRowFile>();
  open->path = store.root() + "/" + path;
  open->store_path = path;
  open->comm = &comm;
  open->store = &store;
  open->about = datasets;
  const Handle access = file_access(*native, striping);
  open->file =
      Handle(H5Fcreate(open->path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.id()), H5Fclose);
  if (!open->file.is_open()) return hdf5_error("H5Fcreate", open->path);
  open->transfer = Handle(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  H5Pset_dxpl_mpio(open->transfer.id(), H5FD_MPIO_COLLECTIVE);
  for (const RowDataset& about : datasets) STRATALOG_RETURN_IF_ERROR(add_dataset(*open, about));
  RowFile file;
  file.write_all = [open](std::size_t index, std::uint64_t first_row,
                          std::span<const std::uint64_t> rows) {
    return write_all(*open, index, first_row, rows);
  };
  file.finish = [open](SyncFiles sync) { return finish(*open, sync); };
  return file;
}

}  // namespace

RowFiles hdf5_row_files() { return {.create = create}; }

}  // namespace stratalog
