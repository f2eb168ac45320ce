// SPDX-License-Identifier: Apache-2.0
// refine_plan: the plan of a stratum that is about to begin, made anew from the sizes that the
// relations below it have by then. A first plan knows the facts only; in programs of many strata
// what lies between is guessed, and wrong orders of joins cost more than all else. Collective.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// `statistics` is what the plan was made from so far, the same on all ranks; learns of relations
// that rules of the stratum join, once each. State: plan and placements of the stratum, of its
// relations, and of indices that have come to others. Relations are looked at where they lie, of
// large ones a sample.
Status refine_plan(EngineState& state, std::uint32_t stratum,
                   std::vector<RelationStatistics>& statistics);

}  // namespace stratalog::datalog
