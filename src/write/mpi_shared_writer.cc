// SPDX-License-Identifier: Apache-2.0
#include "write/mpi_shared_writer.h"

#include <fmt/format.h>
#include <mpi.h>

#include "write/mpi_file_status.h"
#include "write/mpi_group.h"
#include "write/private_file.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kMaxBytesPerCall = std::uint64_t{1} << 30;

// An open MPI file; close_shared_file() closes it. Closing is collective, so the destructor must
// not do it.
struct OpenFile {
  MpiGroup group;
  MPI_File handle = MPI_FILE_NULL;
  std::string path;
};

Status write_piece(const OpenFile& file, std::uint64_t offset, std::span<const std::byte> bytes) {
  // A rank that has too much still takes part in the call, with nothing.
  const bool fits = bytes.size() <= kMaxBytesPerCall;
  const std::span<const std::byte> piece = fits ? bytes : bytes.first(0);
  MPI_Status about;
  const int code =
      MPI_File_write_at_all_c(file.handle, static_cast<MPI_Offset>(offset), piece.data(),
                              static_cast<MPI_Count>(piece.size()), MPI_BYTE, &about);
  if (!fits)
    return Status::internal(fmt::format("{}: {} bytes in one collective write, at most {} allowed",
                                        file.path, bytes.size(), kMaxBytesPerCall));
  STRATALOG_RETURN_IF_ERROR(mpi_file_status(code, "MPI_File_write_at_all", file.path));
  if (piece.empty()) return Status::ok();
  MPI_Count written = 0;
  STRATALOG_RETURN_IF_ERROR(mpi_file_status(MPI_Get_elements_c(&about, MPI_BYTE, &written),
                                            "MPI_Get_elements", file.path));
  if (written != static_cast<MPI_Count>(piece.size()))
    return Status::io_error(fmt::format("{}, offset {}: {} of {} bytes written", file.path, offset,
                                        written, piece.size()));
  return Status::ok();
}

Status close_shared_file(OpenFile& file, SyncFiles sync) {
  Status status;
  if (sync == SyncFiles::kYes)
    status = mpi_file_status(MPI_File_sync(file.handle), "MPI_File_sync", file.path);
  const Status closed = mpi_file_status(MPI_File_close(&file.handle), "MPI_File_close", file.path);
  return status.is_ok() ? closed : status;
}

// Collective in the group, whose first rank does it; fails on all ranks or on none.
Status make_private_together(const OpenFile& file) {
  const Status mine = file.group.rank() == 0 ? make_private(file.path) : Status::ok();
  auto code = static_cast<int>(mine.code());
  STRATALOG_RETURN_IF_ERROR(
      mpi_file_status(MPI_Bcast(&code, 1, MPI_INT, 0, file.group.comm()), "MPI_Bcast", file.path));
  if (code == 0 || !mine.is_ok()) return mine;
  return {static_cast<StatusCode>(code), file.path + ": the first rank cannot make it private"};
}

Result<SharedFile> create_shared_file(Comm& comm, Store& store, const std::string& path,
                                      const SharedFileSettings& settings) {
  auto file = std::make_shared<OpenFile>();
  STRATALOG_ASSIGN_OR_RETURN(file->group, MpiGroup::of(comm, settings.group, "MPI-IO"));
  if (!file->group.takes_part())
    return SharedFile{
        .write_all = [](std::uint64_t, std::span<const std::byte>) { return Status::ok(); },
        .finish = [](SyncFiles) { return Status::ok(); }};
  file->path = store.name_of(path);
  const MpiHints hints(settings.striping, settings.hints);
  const int code =
      MPI_File_open(file->group.comm(), file->path.c_str(),
                    MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, hints.info(), &file->handle);
  STRATALOG_RETURN_IF_ERROR(mpi_file_status(code, "MPI_File_open", file->path));
  const Status made = make_private_together(*file);
  if (!made.is_ok()) {
    (void)close_shared_file(*file, SyncFiles::kNo);
    return made;
  }
  SharedFile shared;
  shared.write_all = [file](std::uint64_t offset, std::span<const std::byte> bytes) {
    return write_piece(*file, offset, bytes);
  };
  shared.finish = [file](SyncFiles sync) { return close_shared_file(*file, sync); };
  return shared;
}

}  // namespace

SharedFiles mpi_shared_files() { return {.create = create_shared_file}; }

}  // namespace stratalog
