// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/growth_logs.h"

#include <algorithm>

namespace stratalog::datalog {
namespace {

void append_growth(EngineState& state, const Stratum& stratum) {
  constexpr std::uint64_t kFloor = 1U << 20;
  for (const RelationId r : stratum.relations) {
    RelationData& relation = state.relations[r];
    if (!relation.growth) continue;
    const Index& home = relation.shards.front().primary_index();
    relation.growth->append(home.delta());
    if (relation.growth->heap_bytes() > kFloor + home.heap_bytes() / 2) relation.growth.reset();
  }
  const std::uint64_t limit = state.options.memory_limit_bytes;
  if (limit > 0 && state.memory_bytes() > limit)
    for (RelationData& relation : state.relations) relation.growth.reset();
}

}  // namespace

void follow_growth(EngineState& state, const Stratum& stratum) {
  if (std::none_of(stratum.relations.begin(), stratum.relations.end(),
                   [&](RelationId r) { return state.relations[r].growth != nullptr; }))
    return;
  PhaseWatch watch(state.times_phases);
  append_growth(state, stratum);
  const double spent = watch.lap();
  state.times.pack += spent;
  state.times.deduplicate -= spent;
  state.growth_seconds += spent;
}

}  // namespace stratalog::datalog
