// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pivot_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/memory_limit.h"
#include "route/pivot_blocks.h"

namespace stratalog::datalog {
namespace {

RowWidth row_width(std::uint32_t words) {
  switch (words) {
    case 1:
      return RowWidth::kWords1;
    case 2:
      return RowWidth::kWords2;
    case 4:
      return RowWidth::kWords4;
    default:
      return RowWidth::kWords8;
  }
}

// Rows as wide as leaves every rank some blocks.
RowWidth planned_width(std::uint64_t lanes, int ranks) {
  const auto blocks = plan_pivot_blocks(lanes, ranks);
  return blocks.is_ok() ? row_width(blocks.value().words_per_row) : RowWidth::kWords8;
}

// Slots are looked at where they are so many times more than rows; a sweep is worth its while where
// so many tuples have a slot in common.
constexpr std::uint64_t kSlotsPerRow = 4;
constexpr double kLeastTuplesPerSlot = 1.5;

// The place of each slot in an order of all of them.
std::vector<SlotId> places_in(std::span<const SlotId> order) {
  std::vector<SlotId> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<SlotId>(i);
  return place;
}

// `starts` were named before slots got numbers in `order`.
double tuples_per_slot(const SlotGraph& graph, std::span<const SlotId> order,
                       std::span<const PivotStart> starts) {
  const std::vector<SlotId> number = places_in(order);
  std::vector<SlotId> slots;
  slots.reserve(starts.size());
  for (const PivotStart& start : starts) slots.push_back(number[start.slot]);
  return guess_tuples_per_slot(graph, slots);
}

// The sets of one member among those of all.
class MemberSets final : public SetSource {
 public:
  explicit MemberSets(SetSource& all) : all_(all) {}
  void add(std::size_t index) { chosen_[size_++] = index; }
  SetView set(std::size_t index) override { return all_.set(chosen_[index]); }
  BitRow row(std::size_t index) override { return all_.row(chosen_[index]); }

