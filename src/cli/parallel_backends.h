// SPDX-License-Identifier: Apache-2.0
// The MPI-IO and HDF5 ways of writing, gathered for the engine, which cannot see either. Local.
#pragma once

#include "checkpoint/backends.h"
#include "comm/comm.h"

namespace stratalog::cli {

ParallelBackends parallel_backends(const Comm& comm);

}  // namespace stratalog::cli
