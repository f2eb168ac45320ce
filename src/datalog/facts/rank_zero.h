// SPDX-License-Identifier: Apache-2.0
// ask_rank_zero: rank 0 looks at the file system, everyone gets its answer or its error word for
// word, so that a file system sees one question instead of thousands, and messages do not depend on
// the number of ranks. Collective.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>

#include "base/result.h"
#include "comm/comm.h"

namespace stratalog::datalog {

// Collective; `ask` runs on rank 0 only. The answer must be valid JSON text (strings in UTF-8 or
// not).
Result<nlohmann::json> ask_rank_zero(Comm& comm,
                                     const std::function<Result<nlohmann::json>()>& ask);

}  // namespace stratalog::datalog
