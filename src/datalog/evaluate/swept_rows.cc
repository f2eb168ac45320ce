// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/swept_rows.h"

#include <algorithm>
#include <optional>

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

// Bindings for each of which a block of all keys is walked over, at most: an index of all tuples
// takes longer, as a sweep has two tuples to a key or more.
constexpr std::uint64_t kFewBindings = 8;
// A test looks through packed rows for as long as making an index of so many tuples takes, or more.
constexpr std::uint64_t kTuplesOfATest = 8;

// How many can come before step `s`, at most; nothing where nobody knows.
std::optional<std::uint64_t> most_bindings(const EngineState& state, const RulePlan& plan,
                                           std::size_t s) {
  constexpr std::uint64_t kMost = 0xFFFFFFFFU;  // its square is a number
  std::uint64_t bindings = 1;
  for (std::size_t before = 0; before < s; ++before) {
    const Step& step = plan.steps[before];
    switch (step.kind) {
      case StepKind::kScan:
      case StepKind::kSearch:
        bindings = std::min(kMost, bindings) *
                   std::clamp(state.relations[step.relation].global_rows, std::uint64_t{1}, kMost);
        break;
      case StepKind::kExists:
      case StepKind::kAbsent:
      case StepKind::kFilter:
      case StepKind::kAssign:
        break;
      default:
        return std::nullopt;
    }
  }
  return bindings;
}

bool carries_last(const Step& step) { return step.columns.back().role == ColumnRole::kCarry; }

}  // namespace

bool reads_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s) {
  const Step& step = plan.steps[s];
  const RelationData& relation = state.relations[step.relation];
  if (plan.delta_literal || !relation.pivot || !relation.shards.empty() || relation.arity < 2 ||
      relation.global_rows < state.options.read_swept_min_rows)
    return false;
  const auto& index = state.plan.relations[step.relation].indices[step.index];
  const auto most = most_bindings(state, plan, s);
  if (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent)
    return step.prefix_length == relation.arity && !carries_last(step) && most &&
           *most <= relation.global_rows / kTuplesOfATest;
  const std::uint32_t pivot = relation.pivot->column_order(relation.pivot_position).back();
  if (step.kind == StepKind::kSearch && index.order.back() != pivot) {
    const auto known = std::span(index.order).first(step.prefix_length);
    return std::ranges::find(known, pivot) != known.end() && most && *most <= kFewBindings;
  }
  if (index.order.back() != pivot) return false;
  if (step.kind == StepKind::kSearch) return step.prefix_length + 1 == relation.arity;
  return step.kind == StepKind::kScan && s == 0 && step.prefix_length == 0 &&
         !makes_values(state.program.rules[plan.rule], plan);
}

SweptRows::SweptRows(const RelationData& relation)
    : pivot_(relation.pivot),
      position_(relation.pivot_position),
      image_(relation.pivot->closure().image(ImageRows::kTotal)),
      sets_(pivot_->slots()) {}

std::vector<std::uint32_t> SweptRows::key_places(std::span<const std::uint32_t> order) const {
  const auto columns = pivot_->column_order(position_);
  std::vector<std::uint32_t> places;
  places.reserve(columns.size() - 1);
  for (const std::uint32_t column : columns.first(columns.size() - 1))
    places.push_back(
        static_cast<std::uint32_t>(std::find(order.begin(), order.end(), column) - order.begin()));
  return places;
}

std::uint32_t SweptRows::pivot_place(std::span<const std::uint32_t> order) const {
  const std::uint32_t pivot = pivot_->column_order(position_).back();
  return static_cast<std::uint32_t>(std::find(order.begin(), order.end(), pivot) - order.begin());
}

bool SweptRows::contains(const Cell* row, std::span<const std::uint32_t> key_places, Cell pivot) {
  key_.clear();
  for (const std::uint32_t place : key_places) key_.push_back(row[place]);
  const std::optional<SlotId> slot = pivot_->find_slot(position_, key_.data());
  return slot && image_.holds(*slot, pivot);
}

void SweptRows::for_each_key(Cell pivot, const std::function<void(std::span<const Cell>)>& visit) {
  slots_.clear();
  image_.append_slots(pivot, slots_);
  for (const SlotId slot : slots_)
    if (const auto key = pivot_->key_of_slot(position_, slot)) visit(*key);
}

int SweptRows::owner_of(Cell pivot) const { return pivot_->owner_of_pivot(pivot); }

// The cells of a block ascend, those of the next one may lie before or between them.
void SweptRows::sort_cells(std::vector<Cell>& cells) const {
  if (!pivot_->closure().space().ascends()) std::ranges::sort(cells);
}

const IntSet* SweptRows::find(const Cell* prefix, std::span<const std::uint32_t> key_places) {
  key_.clear();
  for (const std::uint32_t place : key_places) key_.push_back(prefix[place]);
  const std::optional<SlotId> slot = pivot_->find_slot(position_, key_.data());
  if (!slot) return nullptr;
  std::unique_ptr<IntSet>& set = sets_[*slot];
  if (set == nullptr) {
    cells_.clear();
    image_.append_pivots(*slot, cells_);
    sort_cells(cells_);
    set = std::make_unique<IntSet>();
    set->assign_sorted(cells_);
    set_bytes_ += sizeof(IntSet) + set->heap_bytes();
  }
  return set->empty() ? nullptr : set.get();
}

Status SweptRows::for_each_row(
    const std::function<Status(std::span<const Cell> key, IntSet& pivots)>& visit) const {
  std::vector<Cell> cells;
  IntSet set;
  return image_.for_each_slot(pivot_->slots(),
                              [&](SlotId slot, std::span<const SetView> pivots) -> Status {
                                const auto key = pivot_->key_of_slot(position_, slot);
                                if (!key) return {};
                                cells.clear();
                                for (const SetView& part : pivots)
                                  walk_set(part, [&](Cell cell) { cells.push_back(cell); });
                                sort_cells(cells);
                                set.assign_sorted(cells);
                                return visit(*key, set);
                              });
}

std::uint64_t SweptRows::heap_bytes() const {
  return set_bytes_ + (sets_.capacity() * sizeof(sets_[0]));
}

}  // namespace stratalog::datalog
