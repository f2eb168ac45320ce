// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/swept_rows.h"

#include <algorithm>
#include <optional>

#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/expected_bindings.h"
#include "datalog/evaluate/pivot_relations.h"
#include "model/set_walk.h"

namespace stratalog::datalog {
namespace {

// Values that a rule makes wait for all ranks, longer than the sets of a scan live.
bool makes_values(const Rule& rule, const RulePlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) {
                       return step.kind == StepKind::kAssign || step.kind == StepKind::kAggregate ||
                              step.kind == StepKind::kRange || step.kind == StepKind::kUnpack;
                     }) ||
         !std::all_of(rule.head_arguments.begin(), rule.head_arguments.end(),
                      [](const Expression& e) { return e.kind != ExpressionKind::kFunctor; });
}

// Bindings that ask for pivots are gathered (Pipeline::wait_for_more) and walk over all blocks
// together; an index of all tuples takes longer than so many walks, as rows have many tuples where
// there are many.
constexpr double kMostBlockWalks = 8;
// A test looks through packed rows for as long as making an index of so many tuples takes, or more.
constexpr double kTuplesOfATest = 8;
// A set that all ranks restrict by their own pivots travels to all of them.
constexpr double kTuplesOfASet = 64;
// Of all rows, for an aggregate without a key.
constexpr double kMostScans = 8;

// Fewer are sorted one against the other.
constexpr std::uint64_t kManyCells = 64;

// Keys of many pivots are read as bits, 64 of each at a time, where they are close together; of few
// pivots each is looked for. At most 128 MiB meanwhile.
constexpr std::uint64_t kMostPlaces = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostPlacesPerKey = 8;
constexpr std::uint64_t kFewPlaces = 1024;
constexpr std::uint32_t kLeastPartOfPivots = 16;
// Of each block, in which to turn a place costs as much as to look at so many tuples.
constexpr std::uint64_t kLeastTuplesPerPlace = 2;

bool carries_last(const Step& step) { return step.columns.back().role == ColumnRole::kCarry; }

// Whether a set of pivots is restricted by those of one key.
bool restricts_by_row(const Step& step, const RelationData& relation, const IndexPlan& index) {
  return (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent) && carries_last(step) &&
         step.prefix_length + 1 == relation.arity && index.order.back() == pivot_column(relation);
}

// How many bindings walk together before step `s`: those that bring a set do not wait.
double gathered_before(const RulePlan& plan, std::size_t s) {
  const auto binds_set = [](const Step& step) {
    return !step.columns.empty() && carries_last(step);
  };
  return std::any_of(plan.steps.begin(), plan.steps.begin() + static_cast<std::ptrdiff_t>(s),
                     binds_set)
             ? double{kBatchRows}
             : static_cast<double>(kGatheredBindings);
}

// Whether a step other than a scan is answered quickly by such a relation.
bool suits_swept_rows(const EngineState& state, const Step& step, std::optional<double> bindings,
                      double gathered) {
  const RelationData& relation = state.relations[step.relation];
  const auto& index = state.plan.relations[step.relation].indices[step.index];
  if (restricts_by_row(step, relation, index))
    return state.is_single() ||
           (step.kind == StepKind::kExists && bindings &&
            *bindings * kTuplesOfASet <= static_cast<double>(relation.global_rows));
  if (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent)
    return step.prefix_length == relation.arity && !carries_last(step) && bindings &&
           *bindings * kTuplesOfATest <= static_cast<double>(relation.global_rows);
  if (step.kind != StepKind::kSearch) return false;
  const std::uint32_t pivot = pivot_column(relation);
  if (index.order.back() == pivot) return step.prefix_length + 1 == relation.arity;
  const auto known = std::span(index.order).first(step.prefix_length);
  return std::ranges::find(known, pivot) != known.end() && bindings &&
         *bindings <= kMostBlockWalks * gathered;
}

// Whether a scan goes from row to row.
bool scans_swept_rows(const EngineState& state, const Step& step) {
  const auto& index = state.plan.relations[step.relation].indices[step.index];
  return step.kind == StepKind::kScan && step.prefix_length == 0 &&
         index.order.back() == pivot_column(state.relations[step.relation]);
}

}  // namespace

std::uint32_t pivot_column(const RelationData& relation) {
  return relation.pivot->column_order(relation.pivot_position).back();
}

bool lies_as_swept(const EngineState& state, RelationId r) {
  const RelationData& relation = state.relations[r];
  return relation.pivot && relation.shards.empty() && relation.arity >= 2 &&
         relation.global_rows >= state.options.read_swept_min_rows;
}

