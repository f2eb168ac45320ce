// SPDX-License-Identifier: Apache-2.0
// follow_growth: after a round, notes what it added to each relation of the stratum that has a
// growth log, so that the next checkpoint writes growth only. Local.
#pragma once

#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// A log that has become large, or for which there is no memory, is given up: the next checkpoint is
// whole. It is the beginning of packing, and its time counts as that.
void follow_growth(EngineState& state, const Stratum& stratum);

}  // namespace stratalog::datalog
