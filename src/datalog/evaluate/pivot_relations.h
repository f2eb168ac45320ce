// SPDX-License-Identifier: Apache-2.0
// PivotRelations: the relations of a decomposable stratum as one PivotClosure. It numbers the key
// tuples (all columns but the pivot) of all its relations as slots, and asks the rules' static
// joins for the edges of a slot when the closure first reaches it. Lives on after its stratum as
// the storage of its relations. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/edge_masks.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/rule_executor.h"
#include "datalog/evaluate/slot_keys.h"
#include "datalog/pivot/growth_guess.h"
#include "datalog/pivot/pivot_closure.h"
#include "datalog/pivot/slot_order.h"
#include "model/group_batch.h"

namespace stratalog::datalog {

class PivotRelations {
 public:
  // `stratum` must be planned as kPivot. The state outlives this object.
  PivotRelations(EngineState& state, std::uint32_t stratum);

  // How many lanes a block has if there are `lanes` in all. Equal on all ranks.
  static std::uint32_t lanes_in_block_of(std::uint64_t lanes, int ranks);
  // growth_guess.h, from slots that are named. After bind_rules(), before order_slots().
  Result<GrowthGuess> guess_growth(std::span<const SlotId> starts, std::uint64_t enough);
  // Whether ranks are threads that can have slots, edges and landmarks in common: then one of them
  // orders the slots. After bind_rules(), the same on all ranks. Masks are each rank's own.
  bool can_share_slots() const { return !state_.peers.empty() && masks_.is_empty(); }
  // What `other` has ordered, of a rank that is another thread. Before open(); from now on neither
  // names a slot. `other` stays as it is until all ranks have shared.
  void share_slots_of(const PivotRelations& other);
  bool shares_slots() const { return is_shared_; }
  // Follows the rules, which must be bound, from all slots that are named so far, and numbers the
  // slots so that neighbours lie close together. Returns the new number of each that was named
  // before; nothing where the slots turn out to be about as many as the tuples, of which `starts`
  // are the first, so that rounds are quicker. NoSpace where the keys and edges do not fit into the
  // memory limit. Before open().
  using SlotNumbers = std::optional<std::vector<SlotId>>;
  Result<SlotNumbers> order_slots(std::span<const PivotStart> starts);
  // slot_order.h. After order_slots(), before open().
  void begin_at_own_slots(std::vector<PivotStart>& starts) const {
    stratalog::begin_at_own_slots(
        *graph_, [this](Cell pivot) { return keys_->find_single(pivot); }, starts);
  }
  // Opens the closure; seeds and restored groups may follow.
  void open(PivotSpace space) { open(std::make_shared<const PivotSpace>(std::move(space))); }
  void open(std::shared_ptr<const PivotSpace> space);
  // Binds the recursive rules to the static relations, which must have been ensured; rounds may
  // follow. Ranks that are threads read each other's, so all call it at the same time, and go on
  // when all have returned.
  Status bind_rules();
  // It will not be open()ed: what rules have found so far counts for nothing.
  void leave_to_rounds();
  // Drops what only a running stratum needs.
  void finish() {
    executors_.clear();
    masks_ = {};
    closure_->release_workspace();
  }

  std::uint32_t position_of(RelationId relation) const;
  // Keys in declared order, then the pivot.
  std::span<const std::uint32_t> column_order(std::uint32_t position) const {
    return members_[position].order;
  }
  PivotClosure& closure() { return *closure_; }
  const PivotClosure& closure() const { return *closure_; }
  SlotId slot_of(std::uint32_t position, const Cell* key);
  // Nothing where no tuple has the key (keys in declared order).
  std::optional<SlotId> find_slot(std::uint32_t position, const Cell* key) const {
    return keys_->find(position, key);
  }
  std::uint32_t slots() const { return keys_->slots(); }
  // Nothing where the slot is one of another relation.
  std::optional<std::span<const Cell>> key_of_slot(std::uint32_t position, SlotId slot) const;
  // The rank that owns a pivot.
  int owner_of_pivot(Cell pivot) const;
  std::uint32_t lanes_in_block() const { return lanes_; }
  std::size_t members() const { return members_.size(); }

  Status for_each_group(std::uint32_t position, RelationVersion version,
                        const GroupVisitor& visit) const;
  // The same of an image of the closure.
  Status for_each_group(std::uint32_t position, const PivotImage& image,
                        const GroupVisitor& visit) const;
  Status for_each_batch(std::uint32_t position, const PivotImage& image,
                        const BatchVisitor& visit) const;
  std::uint32_t position_of_slot(SlotId slot) const { return keys_->position_of(slot); }
  std::uint64_t memory_bytes() const;

 private:
  struct Member {
    RelationId relation = 0;
    std::vector<std::uint32_t> order;
  };
  // One recursive rule as a producer of edges.
  struct EdgeRule {
    std::unique_ptr<RuleExecutor> executor;
    std::uint32_t from = 0;  // position of the delta atom's relation
    std::uint32_t to = 0;  // position of the head
    std::vector<std::uint32_t> head_columns;  // declared head columns of the key
    std::optional<std::size_t> masks;  // in masks_
    Batch batch;
    RuleMeter* meter = nullptr;
  };

  ExpandSlots expander();
  void forget_counts();
  Status check_memory() const;
  std::uint64_t slots_to_look_at(std::uint64_t starts) const;
  Status expand(std::span<const SlotId> slots, EdgeSink& sink);
  Status feed_slots(EdgeRule& rule, std::span<const SlotId> slots);
  bool bind_key(EdgeRule& rule, std::span<const Cell> key, std::uint32_t row) const;
  Status add_edges(const EdgeRule& rule, const Batch& batch);
  void add_edge(const EdgeRule& rule, const Batch& batch, std::uint32_t row);

  EngineState& state_;
  std::uint32_t stratum_;
  std::vector<Member> members_;
  std::shared_ptr<SlotKeys> keys_;
  std::vector<EdgeRule> executors_;
  EdgeMasks masks_;
  // Of ordered slots.
  std::shared_ptr<SlotGraph> graph_;
  std::shared_ptr<Landmarks> landmarks_;
  bool is_shared_ = false;  // with other threads, which read at the same time
  Holding holding_ = Holding::kOwn;  // of what is shared
  std::unique_ptr<PivotClosure> closure_;
  std::uint32_t lanes_ = 512;
  EdgeSink* sink_ = nullptr;  // while expanding
  std::vector<Cell> key_;  // scratch
};

}  // namespace stratalog::datalog
