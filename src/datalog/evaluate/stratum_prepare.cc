// SPDX-License-Identifier: Apache-2.0
// What a stratum needs before it runs: shards for its own relations, and the relations of lower
// strata where its rules will look for them. See stratum_run.h.
#include <algorithm>
#include <functional>
#include <utility>

#include "comm/shared_pointers.h"
#include "datalog/evaluate/aggregate_place.h"
#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/stratum_run.h"
#include "datalog/evaluate/swept_rows.h"

namespace stratalog::datalog {
namespace {

// Masks of a sweep take 8 bytes for each tuple of the relations that they come from.
constexpr std::uint64_t kMostMaskRows = std::uint64_t{1} << 26;

NumberOrder order_of(const BestValue& best) {
  if (best.kind == ValueKind::kFloat)
    return best.orders_all_floats ? NumberOrder::kAllFloats : NumberOrder::kFloat;
  return best.kind == ValueKind::kUnsigned ? NumberOrder::kUnsigned : NumberOrder::kSigned;
}

// The home, once open, keeps one value of each key from now on.
void keep_one_value(EngineState& state, RelationId relation) {
  const std::optional<BestValue>& best = state.plan.relations[relation].best;
  if (!best) return;
  RelationData& data = state.relations[relation];
  data.keeps_united = best->keeps == KeptValue::kUnited;
  data.shards.front().primary_index().keep_latest(data.keeps_united);
  if (data.keeps_united) return;
  data.best.emplace(state.dictionary, order_of(*best),
                    best->keeps == KeptValue::kLeast ? Wanted::kLeast : Wanted::kGreatest);
  data.shards.front().primary_index().keep_best(&*data.best);
}

bool lies_in_shards(const EngineState& state, RelationId relation) {
  return state.relations[relation].arity > 0 && !state.relations[relation].equivalence;
}

// Makes a large relation readable as its sweep left it.
void open_swept(EngineState& state, RelationId r) {
  RelationData& relation = state.relations[r];
  if (relation.swept) return;
  relation.swept = std::make_shared<SweptRows>(relation, state.scratch);
  state.read_swept.push_back(r);
}

// The same with the rows of all ranks, which live until the stratum has ended on all of them.
// Collective.
Status open_swept_everywhere(EngineState& state, RelationId r) {
  RelationData& relation = state.relations[r];
  if (relation.swept_everywhere) return {};
  open_swept(state, r);
  std::vector<const SweptRows*> ranks{relation.swept.get()};
  if (!state.is_single()) {
    STRATALOG_ASSIGN_OR_RETURN(ranks, pointers_of_all(state.comm, &std::as_const(*relation.swept)));
  }
  relation.swept_everywhere = std::make_shared<SweptRows>(ranks, state.scratch);
  return {};
}

// What aggregates read is on every rank, or can be read there.
Status ensure_body(EngineState& state, const std::vector<Step>& body,
                   const std::function<BodyRead(std::size_t)>& read_of) {
  // Before anything is copied: which of them stay apart depends on each other.
  std::vector<BodyRead> reads(body.size(), BodyRead::kCopied);
  for (std::size_t i = 0; i < body.size(); ++i)
    if (reads_relation(body[i])) reads[i] = read_of(i);
  for (std::size_t i = 0; i < body.size(); ++i) {
    const Step& inner = body[i];
    STRATALOG_RETURN_IF_ERROR(
        ensure_body(state, inner.aggregate_steps, [](std::size_t) { return BodyRead::kCopied; }));
    if (!reads_relation(inner)) continue;
    const BodyRead read = reads[i];
    if (read == BodyRead::kCopied)
      STRATALOG_RETURN_IF_ERROR(
          ensure_available(state, inner.relation, inner.index, Availability::kEverywhere));
    else if (!lies_as_swept(state, inner.relation))
      STRATALOG_RETURN_IF_ERROR(
          ensure_available(state, inner.relation, inner.index, Availability::kWholeBuckets));
    else if (read == BodyRead::kInPlace)
      STRATALOG_RETURN_IF_ERROR(open_swept_everywhere(state, inner.relation));
    else
      open_swept(state, inner.relation);
  }
  return {};
}

}  // namespace

bool can_run_by_pivot(const EngineState& state, std::uint32_t stratum) {
  if (state.plan.strata[stratum].strategy != Strategy::kPivot) return false;
  for (const RulePlan& plan : state.plan.strata[stratum].recursive)
    for (const Step& mask : plan.masks)
      if (reads_relation(mask) &&
          state.relations[mask.relation].global_rows >
              std::min(kMostMaskRows,
                       state.is_single() ? kMostMaskRows : state.options.replicate_limit_rows))
        return false;
  if (state.is_single() || runs_jointly(state, stratum)) return true;
  for (const RulePlan& plan : state.plan.strata[stratum].recursive)
    for (const Step& step : plan.steps)
      if (reads_relation(step) && !state.program.strata[stratum].holds(step.relation) &&
          !state.relations[step.relation].equivalence &&
          state.relations[step.relation].global_rows > state.options.replicate_limit_rows)
        return false;
  return true;
}

void open_stratum_shards(EngineState& state, std::uint32_t stratum, std::uint64_t rows) {
  const Stratum& members = state.program.strata[stratum];
  const bool mirrored = are_mirrored(state, stratum, rows, DeltaSize::kAny);
  for (const RelationId r : members.relations)
    if (lies_in_shards(state, r)) {
      open_shard(state, r, state.plan.relations[r].primary);
      keep_one_value(state, r);
      if (mirrored) open_mirror(state, r, state.plan.relations[r].primary);
    }
  const StratumPlan& plan = state.plan.strata[stratum];
  for (const auto* plans : {&plan.once, &plan.rules_of_rounds(), &plan.reject, &plan.retire})
    for (const RulePlan& rule : *plans)
      for (const Step& step : rule.steps)
        if (reads_relation(step) && members.holds(step.relation) &&
            lies_in_shards(state, step.relation)) {
          if (mirrored)
            open_mirror(state, step.relation, step.index);
          else
            open_shard(state, step.relation, step.index);
        }
}

void close_members(EngineState& state, std::uint32_t stratum) {
  for (const RelationId r : state.program.strata[stratum].relations) {
    RelationData& relation = state.relations[r];
    relation.delta_holds = false;
    relation.mirrored = false;  // what was a mirror is a copy like any other
    if (relation.keeps_one_value()) {
      relation.shards.front().primary_index().keep_best(nullptr);
      relation.shards.front().primary_index().keep_latest(false);
    }
    relation.best.reset();
    relation.keeps_united = false;
    if (relation.equivalence) relation.equivalence->forget_delta();
    for (Shard& shard : relation.shards)
      for (const auto& index : shard.indices)
        if (index) index->forget_delta();
  }
}

Status ensure_static_relations(EngineState& state, std::uint32_t stratum,
                               const std::vector<RulePlan>& plans, bool everywhere) {
  const Stratum& members = state.program.strata[stratum];
  const bool jointly = runs_jointly(state, stratum);
  for (const RulePlan& plan : plans) {
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      const Step& step = plan.steps[s];
      if (!counts_whole_relation(step, state.program.rules[plan.rule].body[step.literal]))
        STRATALOG_RETURN_IF_ERROR(ensure_body(state, step.aggregate_steps, [&](std::size_t i) {
          return everywhere ? BodyRead::kCopied : body_read(state, plan, s, i);
        }));
      if (!reads_relation(step) || members.holds(step.relation)) continue;
      // Searches go to where their elements are, unless nothing may travel.
      if (state.relations[step.relation].equivalence && !everywhere) continue;
      if (!everywhere && reads_swept_rows(state, plan, s)) {
        open_swept(state, step.relation);
        continue;
      }
      // A scan at the start is shared among the ranks as the relation is dealt; searches want small
      // relations close by.
      const bool small =
          state.relations[step.relation].global_rows <= most_copied_rows(state, jointly);
      const bool shared_scan = s == 0 && step.kind == StepKind::kScan && !plan.begins_elsewhere;
      // What ranks read where it lies is dealt whole, however skewed it is.
      Availability wanted = step.kind == StepKind::kSearch && !jointly
                                ? Availability::kAsDealt
                                : Availability::kWholeBuckets;
      const bool is_searched_where_it_lies = jointly && !state.relations[step.relation].equivalence;
      if (everywhere ? small || !is_searched_where_it_lies : small && !shared_scan)
        wanted = Availability::kEverywhere;
      // Where ranks cannot read it where it lies. As a set it takes a few bytes a tuple, or bits.
      if (restricts_by_whole(step) && state.joint == nullptr) wanted = Availability::kEverywhere;
      STRATALOG_RETURN_IF_ERROR(ensure_available(state, step.relation, step.index, wanted));
    }
    for (const Step& mask : plan.masks) {
      if (!reads_relation(mask)) continue;
      STRATALOG_RETURN_IF_ERROR(
          ensure_available(state, mask.relation, mask.index, Availability::kEverywhere));
    }
  }
  return {};
}

}  // namespace stratalog::datalog