bool reads_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s) {
  const Step& step = plan.steps[s];
  if (plan.delta_literal || !lies_as_swept(state, step.relation)) return false;
  if (scans_swept_rows(state, step))
    return s == 0 && !makes_values(state.program.rules[plan.rule], plan);
  return suits_swept_rows(state, step, expected_bindings(state, std::span(plan.steps).first(s)),
                          gathered_before(plan, s));
}

bool folds_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s,
                      std::size_t i) {
  const std::vector<Step>& body = plan.steps[s].aggregate_steps;
  const Step& step = body[i];
  const auto outer = expected_bindings(state, std::span(plan.steps).first(s));
  const auto inner = expected_bindings(state, std::span(body).first(i));
  if (!outer || !inner) return false;
  if (scans_swept_rows(state, step)) return i == 0 && *outer <= kMostScans;
  // Look-ups of pivots are gathered before the aggregate, not within it.
  return suits_swept_rows(state, step, *outer * *inner, i == 0 ? gathered_before(plan, s) : 0);
}

SweptRows::SweptRows(const RelationData& relation, SetAccumulator& scratch)
    : scratch_(scratch), position_(relation.pivot_position), sets_(relation.pivot->slots()) {
  parts_.push_back({relation.pivot, relation.pivot->closure().image(ImageRows::kTotal)});
}

SweptRows::SweptRows(std::span<const SweptRows* const> ranks, SetAccumulator& scratch)
    : scratch_(scratch), position_(ranks.front()->position_) {
  for (const SweptRows* const rank : ranks)
    parts_.insert(parts_.end(), rank->parts_.begin(), rank->parts_.end());
}

std::vector<std::uint32_t> SweptRows::key_places(std::span<const std::uint32_t> order) const {
  const auto columns = parts_.front().pivot->column_order(position_);
  std::vector<std::uint32_t> places;
  places.reserve(columns.size() - 1);
  for (const std::uint32_t column : columns.first(columns.size() - 1))
    places.push_back(
        static_cast<std::uint32_t>(std::find(order.begin(), order.end(), column) - order.begin()));
  return places;
}

std::uint32_t SweptRows::pivot_place(std::span<const std::uint32_t> order) const {
  const std::uint32_t pivot = parts_.front().pivot->column_order(position_).back();
  return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), pivot) - order.begin());
}

void SweptRows::gather_key(const Cell* row, std::span<const std::uint32_t> key_places) {
  key_.clear();
  for (const std::uint32_t place : key_places) key_.push_back(row[place]);
}

bool SweptRows::contains(const Cell* row, std::span<const std::uint32_t> key_places, Cell pivot) {
  gather_key(row, key_places);
  const Part& part =
      parts_.size() == 1 ? parts_.front() : parts_[static_cast<std::size_t>(owner_of(pivot))];
  const std::optional<SlotId> slot = part.pivot->find_slot(position_, key_.data());
  return slot && part.image.holds(*slot, pivot);
}

Status SweptRows::for_each_pivot(
    std::span<const Cell> pivots,
    const std::function<Status(std::size_t which, std::span<const Cell> keys)>& visit) const {
  for (const Part& part : parts_) STRATALOG_RETURN_IF_ERROR(for_each_pivot_of(part, pivots, visit));
  return {};
}

Status SweptRows::for_each_pivot_of(
    const Part& part, std::span<const Cell> pivots,
    const std::function<Status(std::size_t which, std::span<const Cell> keys)>& visit) const {
  std::vector<Cell> keys;
  const std::size_t width = part.pivot->column_order(position_).size() - 1;
  return part.image.for_each_pivot(pivots,
                                   [&](std::size_t which, std::span<const SlotId> slots) -> Status {
                                     keys.resize(slots.size() * width);
                                     std::size_t size = 0;
                                     for (const SlotId slot : slots) {
                                       const auto key = part.pivot->key_of_slot(position_, slot);
                                       if (!key) continue;
                                       for (std::size_t i = 0; i < width; ++i)
                                         keys[size + i] = (*key)[i];
                                       size += width;
                                     }
                                     keys.resize(size);
                                     return keys.empty() ? Status() : visit(which, keys);
                                   });
}

std::optional<SweptRows::KeyPlaces> SweptRows::places_of_keys(const Part& part) const {
  const SlotId slots = part.pivot->slots();
  std::vector<Cell> keys;  // that there are
  KeyPlaces found;
  found.of_slot.assign(slots, SlotPlaces::kNowhere);
  for (SlotId slot = 0; slot < slots; ++slot)
    if (const auto key = part.pivot->key_of_slot(position_, slot)) {
      found.of_slot[slot] = static_cast<std::uint32_t>(key->front());
      keys.push_back(key->front());
    }
  if (keys.empty()) return {};
  const auto [least, greatest] = std::ranges::minmax(keys);
  const std::uint64_t places = ((greatest / 64) - (least / 64) + 1) * std::uint64_t{64};
  if (places > std::clamp(kMostPlacesPerKey * keys.size(), kFewPlaces, kMostPlaces)) return {};
  found.base = least / 64 * 64;
  found.places = static_cast<std::uint32_t>(places);
  for (std::uint32_t& place : found.of_slot)
    if (place != SlotPlaces::kNowhere) place -= static_cast<std::uint32_t>(found.base);
  return found;
}

