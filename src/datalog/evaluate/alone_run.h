// SPDX-License-Identifier: Apache-2.0
// Strata that every rank evaluates by itself, all alike: those without recursion that read a few
// tuples, which all ranks have, and make few. Real programs have thousands of them, and a single
// call of all ranks takes longer than their work. What they find is on every rank at once, so that
// the next such stratum needs no call either. A rank that fails tells so at the next meeting
// (EngineState::meet), before any other collective call. See stratum_run.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {

// `statistics` as refine_plan() leaves them. Local, the same on all ranks.
bool may_run_alone(const EngineState& state, std::uint32_t stratum,
                   const std::vector<RelationStatistics>& statistics);

// Local, but for relations that have not been copied to all ranks yet. Errors of this rank are kept
// for the next meeting.
Result<StratumOutcome> run_alone(EngineState& state, std::uint32_t stratum,
                                 const StratumHooks& hooks);

// Whether there is nothing that a stratum could begin with, so that it stays empty. Local, the same
// on all ranks.
bool has_no_seeds(const EngineState& state, std::uint32_t stratum);

// Of a stratum without seeds. Local.
StratumOutcome leave_empty(EngineState& state, std::uint32_t stratum);

}  // namespace stratalog::datalog
