// SPDX-License-Identifier: Apache-2.0
// The module's only entry: the table that parallel_module.cc loads. The one file of the command
// that sees <mpi.h>.
#include <hdf5.h>
#include <mpi.h>

#include <utility>

#include "cli/parallel_module.h"
#include "comm/mpi_comm.h"
#include "comm/mpi_session.h"
#include "datalog/facts/hdf5_input.h"
#include "datalog/facts/hdf5_output.h"
#include "datalog/facts/hdf5_streams_output.h"
#include "write/hdf5_relation_writer.h"
#include "write/hdf5_row_layout.h"
#include "write/mpi_shared_writer.h"

namespace stratalog::cli {

namespace {

Result<MpiWorld> enter_world(int ranks_per_node) {
  STRATALOG_ASSIGN_OR_RETURN(MpiSession session, MpiSession::start());
  auto kept = std::make_shared<MpiSession>(std::move(session));
  const MPI_Comm world = MPI_COMM_WORLD;
  STRATALOG_ASSIGN_OR_RETURN(
      std::unique_ptr<Comm> comm,
      duplicate_mpi_comm(&world, {.ranks_per_virtual_node = ranks_per_node}));
  return MpiWorld{.session = std::move(kept), .comm = std::move(comm)};
}

void end_all(int code) { (void)MPI_Abort(MPI_COMM_WORLD, code); }

ParallelBackends backends(const Comm& comm) {
  // Without MPI the Store writes the shared file; MPI-IO and parallel HDF5 need a real
  // communicator.
  if (native_mpi_comm(comm) == nullptr) return {.rows = hdf5_serial_files()};
  // Here and not where it is first needed: it calls MPI, which threads that pack must not do.
  // (Ranks that are threads, which would all come here at once, have no MPI.)
  (void)H5open();
  return {.shared = mpi_shared_files(), .rows = hdf5_row_files()};
}

// A file that cannot be closed, because the disk is full, stays open in the library, which would
// try again when the process ends and print what it was doing. Before any other call of it.
[[maybe_unused]] const bool kEndsQuietly = H5dont_atexit() >= 0;

}  // namespace

}  // namespace stratalog::cli

// The name is the symbol that the command looks up.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {
extern const stratalog::cli::ParallelModule stratalog_parallel_module;
const stratalog::cli::ParallelModule stratalog_parallel_module = {
    .enter_world = stratalog::cli::enter_world,
    .end_all = stratalog::cli::end_all,
    .backends = stratalog::cli::backends,
    .write_hdf5 = stratalog::datalog::write_hdf5,
    .write_hdf5_streams = stratalog::datalog::write_hdf5_streams,
    .read_hdf5 = stratalog::datalog::read_hdf5};
}
// NOLINTEND(readability-identifier-naming)