 private:
  SetSource& all_;
  std::size_t size_ = 0;
  std::array<std::size_t, PivotImage::kMostInBatch> chosen_;
};

}  // namespace

PivotRelations::PivotRelations(EngineState& state, std::uint32_t stratum)
    : state_(state), stratum_(stratum) {
  const Stratum& members = state.program.strata[stratum];
  const PivotPlan& pivot = *state.plan.strata[stratum].pivot;
  std::vector<std::uint32_t> widths;
  for (std::size_t i = 0; i < members.relations.size(); ++i) {
    Member member;
    member.relation = members.relations[i];
    const auto arity =
        static_cast<std::uint32_t>(state.program.relations[member.relation].attributes.size());
    for (std::uint32_t c = 0; c < arity; ++c)
      if (c != pivot.column[i]) member.order.push_back(c);
    member.order.push_back(pivot.column[i]);
    widths.push_back(arity - 1);
    members_.push_back(std::move(member));
  }
  keys_ = std::make_shared<SlotKeys>(widths);
}

std::uint32_t PivotRelations::position_of(RelationId relation) const {
  const auto& relations = state_.program.strata[stratum_].relations;
  return static_cast<std::uint32_t>(std::lower_bound(relations.begin(), relations.end(), relation) -
                                    relations.begin());
}

Status PivotRelations::bind_rules() {
  // Until the rules are bound: they then know the indices of all ranks that they read.
  std::optional<JointShards> joint;
  if (runs_jointly(state_, stratum_))
    STRATALOG_RETURN_IF_ERROR(joint.emplace(state_, stratum_).open());
  for (const RulePlan& plan : state_.plan.strata[stratum_].recursive) {
    EdgeRule rule;
    const Rule& source = state_.program.rules[plan.rule];
    rule.from = position_of(source.body[*plan.delta_literal].atom.relation);
    rule.to = position_of(source.head);
    const auto& order = members_[rule.to].order;
    rule.head_columns.assign(order.begin(), order.end() - 1);
    rule.batch.columns.resize(source.variables.size());
    for (const ColumnUse& use : plan.steps[0].columns)
      if (use.role == ColumnRole::kBind) rule.batch.allocate(use.variable);
    rule.batch.tags.resize(kBatchRows, 0);
    const std::size_t number = executors_.size();
    RuleExecutor::Options options;
    options.first_step = 1;
    options.fed = plan.steps[0].live_after;
    options.tagged = true;
    options.sink = [this, number](const Batch& batch) {
      return add_edges(executors_[number], batch);
    };
    STRATALOG_ASSIGN_OR_RETURN(rule.executor, RuleExecutor::bind(state_, plan, std::move(options)));
    if (rule.executor->segments() != 1)
      return Status::internal("a static relation of a pivot stratum is not on every rank");
    if (!plan.masks.empty()) {
      const VariableId pivot = source.head_arguments[order.back()].variable;
      STRATALOG_ASSIGN_OR_RETURN(rule.masks,
                                 masks_.add_rule(state_, plan, pivot, rule.executor->constants()));
    }
    if (state_.meter) {
      rule.meter = state_.meter->rule(stratum_, plan);
      rule.meter->guesses_new_tuples = true;  // the sweep has them
    }
    executors_.push_back(std::move(rule));
  }
  return {};
}

std::uint32_t PivotRelations::lanes_in_block_of(std::uint64_t lanes, int ranks) {
  return lanes_per_block(planned_width(lanes, ranks));
}

ExpandSlots PivotRelations::expander() {
  return [this](std::span<const SlotId> slots, EdgeSink& sink) { return expand(slots, sink); };
}

// What is known while edges are followed before the closure is opened.
Status PivotRelations::check_memory() const {
  const std::uint64_t limit = state_.options.memory_limit_bytes;
  const std::uint64_t used = state_.memory_bytes() + memory_bytes() + graph_->memory_bytes();
  if (limit == 0 || used <= limit) return {};
  return over_memory_limit(used,
                           fmt::format("in facts and in {} keys and {} edges of a pivot recursion",
                                       slots(), graph_->edges()),
                           limit);
}

Result<GrowthGuess> PivotRelations::guess_growth(std::span<const SlotId> starts,
                                                 std::uint64_t enough) {
  SlotGraph graph(expander());
  Result<GrowthGuess> guess = stratalog::guess_growth(graph, starts, enough);
  forget_counts();
  return guess;
}

// Of a guess, or of edges that nothing moves along: the rules have not begun.
void PivotRelations::forget_counts() {
  for (const EdgeRule& rule : executors_)
    if (rule.meter != nullptr) rule.meter->evaluations = rule.meter->derivations = 0;
}

void PivotRelations::leave_to_rounds() {
  forget_counts();
  for (const EdgeRule& rule : executors_)
    if (rule.meter != nullptr) rule.meter->guesses_new_tuples = false;
}

// Of a closure there are no more slots than rows of static relations and first tuples. Where keys
// of several columns make many more, they may be as many as the tuples.
std::uint64_t PivotRelations::slots_to_look_at(std::uint64_t starts) const {
  std::uint64_t rows = starts;
  for (const EdgeRule& rule : executors_)
    for (const Step& step : rule.executor->plan().steps)
      if (reads_relation(step) && !state_.program.strata[stratum_].holds(step.relation))
        rows += state_.relations[step.relation].global_rows;
  rows = std::max(rows, state_.options.guess_growth_min_seeds);
  return rows <= ~std::uint64_t{0} / kSlotsPerRow ? rows * kSlotsPerRow : ~std::uint64_t{0};
}

Result<PivotRelations::SlotNumbers> PivotRelations::order_slots(
    std::span<const PivotStart> starts_of_pivots) {
  // The walk starts at the least key and takes neighbours by key, however many ranks there are.
  const std::vector<SlotId> by_key = keys_->by_key();
  keys_->renumber(by_key);
  graph_ = std::make_shared<SlotGraph>(expander());
  landmarks_ = std::make_shared<Landmarks>();
  SlotGraph& graph = *graph_;
  if (!by_key.empty()) graph.reserve_slot(slots() - 1);
  std::vector<SlotId> starts(by_key.size());
  std::iota(starts.begin(), starts.end(), SlotId{0});
  std::uint64_t look_at = slots_to_look_at(starts_of_pivots.size());
  bool is_worth_it = true;
  const Status discovered = graph.discover(starts, ~std::uint64_t{0}, [&]() -> Status {
    STRATALOG_RETURN_IF_ERROR(check_memory());
    if (graph.slots() < look_at) return {};
    look_at = ~std::uint64_t{0};  // once
    is_worth_it = tuples_per_slot(graph, by_key, starts_of_pivots) >= kLeastTuplesPerSlot;
    return is_worth_it ? Status() : Status::cancelled("a sweep is not worth it");
  });
  // Of many pivots that have no slots in common (lists, each with its head), there is nothing that
  // a sweep could do for some of them together.
  if (discovered.is_ok() && starts_of_pivots.size() >= state_.options.guess_growth_min_seeds)
    is_worth_it = tuples_per_slot(graph, by_key, starts_of_pivots) >= kLeastTuplesPerSlot;
  if (!is_worth_it) return SlotNumbers();
  STRATALOG_RETURN_IF_ERROR(discovered);
  STRATALOG_RETURN_IF_ERROR(check_memory());
  if (slots() > 0) graph.reserve_slot(slots() - 1);  // those beyond masks
  const std::vector<SlotId> order = depth_first_order(graph);
  const std::vector<SlotId> number = places_in(order);
  graph.renumber(number);
  graph.find_followers();
  keys_->renumber(order);
  std::vector<SlotId> number_of_start(by_key.size());
  for (std::size_t i = 0; i < by_key.size(); ++i) number_of_start[by_key[i]] = number[i];
  return SlotNumbers(std::move(number_of_start));
}

void PivotRelations::share_slots_of(const PivotRelations& other) {
  is_shared_ = true;
  if (&other == this) return;  // others read it
  keys_ = other.keys_;
  graph_ = other.graph_;
  landmarks_ = other.landmarks_;
  holding_ = Holding::kBorrowed;
}

void PivotRelations::open(std::shared_ptr<const PivotSpace> space) {
  const RowWidth width = planned_width(space->lanes(), state_.comm.size());
  lanes_ = lanes_per_block(width);
  PivotClosureOptions options;
  options.width = width;
  options.ownership = {.rank = static_cast<std::uint32_t>(state_.comm.rank()),
                       .ranks = static_cast<std::uint32_t>(state_.comm.size())};
  if (const std::uint64_t limit = state_.options.memory_limit_bytes; limit > 0) {
    const std::uint64_t others = state_.memory_bytes();  // facts, dictionary, earlier strata
    options.memory_limit_bytes = limit > others ? limit - others : 0;
  }
  closure_ = std::make_unique<PivotClosure>(
      std::move(space), expander(),
      [this](MaskId mask, std::vector<LaneId>& lanes) {
        masks_.members(mask, closure_->space(), lanes);
        return Status();
      },
      options);
  if (graph_) closure_->adopt(graph_, landmarks_, holding_);
}

SlotId PivotRelations::slot_of(std::uint32_t position, const Cell* key) {
  if (!is_shared_) return keys_->name(position, key);
  const std::optional<SlotId> known = keys_->find(position, key);
  assert(known);  // all slots were named before they were shared
  return *known;
}

std::optional<std::span<const Cell>> PivotRelations::key_of_slot(std::uint32_t position,
                                                                 SlotId slot) const {
  if (keys_->position_of(slot) != position) return std::nullopt;
  return keys_->key_of(slot);
}

int PivotRelations::owner_of_pivot(Cell pivot) const {
  const LaneId lane = closure_->space().lane_of(pivot);
  return static_cast<int>((lane / lanes_) % static_cast<std::uint32_t>(state_.comm.size()));
}

Status PivotRelations::expand(std::span<const SlotId> slots, EdgeSink& sink) {
  sink_ = &sink;
  Status status;
  for (EdgeRule& rule : executors_) {
    const MeteredTime time(rule.meter);
    if (rule.meter != nullptr) ++rule.meter->evaluations;
    status = feed_slots(rule, slots);
    if (!status.is_ok()) break;
  }
  sink_ = nullptr;
  return status;
}

// Binds the delta atom's key columns to those of one slot; false if a constant or a repeated
// variable rules it out.
bool PivotRelations::bind_key(EdgeRule& rule, std::span<const Cell> key, std::uint32_t row) const {
  const auto& columns = rule.executor->plan().steps[0].columns;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const ColumnUse& use = columns[i];
    switch (use.role) {
      case ColumnRole::kMatchConstant:
        if (rule.executor->constants()[use.constant] != key[i]) return false;
        break;
      case ColumnRole::kMatchEarlier:
        if (rule.batch.columns[use.variable][row] != key[i]) return false;
        break;
      case ColumnRole::kBind:
        rule.batch.columns[use.variable][row] = key[i];
        break;
      default:
        break;
    }
  }
  return true;
}

