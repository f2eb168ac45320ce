// SPDX-License-Identifier: Apache-2.0
// ParallelBackends: the seam through which a save reaches MPI-IO and parallel HDF5 without this
// room seeing either. Tables of functions, filled by write/mpi_shared_writer.h and
// write/hdf5_relation_writer.h; empty ones are replaced by the Store (shared) or refused (rows).
// Functions are collective where marked, but their verdicts are each rank's own (MPI-IO reports an
// error only where it happened), so the caller agrees afterwards.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

struct ParallelBackends {
  SharedFiles shared;
  RowFiles rows;
};

}  // namespace stratalog
