// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/forward_heights.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {

Status ForwardHeights::run(RelationId goal, std::span<const Cell> tuple,
                           std::vector<TupleColumns> facts, std::uint64_t max_tuples) {
  EngineState& state = query_.state();
  const ForwardProgram& forward = *query_.query().forward;
  const Stratum& members = state.program.strata[forward.stratum];
  StratumFacts seeds(members.relations.size());
  for (RelationId r = 0; r < forward.reached.size(); ++r)
    if (forward.reached[r])
      seeds[*forward.reached[r] - members.relations.front()] = std::move(facts[r]);
  seeds[forward.start - members.relations.front()].rows = 1;
  for (std::size_t i = 0; i < seeds.size(); ++i)
    seeds[i].columns.resize(state.relations[members.relations[i]].arity);

  bool is_reached = false;
  StratumHooks hooks;
  hooks.settle = [] { return Status::ok(); };
  hooks.rounds_until_due = [](std::uint64_t) { return std::uint64_t{1}; };  // none is passed over
  hooks.safe_point = [&](const SafePoint& point) -> Result<Verdict> {
    keep_round();
    is_reached = height(goal, tuple) != kNotReached;
    if (is_reached) return Verdict::kStop;
    if (point.total_tuples > max_tuples)
      return Status::no_space(
          fmt::format("the search for a proof found {} tuples of height {} or less and gave up; "
                      "--limit N allows more",
                      point.total_tuples, rounds_.size() - 1));
    return Verdict::kGoOn;
  };
  return guard_memory([&]() -> Status {
    open_stratum_shards(state, forward.stratum, 0);
    STRATALOG_ASSIGN_OR_RETURN(
        [[maybe_unused]] const StratumOutcome outcome,
        run_by_rounds(state, forward.stratum, std::move(seeds), nullptr, hooks));
    return {};
  });
}

void ForwardHeights::keep_round() {
  EngineState& state = query_.state();
  const auto& reached = query_.query().forward->reached;
  auto& round = rounds_.emplace_back(reached.size());
  for (RelationId r = 0; r < reached.size(); ++r) {
    if (!reached[r]) continue;
    const RelationData& relation = state.relations[*reached[r]];
    if (relation.arity == 0) {
      if (relation.delta_holds) nullary_[r] = static_cast<std::uint32_t>(rounds_.size() - 1);
      continue;
    }
    const Index& home = relation.shards.front().primary_index();
    if (home.delta_tuples() == 0) continue;
    round[r] = std::make_unique<Index>(
        std::vector<std::uint32_t>(home.order().begin(), home.order().end()),
        std::vector<std::uint32_t>{});
    for (const DeltaRow& row : home.delta())
      round[r]->queue_view(home.prefix(row.row).data(), row.cells.view());
    round[r]->unite_queued(state.scratch, Freshness::kNew);
    round[r]->advance();
    round[r]->forget_delta();
  }
}

std::uint32_t ForwardHeights::height(RelationId relation, std::span<const Cell> tuple) const {
  if (tuple.empty()) {
    const auto found = nullary_.find(relation);
    return found == nullary_.end() ? kNotReached : found->second;
  }
  std::array<Cell, kMaxArity> ordered{};
  for (std::uint32_t k = 0; k < rounds_.size(); ++k) {
    const Index* round = rounds_[k][relation].get();
    if (round == nullptr) continue;
    for (std::size_t c = 0; c < tuple.size(); ++c) ordered[c] = tuple[round->order()[c]];
    if (round->contains(ordered.data())) return k;
  }
  return kNotReached;
}

}  // namespace stratalog::datalog
