// SPDX-License-Identifier: Apache-2.0
// Virtual nodes of virtual ranks: sim_run (comm/comm.h) where Comm::topology() says that the ranks
// lie on several nodes, because one machine must be able to test many. No MPI.
#pragma once

#include <functional>

#include "base/status.h"
#include "comm/comm.h"

namespace stratalog {

// As sim_run; nodes hold `ranks_per_node` consecutive ranks, the last one perhaps fewer.
// InvalidArgument unless both numbers are positive.
Status sim_run_on_nodes(int ranks, int ranks_per_node, const std::function<Status(Comm&)>& body,
                        AddressSpace space = AddressSpace::kSeparate);

}  // namespace stratalog
