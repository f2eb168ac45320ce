// SPDX-License-Identifier: Apache-2.0
// tell: rank 0 did something alone; all ranks learn how it went and what came of it. Collective.
#pragma once

#include <string>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

// Rank 0's result on every rank; other ranks pass anything. The error of a failed broadcast
// otherwise.
Result<std::string> tell(Comm& comm, const Result<std::string>& from_rank_0);

// The same for a Status alone.
Status tell_status(Comm& comm, const Status& from_rank_0);

}  // namespace stratalog
