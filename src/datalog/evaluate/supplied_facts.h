// SPDX-License-Identifier: Apache-2.0
// take_supply: facts that the caller of the engine holds in memory, with cells that all ranks know.
// Collective; the tuples stay on the rank that had them.
#pragma once

#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/evaluate/engine.h"

namespace stratalog::datalog {

// By relation, each with as many columns as it has attributes. `dictionary` must be equal on all
// ranks and is so afterwards. Errors, the same on all ranks: those of `supply`, InvalidArgument if
// it gives tuples that do not fit their relation, NoSpace.
Result<std::vector<TupleColumns>> take_supply(Comm& comm, const Program& program,
                                              const FactSupply& supply,
                                              ValueDictionary& dictionary);

}  // namespace stratalog::datalog