Status PivotRelations::feed_slots(EdgeRule& rule, std::span<const SlotId> slots) {
  rule.batch.rows = 0;
  for (std::uint32_t i = 0; i < slots.size(); ++i) {
    if (keys_->position_of(slots[i]) != rule.from) continue;
    if (!bind_key(rule, keys_->key_of(slots[i]), rule.batch.rows)) continue;
    rule.batch.tags[rule.batch.rows] = i;
    if (++rule.batch.rows < kBatchRows) continue;
    STRATALOG_RETURN_IF_ERROR(rule.executor->feed(rule.batch));
    rule.batch.rows = 0;
  }
  STRATALOG_RETURN_IF_ERROR(rule.executor->feed(rule.batch));
  rule.batch.rows = 0;
  return rule.executor->finish_segment(0);
}

Status PivotRelations::add_edges(const EdgeRule& rule, const Batch& batch) {
  key_.resize(rule.head_columns.size());
  for (std::uint32_t r = 0; r < batch.rows; ++r) add_edge(rule, batch, r);
  if (rule.meter != nullptr) rule.meter->derivations += batch.rows;
  return {};
}

void PivotRelations::add_edge(const EdgeRule& rule, const Batch& batch, std::uint32_t row) {
  EdgeMask mask;
  if (rule.masks) mask = masks_.of_edge(*rule.masks, batch, row);
  if (mask.passage == EdgePassage::kClosed) return;
  const auto& arguments = rule.executor->rule().head_arguments;
  for (std::size_t i = 0; i < key_.size(); ++i) {
    const Expression& e = arguments[rule.head_columns[i]];
    key_[i] = e.kind == ExpressionKind::kVariable ? batch.columns[e.variable][row]
                                                  : state_.evaluator.evaluate(e, batch, row);
  }
  const SlotId target = slot_of(rule.to, key_.data());
  if (mask.passage == EdgePassage::kOpen)
    sink_->add(batch.tags[row], target);
  else
    sink_->add(batch.tags[row], target, mask.mask, mask.sense);
}

