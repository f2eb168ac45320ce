// SPDX-License-Identifier: Apache-2.0
// mpi_status: MPI's return codes as Status. Does not include <mpi.h>. Local.
#pragma once

#include <string_view>

#include "base/status.h"

namespace stratalog {

// OK for MPI_SUCCESS; otherwise Internal with the name of the call and MPI's own words.
Status mpi_status(int code, std::string_view call);

}  // namespace stratalog
