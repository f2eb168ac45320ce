// SPDX-License-Identifier: Apache-2.0
// UnreadRelations: which stratum is the last to read a relation, so that the memory of those that
// nobody will ask for again can be given to what comes. Relations that are put out stay, and where
// there are checkpoints, or the caller looks at relations afterwards, all do. Local; the same on
// all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

class UnreadRelations {
 public:
  // `order`: the strata that will run, one after the other.
  UnreadRelations(const Program& program, const std::vector<std::uint32_t>& order);

  // Once the stratum is finished on all ranks: takes away what no later one reads. How many rows
  // there were stays known.
  void forget_after(std::uint32_t stratum, EngineState& state) const;

 private:
  std::vector<std::vector<RelationId>> last_read_in_;  // by stratum
};

}  // namespace stratalog::datalog
