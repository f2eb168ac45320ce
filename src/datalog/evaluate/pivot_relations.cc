// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/pivot_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

#include "relation/key_order.h"
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
  for (std::size_t i = 0; i < members.relations.size(); ++i) {
    Member member;
    member.relation = members.relations[i];
    const auto arity =
        static_cast<std::uint32_t>(state.program.relations[member.relation].attributes.size());
    for (std::uint32_t c = 0; c < arity; ++c)
      if (c != pivot.column[i]) member.order.push_back(c);
    member.order.push_back(pivot.column[i]);
    member.keys = PrefixMap(arity - 1);
    members_.push_back(std::move(member));
  }
}

std::uint32_t PivotRelations::position_of(RelationId relation) const {
  const auto& relations = state_.program.strata[stratum_].relations;
  return static_cast<std::uint32_t>(std::lower_bound(relations.begin(), relations.end(), relation) -
                                    relations.begin());
}

Status PivotRelations::bind_rules() {
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
      STRATALOG_ASSIGN_OR_RETURN(rule.masks,
                                 masks_.add_rule(state_, plan, rule.executor->constants()));
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

// By relation and key.
std::vector<SlotId> PivotRelations::slots_by_key() const {
  std::vector<SlotId> order;
  order.reserve(slots());
  for (const Member& member : members_)
    for (const std::uint32_t id : ids_by_key(member.keys)) order.push_back(member.slots[id]);
  return order;
}

// What is known while edges are followed before the closure is opened.
Status PivotRelations::check_memory(const SlotGraph& graph) const {
  const std::uint64_t limit = state_.options.memory_limit_bytes;
  const std::uint64_t used = state_.memory_bytes() + memory_bytes() + graph.memory_bytes();
  if (limit == 0 || used <= limit) return {};
  return Status::no_space(fmt::format(
      "memory limit: {} bytes in facts and in {} keys and {} edges of a pivot recursion, {} "
      "allowed per rank; raise --memory-limit",
      used, slots(), graph.edges(), limit));
}

Result<std::vector<SlotId>> PivotRelations::order_slots() {
  // The walk starts at the least key and takes neighbours by key, however many ranks there are.
  const std::vector<SlotId> by_key = slots_by_key();
  renumber_slots(by_key);
  SlotGraph graph(expander());
  if (!by_key.empty()) graph.reserve_slot(slots() - 1);
  std::vector<SlotId> starts(by_key.size());
  std::iota(starts.begin(), starts.end(), SlotId{0});
  STRATALOG_RETURN_IF_ERROR(
      graph.discover(starts, ~std::uint64_t{0}, [&] { return check_memory(graph); }));
  STRATALOG_RETURN_IF_ERROR(check_memory(graph));
  if (slots() > 0) graph.reserve_slot(slots() - 1);  // those beyond masks
  const std::vector<SlotId> order = depth_first_order(graph);
  std::vector<SlotId> number(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number[order[i]] = static_cast<SlotId>(i);
  graph.renumber(number);
  renumber_slots(order);
  known_graph_ = std::move(graph);
  std::vector<SlotId> number_of_start(by_key.size());
  for (std::size_t i = 0; i < by_key.size(); ++i) number_of_start[by_key[i]] = number[i];
  return number_of_start;
}

void PivotRelations::begin_at_own_slots(std::vector<PivotStart>& starts) const {
  const auto own_slot = [&](Cell pivot) -> std::optional<SlotId> {
    for (std::uint32_t p = 0; p < members_.size(); ++p)
      if (members_[p].keys.width() == 1)
        if (const auto slot = find_slot(p, &pivot)) return slot;
    return std::nullopt;
  };
  stratalog::begin_at_own_slots(*known_graph_, own_slot, starts);
}

void PivotRelations::renumber_slots(std::span<const SlotId> order) {
  std::vector<Member> old = std::exchange(members_, {});
  const std::vector<SlotKey> old_keys = std::exchange(slot_keys_, {});
  for (const Member& member : old) {
    Member fresh;
    fresh.relation = member.relation;
    fresh.order = member.order;
    fresh.keys = PrefixMap(member.keys.width());
    members_.push_back(std::move(fresh));
  }
  slot_keys_.reserve(old_keys.size());
  for (const SlotId slot : order) {
    const SlotKey& key = old_keys[slot];
    slot_of(key.position, old[key.position].keys.key(key.key).data());
  }
}

void PivotRelations::open(PivotSpace space) {
  const RowWidth width = planned_width(space.lanes(), state_.comm.size());
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
  if (known_graph_) closure_->adopt(*std::exchange(known_graph_, {}));
}

SlotId PivotRelations::slot_of(std::uint32_t position, const Cell* key) {
  Member& member = members_[position];
  const std::uint32_t id = member.keys.find_or_add(key);
  if (id == member.slots.size()) {
    member.slots.push_back(static_cast<SlotId>(slot_keys_.size()));
    slot_keys_.push_back({.position = position, .key = id});
  }
  return member.slots[id];
}

std::optional<SlotId> PivotRelations::find_slot(std::uint32_t position, const Cell* key) const {
  const Member& member = members_[position];
  const std::uint32_t id = member.keys.find(key);
  if (id == PrefixMap::kAbsent) return std::nullopt;
  return member.slots[id];
}

std::optional<std::span<const Cell>> PivotRelations::key_of_slot(std::uint32_t position,
                                                                 SlotId slot) const {
  const SlotKey& key = slot_keys_[slot];
  if (key.position != position) return std::nullopt;
  return members_[position].keys.key(key.key);
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
    const SlotKey& slot = slot_keys_[slots[i]];
    if (slot.position != rule.from) continue;
    if (!bind_key(rule, members_[slot.position].keys.key(slot.key), rule.batch.rows)) continue;
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
  const Member& member = members_[position];
  return image.for_each_group([&](SlotId slot, const SetView& pivots) -> Status {
    const SlotKey& key = slot_keys_[slot];
    if (key.position != position) return {};
    return visit({.prefix = member.keys.key(key.key), .set = pivots});
  });
}

Status PivotRelations::for_each_batch(std::uint32_t position, const PivotImage& image,
                                      const BatchVisitor& visit) const {
  const PrefixMap& keys = members_[position].keys;
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
        const SlotKey& key = slot_keys_[*slot++];
        if (key.position != position) continue;
        keys.read(std::span(&key.key, 1), prefixes.data() + (size * keys.width()));
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
  std::uint64_t bytes = closure_ ? closure_->memory_bytes() : 0;
  bytes += slot_keys_.capacity() * sizeof(SlotKey) + masks_.memory_bytes();
  for (const Member& member : members_)
    bytes += member.keys.heap_bytes() + member.slots.capacity() * sizeof(SlotId);
  return bytes;
}

}  // namespace stratalog::datalog
