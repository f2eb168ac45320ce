// SPDX-License-Identifier: Apache-2.0
// How ranks that begin with the same bindings come to share the work of a Pipeline. Each takes some
// rows of the first scan, where that finds enough of them. Where it does not, all ranks make the
// same few bindings, and part at the first step that gets, or finds, enough of them. What they
// have to see alike until then is how many bindings there are: nothing that depends on what has
// been worth its while so far (guards, filters of repeats, unions) is done before. See pipeline.h.
#include <algorithm>

#include "datalog/evaluate/pipeline_stage.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

// What is shared gives each rank so many turns, or bindings, on the average.
constexpr std::uint64_t kTurnsOfEach = 8;
// Turns are of so many rows, and of fewer where each rank would have less than so many turns.
constexpr std::uint64_t kMostTurnRows = 16;
// So many bindings are not made by every rank where rows can be shared, however few.
constexpr std::uint64_t kManyBindings = 4 * kBatchRows;
// Of a batch that is passed on though it is not full: fewer are not worth their own.
constexpr std::uint32_t kWellFilledRows = 64;

bool is_uncomputed(const Expression& e) { return e.kind != ExpressionKind::kFunctor; }

// Whether it goes through a relation, or through what it has under a prefix.
bool lists_tuples(const Step& step) {
  return reads_relation(step) && !step.columns.empty() && step.kind != StepKind::kExists &&
         step.kind != StepKind::kAbsent;
}

}  // namespace

void Pipeline::begin_share() {
  RankShare& share = definition_.share;
  if (share.ranks <= 1) return;
  share_ = SharePoint();
  for (const auto& stage : stages_) stage->is_common = false;
  share_.by = ShareBy::kUndecided;
  share_.next_binding = share.first_turn++;
  turns_.begin({.ranks = share.ranks, .rank = share.rank, .first = share_.next_binding},
               share.turns);
}

// When the first bindings come to step `s`, which are all if they are few. Behind the last step:
// to whoever takes what is made.
void Pipeline::decide_share(std::size_t s, const Batch& in) {
  const RankShare& share = definition_.share;
  share_.is_few = in.rows < std::min<std::uint64_t>(kTurnsOfEach * share.ranks, kBatchRows);
  if (s == stages_.size() || !share_.is_few || (s >= share.first && !is_done_by_all(s)))
    return deal_bindings(s);
  Stage& stage = *stages_[s];
  // Copies, and classes, may lie in another order on each rank.
  share_.is_ordered &= !lists_tuples(*stage.step) || !stage.source.joint.empty();
  if (shares_found(s, in)) {
    share_.by = ShareBy::kRows;
  } else if (!may_share_after(s)) {
    deal_bindings(s);
  } else {
    stage.is_common = true;
    share_.at = s + 1;
  }
}

// Those that come to step `s`, by what was read: what has been computed may be new, and then has
// another cell on each rank.
void Pipeline::deal_bindings(std::size_t s) {
  share_.by = ShareBy::kBindings;
  share_.read.clear();
  if (s == 0) return;
  for (const Step& step : definition_.steps.first(s)) {
    if (!reads_relation(step)) continue;
    for (const ColumnUse& use : step.columns)
      if (use.role == ColumnRole::kBind &&
          std::ranges::binary_search(definition_.steps[s - 1].live_after, use.variable))
        share_.read.push_back(use.variable);
  }
}

// Whether all ranks can do the same in this step, for few bindings.
bool Pipeline::is_done_by_all(std::size_t s) const {
  const Step& step = definition_.steps[s];
  const Literal& literal = (*definition_.body)[step.literal];
  if (reads_relation(step)) return stages_[s]->source.swept == nullptr;
  if (step.kind == StepKind::kFilter)
    return is_uncomputed(literal.left) && is_uncomputed(literal.right);
  return step.kind == StepKind::kAssign && literal.record_use == RecordUse::kValue &&
         is_uncomputed(assigned_by(step, literal)) && !step.pairs_zeros;
}

// Whether a later step may be a better place.
bool Pipeline::may_share_after(std::size_t s) const {
  return std::ranges::any_of(definition_.steps.subspan(s + 1),
                             [](const Step& step) { return step.kind != StepKind::kFilter; });
}

