// SPDX-License-Identifier: Apache-2.0
#include "cli/parallel_backends.h"

#include "comm/mpi_comm.h"
#include "write/hdf5_relation_writer.h"
#include "write/mpi_shared_writer.h"

namespace stratalog::cli {

ParallelBackends parallel_backends(const Comm& comm) {
  // Without MPI (one rank) the Store writes the shared file; MPI-IO and HDF5 need a real
  // communicator.
  if (native_mpi_comm(comm) == nullptr) return {};
  return {.shared = mpi_shared_files(), .rows = hdf5_row_files()};
}

}  // namespace stratalog::cli
