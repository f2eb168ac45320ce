// SPDX-License-Identifier: Apache-2.0
// Where an aggregate is evaluated. Small relations are copied to all ranks, so that each rank folds
// its own bindings. A large one stays as it is dealt or as its sweep left it: ranks that are
// threads look where it lies, and on processes bindings go to the rank that has what they ask for,
// or all ranks fold what they have for each (SplitFold). Pure but for what the state knows; the
// same on all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

// How a step within an aggregate reads its relation.
enum class BodyRead : std::uint8_t {
  kCopied,
  kInPlace,  // what all ranks have
  kAtOwner,  // this rank's, where the binding has come to
  kInParts,  // this rank's, for the bindings of all
};

// Of step `i` of the aggregate that is step `s`. At most one step of an aggregate is read at an
// owner or in parts.
BodyRead body_read(const EngineState& state, const RulePlan& plan, std::size_t s, std::size_t i);

// Whether the cells in these columns (declared ones) of what a step searches are known before the
// aggregate begins.
bool knows_outside(const EngineState& state, const Step& step, const Aggregate& aggregate,
                   std::span<const std::uint32_t> columns);

}  // namespace stratalog::datalog