// Whether ranks part by the rows that the step finds for these bindings.
bool Pipeline::shares_found(std::size_t s, const Batch& in) {
  const Step& step = *stages_[s]->step;
  const Index* const index = stages_[s]->source.index;
  if (!lists_tuples(step) || index == nullptr) return false;
  const bool is_search = step.prefix_length > 0;
  if (is_search && (step.kind != StepKind::kSearch || step.prefix_length >= index->prefix_width()))
    return false;
  const std::uint64_t ranks = definition_.share.ranks;
  const Found found = is_search                         ? count_under(s, in)
                      : stages_[s]->row_filters.empty() ? count_all(s, in)
                                                        : count_between(s, in);
  const bool makes_many = step.columns.back().role == ColumnRole::kBind && found.rows >= ranks &&
                          found.tuples >= kManyBindings;
  const bool is_enough = found.rows >= kTurnsOfEach * ranks || makes_many;
  turns_.set_length(
      std::clamp<std::uint64_t>(found.rows / (kTurnsOfEach * ranks), 1, kMostTurnRows));
  // Rows of a copy have the same owners for each binding: by few of them it would be shared less
  // evenly than by more bindings.
  const bool is_coarse =
      !is_search && !share_.is_ordered && found.rows < std::uint64_t{in.rows} * in.rows;
  return (is_enough || !may_share_after(s)) && !is_coarse;
}

Pipeline::Found Pipeline::count_all(std::size_t s, const Batch& in) const {
  const Stage& stage = *stages_[s];
  const bool delta = stage.step->kind == StepKind::kScanDelta;
  const auto tuples_of = [&](const Index& index) {
    return (delta ? index.delta_tuples() : index.tuples()) * in.rows;
  };
  if (stage.source.joint.empty()) {
    // Copies have the same tuples; rows without any may be there on some ranks only.
    const Index& index = *stage.source.index;
    const std::uint64_t tuples = tuples_of(index);
    return {.rows = index.prefix_width() > 0 ? tuples : std::min<std::uint64_t>(tuples, in.rows),
            .tuples = tuples};
  }
  Found found;
  for (const Index* index : stage.source.joint) {
    found.tuples += tuples_of(*index);
    found.rows += (delta ? index->delta().size() : index->row_count()) * in.rows;
  }
  return found;
}

Pipeline::Found Pipeline::count_under(std::size_t s, const Batch& in) {
  Stage& stage = *stages_[s];
  const std::uint32_t length = stage.step->prefix_length;
  gather_keys(stage, in, length);
  find_indices(stage, in, length);
  Found found;
  for (std::uint32_t r = 0; r < in.rows; ++r) {
    const Index& index = *stage.indices[r];
    const Cell* const key = stage.keys.data() + (std::size_t{r} * length);
    find_under(stage, in, r, index, key);
    for (const RowId row : stage.rows) found.add(index.total(row));
  }
  return found;
}

// Of the bindings that come to the step where ranks part, this rank's stay. `live`: all that is
// known of them.
void Pipeline::keep_own_bindings(Batch& batch, std::span<const VariableId> live) {
  const RankShare& share = definition_.share;
  const auto is_mine = [&](std::uint32_t row) {
    // Few of them by number, as their hashes may happen to agree.
    if (share_.is_few && share_.is_ordered)
      return share_.next_binding++ % share.ranks == share.rank;
    const std::uint64_t hash =
        hash_places(share_.read, [&](VariableId v) { return batch.columns[v][row]; });
    return scale_hash(hash, share.ranks) == share.rank;
  };
  std::uint32_t kept = 0;
  for (std::uint32_t row = 0; row < batch.rows; ++row) {
    if (!is_mine(row)) continue;
    for (const VariableId v : live) batch.columns[v][kept] = batch.columns[v][row];
    if (!batch.sets.empty()) batch.sets[kept] = batch.sets[row];
    ++kept;
  }
  batch.rows = kept;
}

// Of a copy, whose rows may lie in another order on each rank: a row has the same owner for all.
bool Pipeline::is_own_row(const Index& index, RowId row) const {
  return scale_hash(hash_cells(index.prefix(row)), definition_.share.ranks) ==
         definition_.share.rank;
}

// What makes the work of a turn is what becomes of its rows: done before the next one is taken.
Status Pipeline::flush_well_filled(std::size_t s) {
  if (definition_.share.turns == nullptr) return {};
  // A step may have passed over the one behind it (pipeline_image.cc).
  for (; s < stages_.size(); ++s)
    if (stages_[s]->out.rows >= kWellFilledRows) STRATALOG_RETURN_IF_ERROR(flush(s));
  return {};
}

}  // namespace stratalog::datalog
