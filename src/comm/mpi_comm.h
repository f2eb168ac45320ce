// SPDX-License-Identifier: Apache-2.0
// MpiComm: Comm on a duplicate of an MPI communicator, so that our messages never meet the host
// program's. Does not include <mpi.h>. Making and destroying one is collective over the
// communicator.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

struct MpiCommOptions {
  // The most bytes one rank hands to one other in a single MPI call; what is larger goes in several
  // calls. MPI-4 could carry more, but not all its implementations do. All ranks must set the same.
  // At least 8.
  std::uint64_t bytes_per_message = std::uint64_t{1} << 30U;
  // Pretend that nodes hold this many consecutive ranks; 0 asks MPI which ranks share memory.
  int ranks_per_virtual_node = 0;
  // A group of so many ranks exchanges parcels among partners only; in a smaller one a slot for
  // every rank is quicker. All ranks must set the same.
  int sparse_from_ranks = 512;
};

// A duplicate of the communicator that `mpi_comm` (an MPI_Comm*) points to. Collective over it.
// Needs a living MpiSession. The library never names the world itself; a program passes it:
//   const MPI_Comm world = MPI_COMM_WORLD;
//   STRATALOG_ASSIGN_OR_RETURN(auto comm, duplicate_mpi_comm(&world));
Result<std::unique_ptr<Comm>> duplicate_mpi_comm(const void* mpi_comm,
                                                 const MpiCommOptions& options = {});

// Points to the MPI_Comm behind `comm`, for MPI-IO and parallel HDF5; null if `comm` is not an
// MpiComm. Borrowed. Local.
const void* native_mpi_comm(const Comm& comm);

}  // namespace stratalog