Status PivotRelations::for_each_group(std::uint32_t position, RelationVersion version,
                                      const GroupVisitor& visit) const {
  return for_each_group(
      position,
      closure_->image(version == RelationVersion::kTotal ? ImageRows::kTotal : ImageRows::kDelta),
      visit);
}

Status PivotRelations::for_each_group(std::uint32_t position, const PivotImage& image,
                                      const GroupVisitor& visit) const {
  return image.for_each_group([&](SlotId slot, const SetView& pivots) -> Status {
    if (keys_->position_of(slot) != position) return {};
    return visit({.prefix = keys_->key_of(slot), .set = pivots});
  });
}

Status PivotRelations::for_each_batch(std::uint32_t position, const PivotImage& image,
                                      const BatchVisitor& visit) const {
  const PrefixMap& keys = keys_->keys(position);
  std::vector<Cell> prefixes(PivotImage::kMostInBatch * keys.width());
  if (members_.size() == 1)  // then slots are its keys
    return image.for_each_batch([&](const SlotBatch& batch) -> Status {
      keys.read(batch.slots, prefixes.data());
      return visit({.prefixes = std::span(prefixes).first(batch.slots.size() * keys.width()),
                    .lengths = batch.lengths,
                    .contents = batch.contents,
                    .prefix_cells = keys.width(),
                    .sets = batch.pivots});
    });
  std::array<std::uint64_t, PivotImage::kMostInBatch> contents;
  std::array<std::uint32_t, PivotImage::kMostInBatch> lengths;
  return image.for_each_batch([&](const SlotBatch& batch) -> Status {
    MemberSets sets(batch.pivots);
    std::size_t runs = 0;
    std::size_t size = 0;
    const SlotId* slot = batch.slots.data();
    for (std::size_t run = 0; run < batch.lengths.size(); ++run) {
      const std::size_t before = size;
      for (std::uint32_t i = 0; i < batch.lengths[run]; ++i) {
        const SlotId here = *slot++;
        if (keys_->position_of(here) != position) continue;
        const std::uint32_t key = keys_->id_of(here);
        keys.read(std::span(&key, 1), prefixes.data() + (size * keys.width()));
        ++size;
      }
      if (size == before) continue;
      lengths[runs] = static_cast<std::uint32_t>(size - before);
      contents[runs++] = batch.contents[run];
      sets.add(run);
    }
    if (size == 0) return {};
    return visit({.prefixes = std::span(prefixes).first(size * keys.width()),
                  .lengths = std::span(lengths).first(runs),
                  .contents = std::span(contents).first(runs),
                  .prefix_cells = keys.width(),
                  .sets = sets});
  });
}

std::uint64_t PivotRelations::memory_bytes() const {
  const std::uint64_t bytes = (closure_ ? closure_->memory_bytes() : 0) + masks_.memory_bytes();
  return holding_ == Holding::kOwn ? bytes + keys_->memory_bytes() : bytes;
}

}  // namespace stratalog::datalog