Status SweptRows::for_each_pivot_set(
    std::span<const Cell> pivots,
    const std::function<Status(std::size_t which, IntSet& keys)>& visit) const {
  IntSet set;
  for (const Part& part : parts_) {
    const bool are_many =
        pivots.size() >= part.pivot->closure().space().lanes() / kLeastPartOfPivots;
    const auto keys = are_many ? places_of_keys(part) : std::nullopt;
    if (keys && part.image.tuples() >= kLeastTuplesPerPlace * keys->places * part.image.blocks()) {
      STRATALOG_RETURN_IF_ERROR(part.image.for_each_pivot(
          pivots, {.of_slot = keys->of_slot, .places = keys->places},
          [&](std::size_t which, std::span<const std::uint64_t> places) -> Status {
            set.assign_words(keys->base, places);
            return set.empty() ? Status() : visit(which, set);
          }));
      continue;
    }
    STRATALOG_RETURN_IF_ERROR(
        for_each_pivot_of(part, pivots, [&](std::size_t which, std::span<const Cell> cells) {
          gather(cells, set);
          return visit(which, set);
        }));
  }
  return {};
}

int SweptRows::owner_of(Cell pivot) const { return parts_.front().pivot->owner_of_pivot(pivot); }

// The cells of a block ascend, those of the next one may lie before or between them. To sort many
// takes several times as long as to set a bit for each.
void SweptRows::unite(std::span<const SetView> views, IntSet& set) const {
  std::uint64_t count = 0;
  for (const SetView& view : views) count += view.count;
  if (count >= kManyCells) {
    for (const SetView& view : views) scratch_.add(view);
    scratch_.take_all(set);
    return;
  }
  std::vector<Cell> cells;
  cells.reserve(count);
  for (const SetView& view : views) walk_set(view, [&](Cell cell) { cells.push_back(cell); });
  std::ranges::sort(cells);
  set.assign_sorted(cells);
}

void SweptRows::gather(std::span<const Cell> cells, IntSet& set) const {
  const SetView view{.kind = SetKind::kArray,
                     .base = 0,
                     .values = cells,
                     .offsets = {},
                     .words = {},
                     .count = cells.size()};
  unite({&view, 1}, set);
}

const IntSet* SweptRows::find(const Cell* prefix, std::span<const std::uint32_t> key_places,
                              IntSet& made) {
  gather_key(prefix, key_places);
  if (sets_.empty()) return find_in_all(made);
  const Part& part = parts_.front();
  const std::optional<SlotId> slot = part.pivot->find_slot(position_, key_.data());
  if (!slot) return nullptr;
  std::unique_ptr<IntSet>& set = sets_[*slot];
  if (set == nullptr) {
    cells_.clear();
    part.image.append_pivots(*slot, cells_);
    set = std::make_unique<IntSet>();
    gather(cells_, *set);
    set_bytes_ += sizeof(IntSet) + set->heap_bytes();
  }
  return set->empty() ? nullptr : set.get();
}

// Of the key at hand.
const IntSet* SweptRows::find_in_all(IntSet& made) {
  cells_.clear();
  for (const Part& part : parts_)
    if (const auto slot = part.pivot->find_slot(position_, key_.data()))
      part.image.append_pivots(*slot, cells_);
  gather(cells_, made);
  return made.empty() ? nullptr : &made;
}

Status SweptRows::for_each_row(const std::function<bool(std::span<const Cell> key)>& is_wanted,
                               const CellSet* wanted,
                               const std::function<Status(IntSet& pivots)>& visit) const {
  IntSet set;
  for (const Part& part : parts_) {
    const RowChoice choice{.is_wanted =
                               [&](SlotId slot) {
                                 const auto key = part.pivot->key_of_slot(position_, slot);
                                 return key && is_wanted(*key);
                               },
                           .pivots = wanted};
    STRATALOG_RETURN_IF_ERROR(part.image.for_each_slot(
        part.pivot->slots(),
        [&](SlotId, std::span<const SetView> pivots) -> Status {
          unite(pivots, set);
          return visit(set);
        },
        choice));
  }
  return {};
}

std::uint64_t SweptRows::heap_bytes() const {
  return set_bytes_ + (sets_.capacity() * sizeof(sets_[0]));
}

}  // namespace stratalog::datalog
