// SPDX-License-Identifier: Apache-2.0
#include "write/mpi_held_errors.h"

#include <mpi.h>

#include <utility>

#include "write/mpi_file_status.h"

namespace stratalog {
namespace {

thread_local HeldErrors* innermost = nullptr;

}  // namespace

HeldErrors::HeldErrors(std::string path) : path_(std::move(path)), outer_(innermost) {
  innermost = this;
}

HeldErrors::~HeldErrors() { innermost = outer_; }

int HeldErrors::pass_on(int code, const char* call) {
  if (code == MPI_SUCCESS || innermost == nullptr) return code;
  if (innermost->first_.is_ok()) innermost->first_ = mpi_file_status(code, call, innermost->path_);
  return MPI_SUCCESS;
}

namespace {

// A write, whose caller also looks at how much of it was done.
int pass_on_write(int code, const char* call, int count, MPI_Datatype type, MPI_Status* status) {
  const int told = HeldErrors::pass_on(code, call);
  if (told == code || status == MPI_STATUS_IGNORE) return told;
  MPI_Count type_bytes = 0;
  (void)MPI_Type_size_x(type, &type_bytes);
  (void)MPI_Status_set_elements_x(status, MPI_BYTE, type_bytes * count);
  return told;
}

}  // namespace
}  // namespace stratalog

extern "C" {

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* data, int count,
                      MPI_Datatype type, MPI_Status* status) {
  return stratalog::pass_on_write(PMPI_File_write_at(file, offset, data, count, type, status),
                                  "MPI_File_write_at", count, type, status);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* data, int count,
                          MPI_Datatype type, MPI_Status* status) {
  return stratalog::pass_on_write(PMPI_File_write_at_all(file, offset, data, count, type, status),
                                  "MPI_File_write_at_all", count, type, status);
}

int MPI_File_set_size(MPI_File file, MPI_Offset bytes) {
  return stratalog::HeldErrors::pass_on(PMPI_File_set_size(file, bytes), "MPI_File_set_size");
}

int MPI_File_sync(MPI_File file) {
  return stratalog::HeldErrors::pass_on(PMPI_File_sync(file), "MPI_File_sync");
}

}  // extern "C"
