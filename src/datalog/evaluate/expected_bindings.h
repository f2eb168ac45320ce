// SPDX-License-Identifier: Apache-2.0
// How many bindings some steps of a rule are expected to make, by the sizes and distinct values
// that relations have when their stratum begins. An estimate. Pure; the same on all ranks.
#pragma once

#include <optional>
#include <span>

#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// Nothing where nobody knows, as behind aggregates and ranges.
std::optional<double> expected_bindings(const EngineState& state, std::span<const Step> before);

}  // namespace stratalog::datalog
