// SPDX-License-Identifier: Apache-2.0
// Says which recursions may keep a copy of their growing relations on every rank while these are
// small (datalog/evaluate/mirror.h does it). Pure; the same on every rank.
#pragma once

#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

// A recursion by rounds whose tuples are looked at by nobody but its rules: no choice, no
// subsumption, no equivalence, and no pivot, which deals tuples so that none travels anyway.
bool may_be_mirrored(const Program& program, const Stratum& stratum, Strategy strategy);

}  // namespace stratalog::datalog
