// SPDX-License-Identifier: Apache-2.0
// A Comm over functions that a caller brings (stratalog_collectives), so that ranks may talk
// through any library of message passing without this one being built with it. What the functions
// return as failed ends as IoError. Collective, as Comm says.
#pragma once

#include <memory>

#include "api/stratalog.h"
#include "base/result.h"
#include "comm/comm.h"

namespace stratalog {

// InvalidArgument if a function is missing or the rank is not one of `size`. The structure is
// copied.
Result<std::unique_ptr<Comm>> make_collectives_comm(const stratalog_collectives& collectives);

}  // namespace stratalog
