// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/engine_state.h"

#include "datalog/evaluate/pivot_relations.h"

namespace stratalog::datalog {

void EngineState::recount(RelationId r) {
  const RelationData& relation = relations[r];
  std::uint64_t bytes = relation.heap_bytes();
  // Relations that were swept together have their rows in common.
  if (relation.pivot && relation.pivot_position == 0) bytes += relation.pivot->memory_bytes();
  counted_sum_ += bytes - counted_bytes_[r];
  counted_bytes_[r] = bytes;
}

}  // namespace stratalog::datalog
