// SPDX-License-Identifier: Apache-2.0
// SharedFiles on MPI-IO: collective writes at explicit offsets into one file (RA-checkpoint,
// section III). Does not include <mpi.h>. The functions are collective over the Comm they get,
// which must be an MpiComm; each rank's Status is its own (MPI-IO does not share verdicts), so
// callers agree afterwards.
#pragma once

#include "write/parallel_files.h"

namespace stratalog {

SharedFiles mpi_shared_files();

}  // namespace stratalog
