// SPDX-License-Identifier: Apache-2.0
// mpi_file_status: return codes of MPI-IO as Status, by error class. Does not include <mpi.h>.
// Local.
#pragma once

#include <string_view>

#include "base/status.h"

namespace stratalog {

// OK for MPI_SUCCESS; otherwise the code for the error's class, with call, path and MPI's own
// words, or the sentence of the errno that they name (errno_status.h).
Status mpi_file_status(int code, std::string_view call, std::string_view path);

}  // namespace stratalog
