// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/unread_relations.h"

#include <algorithm>
#include <cstddef>

#include "datalog/evaluate/run_meter.h"
#include "datalog/plan/relations_read.h"

namespace stratalog::datalog {
namespace {

bool is_put_out(const Relation& relation) {
  return std::ranges::any_of(relation.io,
                             [](const IoDirective& io) { return io.action == IoAction::kOutput; });
}

}  // namespace

UnreadRelations::UnreadRelations(const Program& program, const std::vector<std::uint32_t>& order)
    : last_read_in_(program.strata.size()) {
  constexpr std::size_t kNever = ~std::size_t{0};
  std::vector<std::size_t> last(program.relations.size(), kNever);  // places in `order`
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Stratum& stratum = program.strata[order[at]];
    for (const RelationId r : stratum.relations) last[r] = at;
    for (const RelationId r : relations_read(program, stratum)) last[r] = at;
  }
  for (RelationId r = 0; r < last.size(); ++r)
    // What is there when the run ends goes with everything else.
    if (last[r] != kNever && last[r] + 1 < order.size() && !is_put_out(program.relations[r]))
      last_read_in_[order[last[r]]].push_back(r);
}

void UnreadRelations::forget_after(std::uint32_t stratum, EngineState& state) const {
  for (const RelationId r : last_read_in_[stratum]) {
    RelationData& relation = state.relations[r];
    if (state.meter && state.meter->keeps_profile()) {
      const auto rows = local_rows(state, r);
      relation.rows_when_forgotten = rows.is_ok() ? rows.value() : 0;
    }
    relation.shards = std::vector<Shard>();
    relation.pivot.reset();
    relation.equivalence.reset();
    relation.candidates = std::vector<Cell>();
    relation.growth.reset();
    state.recount(r);
  }
}

}  // namespace stratalog::datalog
