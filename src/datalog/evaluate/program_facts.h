// SPDX-License-Identifier: Apache-2.0
// load_program_facts: what .input directives name and what the caller supplies, for the relations
// that no checkpoint holds. Collective.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/facts/tuple_columns.h"

namespace stratalog::datalog {

// Whether a checkpoint holds the relations of a stratum with all facts that they began with. The
// same on all ranks.
using IsSettled = std::function<bool(std::uint32_t stratum)>;

// By relation: this rank's part of its facts. Errors: InvalidArgument if there is no folder to read
// from, or if a resumed run would have to read standard input or what another caller supplied;
// those of load_facts() and take_supply(). `supplied_to`: of the run that is resumed, then with
// what is supplied now.
Result<std::vector<TupleColumns>> load_program_facts(EngineState& state,
                                                     const IsSettled& is_settled,
                                                     std::set<RelationId>& supplied_to);

}  // namespace stratalog::datalog
