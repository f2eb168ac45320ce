// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/aggregate_place.h"

#include <algorithm>

#include "datalog/evaluate/expected_bindings.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/split_fold.h"
#include "datalog/evaluate/swept_rows.h"

namespace stratalog::datalog {
namespace {

const Aggregate& aggregate_of(const EngineState& state, const RulePlan& plan, std::size_t s) {
  return *state.program.rules[plan.rule].body[plan.steps[s].literal].aggregate;
}

// Fewer rows are copied, whatever is asked.
constexpr double kFewRows = 1U << 16;

// Dealt to the ranks, and nobody has copied it yet.
bool lies_dealt(const EngineState& state, const RelationData& relation) {
  return !state.is_single() && relation.arity > 0 && !relation.equivalence &&
         std::none_of(relation.shards.begin(), relation.shards.end(), [](const Shard& shard) {
           return shard.placement.dealing == Dealing::kReplicated;
         });
}

// Of a step whose relation may stay where it is: which rows it can read where the ranks cannot look
// at each other's.
BodyRead read_apart(const EngineState& state, const RulePlan& plan, std::size_t s, std::size_t i,
                    std::span<const std::uint32_t> dealt_by) {
  const Step& step = plan.steps[s].aggregate_steps[i];
  const Aggregate& aggregate = aggregate_of(state, plan, s);
  if (knows_outside(state, step, aggregate, dealt_by)) return BodyRead::kAtOwner;
  // Every binding of the body is made where the one tuple lies that it takes of the relation.
  const bool takes_tuples = step.kind == StepKind::kScan || step.kind == StepKind::kSearch;
  return takes_tuples && !plan.carries && SplitFold::can_unite(aggregate) ? BodyRead::kInParts
                                                                          : BodyRead::kCopied;
}

BodyRead read_alone(const EngineState& state, const RulePlan& plan, std::size_t s, std::size_t i) {
  const Step& step = plan.steps[s].aggregate_steps[i];
  if (lies_as_swept(state, step.relation)) {
    if (!folds_swept_rows(state, plan, s, i)) return BodyRead::kCopied;
    if (state.is_single() || !state.peers.empty()) return BodyRead::kInPlace;
    const std::uint32_t pivot = pivot_column(state.relations[step.relation]);
    return read_apart(state, plan, s, i, std::span(&pivot, 1));
  }
  const RelationData& relation = state.relations[step.relation];
  if (!lies_dealt(state, relation)) return BodyRead::kCopied;
  const bool is_large = relation.global_rows > most_copied_rows(state, state.joint != nullptr);
  if (state.joint != nullptr) return is_large ? BodyRead::kInPlace : BodyRead::kCopied;
  const BodyRead read = read_apart(state, plan, s, i, state.placements[step.relation][step.index]);
  if (is_large || read == BodyRead::kCopied) return read;
  // Where less travels than a copy takes, which serves later aggregates as well.
  const auto rows = static_cast<double>(relation.global_rows);
  const double asked = expected_bindings(state, std::span(plan.steps).first(s)).value_or(rows) *
                       (read == BodyRead::kInParts ? state.comm.size() : 1);
  return rows > kFewRows && asked < rows ? read : BodyRead::kCopied;
}

bool stays_apart(BodyRead read) { return read == BodyRead::kAtOwner || read == BodyRead::kInParts; }

}  // namespace

BodyRead body_read(const EngineState& state, const RulePlan& plan, std::size_t s, std::size_t i) {
  const std::vector<Step>& body = plan.steps[s].aggregate_steps;
  const BodyRead read = read_alone(state, plan, s, i);
  if (!stays_apart(read)) return read;
  for (std::size_t earlier = 0; earlier < i; ++earlier)
    if (reads_relation(body[earlier]) && stays_apart(read_alone(state, plan, s, earlier)))
      return BodyRead::kCopied;
  return read;
}

bool knows_outside(const EngineState& state, const Step& step, const Aggregate& aggregate,
                   std::span<const std::uint32_t> columns) {
  if (step.prefix_length == 0) return false;
  const auto& order = state.plan.relations[step.relation].indices[step.index].order;
  const auto known = std::span(order).first(step.prefix_length);
  return std::all_of(columns.begin(), columns.end(), [&](std::uint32_t column) {
    const auto at = std::ranges::find(known, column);
    if (at == known.end()) return false;
    const ColumnUse& use = step.columns[static_cast<std::size_t>(at - known.begin())];
    return use.role == ColumnRole::kMatchConstant ||
           (use.role == ColumnRole::kMatchVariable &&
            std::ranges::find(aggregate.outer, use.variable) != aggregate.outer.end());
  });
}

}  // namespace stratalog::datalog
