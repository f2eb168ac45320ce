// SPDX-License-Identifier: Apache-2.0
// The sweep kernel, one instance for each row width. Each slot has two rows side by side: `full`,
// the lanes that have reached it, and `next`, the lanes that arrive in the step being built. Delta
// rows are copied into a compact list, so that pushing reads them in sequence. Local; not
// thread-safe.
#include "datalog/pivot/block_sweep.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "datalog/pivot/lane_counter.h"
#include "datalog/pivot/lane_row.h"
#include "datalog/pivot/lane_starts.h"
#include "datalog/pivot/raw_list.h"

namespace stratalog {
namespace {

constexpr std::uint8_t kQueued = 1;  // `next` holds something, the slot is in candidates_
constexpr std::uint8_t kTouched = 2;  // `full` holds something, the slot is in touched_
constexpr std::uint8_t kStopped = 4;  // `final_` holds something, the slot is in stopped_
constexpr std::uint8_t kEmptied = 8;  // `full` held only what the layers below have, while storing
// Of the followers of a graph (SlotGraph::find_followers): most get their rows from their leaders'
// at the end. One that seeds of this block have reached goes its own way, as other slots do.
constexpr std::uint8_t kOwnWay = 16;
constexpr std::uint8_t kLeadsFew = 32;  // some of the slot's followers go their own way

constexpr std::uint64_t kNeverStops = std::uint64_t{1} << 62;

// How many entries of a list the prefetches run ahead.
constexpr std::size_t kAhead = 6;

template <typename T>
void prefetch(const T* address) {
  __builtin_prefetch(address, 1);
}

enum class EdgeKind : std::uint8_t { kPlain, kMasked, kToFollowers };

template <int kWords>
class BlockSweepOf final : public BlockSweep {
 public:
  using Row = LaneRow<kWords>;
  static constexpr std::uint32_t kLanes = 64 * kWords;

  void load(std::span<const RowLayer> total, const PackedRows& delta,
            std::uint32_t slots) override {
    grow(slots);
    for (const RowLayer& layer : total)
      for (PackedRows::Cursor cursor(*layer, kWords); !cursor.at_end();) {
        const SlotId slot = cursor.slot();
        touch(slot);
        cursor.unite(slots_[slot].full.words());
      }
    for (PackedRows::Cursor cursor(delta, kWords); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      Row row;
      cursor.read(row.words());
      add_delta(slot, row);
    }
  }

  std::uint64_t absorb(std::span<const SlotBit> seeds) override {
    std::uint64_t added = 0;
    for (const SlotBit& seed : seeds) {
      if (slots_[seed.slot].full.has(seed.offset)) continue;
      Row row;
      row.set(seed.offset);
      add_delta(seed.slot, row);
      ++added;
    }
    return added;
  }

  void add_masks(std::span<const MaskBit> members, std::uint32_t mask_count) override {
    if (masks_.size() < mask_count) masks_.resize(mask_count);
    for (const MaskBit& member : members) {
      masks_[member.mask].set(member.offset);
      masks_set_.push_back(member.mask);
    }
  }

  std::vector<SlotBit> delta_bits(std::uint32_t limit) const override {
    std::vector<SlotBit> bits;
    std::uint32_t taken[kLanes] = {};
    for (const SlotId slot : candidates_)
      for_each_lane(slots_[slot].next, [&](std::uint32_t offset) {
        if (taken[offset]++ < limit) bits.push_back({slot, offset});
      });
    return bits;
  }

  Status run(const SlotGraph& graph, const SweepPlan& plan, const ExpandMet& expand,
             SweepTally& tally) override {
    const bool skewed = std::adjacent_find(plan.delays.begin(), plan.delays.end(),
                                           std::not_equal_to<>()) != plan.delays.end();
    operations_at_pause_ = tally.row_operations;
    counts_lanes_ = skewed;
    with_followers_ = graph.is_closed() && graph.has_followers();
    if (with_followers_) find_own_ways(graph);
    STRATALOG_RETURN_IF_ERROR(skewed ? run_skewed(graph, plan, expand, tally)
                                     : run_in_step(graph, plan, expand, tally));
    if (with_followers_) follow(graph);
    return Status::ok();
  }

  void store(std::span<const RowLayer> known, PackedRows& fresh, PackedRows& delta) override {
    take_delta([this](SlotId slot, const Row& row) { add_final(slot, row); });  // never run
    sort_slots(touched_, kTouched);
    scratch_.clear();
    recent_.clear();
    for (const RowLayer& layer : known) take_away(*layer);
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      prefetch(&slots_[touched_[std::min(i + kAhead, touched_.size() - 1)]].full);
      const SlotId slot = touched_[i];
      // The states are in cache, the rows are not: they are not asked whether they are empty.
      if ((state_[slot] & kEmptied) == 0)
        scratch_.append(slot, slots_[slot].full.words(), kWords, recent_);
      slots_[slot].full = Row();
    }
    fresh = PackedRows(scratch_);  // a copy, so that what rests has no spare capacity
    sort_slots(stopped_, kStopped);
    scratch_.clear();
    recent_.clear();
    for (const SlotId slot : stopped_) {
      scratch_.append(slot, final_[slot].words(), kWords, recent_);
      final_[slot] = Row();
    }
    delta = PackedRows(scratch_);
    forget();
  }

  void discard() override {
    take_delta([](SlotId, const Row&) {});
    for (const SlotId slot : touched_) slots_[slot].full = Row();
    for (const SlotId slot : stopped_) final_[slot] = Row();
    active_slots_.clear();
    active_rows_.clear();
    candidates_.clear();
    counter_.clear();
    forget();
  }

  std::uint64_t memory_bytes() const override {
    return slots_.memory_bytes() + final_.memory_bytes() + state_.memory_bytes() +
           active_rows_.memory_bytes() + active_slots_.memory_bytes() + candidates_.memory_bytes() +
           touched_.memory_bytes() + stopped_.memory_bytes() + masks_.capacity() * sizeof(Row) +
           masks_set_.capacity() * sizeof(MaskId) + leads_few_.capacity() * sizeof(SlotId) +
           leading_.memory_bytes() + led_once_.memory_bytes() + starts_.memory_bytes() +
           scratch_.memory_bytes() + recent_.memory_bytes();
  }

 private:
  struct SlotRows {
    Row full;
    Row next;
  };

  template <typename Visit>
  static void for_each_lane(const Row& row, Visit&& visit) {
    for (int w = 0; w < kWords; ++w)
      for (std::uint64_t word = row.words()[w]; word != 0; word &= word - 1)
        visit(static_cast<std::uint32_t>(w * 64 + std::countr_zero(word)));
  }

  // Leaves in `full` what `layer` does not have, and notes where that is nothing.
  void take_away(const PackedRows& layer) {
    for (PackedRows::Cursor cursor(layer, kWords); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      Row& full = slots_[slot].full;
      Row row;
      cursor.read(row.words());
      full = full - row;
      if (full.is_empty()) state_[slot] |= kEmptied;
    }
  }

  void forget() {
    for (const SlotId slot : touched_) state_[slot] = 0;
    for (const SlotId slot : leads_few_) state_[slot] = 0;
    leads_few_.clear();
    touched_.clear();
    stopped_.clear();
    for (const MaskId mask : masks_set_) masks_[mask] = Row();
    masks_set_.clear();
  }

  void grow(std::uint32_t slots) {
    slots_.extend(slots);
    state_.extend(slots);
    candidates_.room(slots);
    touched_.room(slots);
    if (!final_.is_empty()) final_.extend(slots);
  }

  void touch(SlotId slot) {
    if ((state_[slot] & kTouched) != 0) return;
    state_[slot] |= kTouched;
    touched_.push_back(slot);
  }

  void add_delta(SlotId slot, const Row& row) {
    touch(slot);
    slots_[slot].full |= row;
    arrive(slot, row);
  }

  // Branch-free: whether a slot was reached before in this step is a coin toss for the predictor.
  // `next` is zero while nothing has arrived.
  void arrive(SlotId slot, const Row& row) {
    const std::uint8_t state = state_[slot];
    state_[slot] = state | kQueued;
    const std::size_t size = candidates_.size();
    candidates_[size] = slot;
    candidates_.set_size(size + 1 - (state & kQueued));
    slots_[slot].next |= row;
  }

  void add_final(SlotId slot, const Row& row) {
    final_.extend(slots_.size());
    stopped_.room(slots_.size());
    if ((state_[slot] & kStopped) == 0) {
      state_[slot] |= kStopped;
      stopped_.push_back(slot);
    }
    final_[slot] |= row;
  }

  // Ascending; by a scan of the states where that is cheaper than sorting.
  void sort_slots(RawList<SlotId>& slots, std::uint8_t bit) {
    if (slots.size() * 16 < state_.size()) {
      std::sort(slots.begin(), slots.end());
      return;
    }
    std::size_t found = 0;
    for (SlotId slot = 0; slot < state_.size(); ++slot) {
      slots[found] = slot;
      found += (state_[slot] & bit) != 0 ? 1 : 0;
    }
  }

  Status expand_met(const SlotGraph& graph, const ExpandMet& expand) {
    if (graph.is_closed()) return Status::ok();
    std::vector<SlotId> met;
    for (const SlotId slot : active_slots_)
      if (!graph.is_expanded(slot)) met.push_back(slot);
    if (met.empty()) return Status::ok();
    STRATALOG_RETURN_IF_ERROR(expand(met));
    grow(graph.slots());
    return Status::ok();
  }

  // Before the first round: a follower that has what its leader has not, or not yet passed on.
  void find_own_ways(const SlotGraph& graph) {
    const SlotId* leaders = graph.leaders();
    for (const SlotId slot : touched_) {
      const SlotId leader = leaders[slot];
      if (leader == SlotGraph::kNoLeader) continue;
      const Row passed = slots_[leader].full - slots_[leader].next;
      if ((slots_[slot].full - passed).is_empty()) continue;
      state_[slot] |= kOwnWay;
      if ((state_[leader] & kLeadsFew) == 0) leads_few_.push_back(leader);
      state_[leader] |= kLeadsFew;
    }
  }

  // What goes from a slot to its followers in this step, as far as they have no way of their own.
  void lead(const SlotGraph& graph, SlotId slot, const Row& row, const Row& stopping) {
    const std::uint32_t begin = graph.first_followers()[slot];
    const std::uint32_t end = graph.extents()[slot].end;
    const SlotId* targets = graph.targets();
    std::uint32_t led = end - begin;
    if ((state_[slot] & kLeadsFew) != 0)
      for (std::uint32_t e = begin; e != end; ++e)
        if ((state_[targets[e]] & kOwnWay) != 0) {
          arrive(targets[e], row);
          --led;
        }
    if (counts_lanes_ && led == 1)
      led_once_.push_back(row);
    else if (counts_lanes_)
      counter_.add_times(row, led);
    else
      led_tuples_ += std::uint64_t{led} * row.count();
    const Row last = row & stopping;
    if (last.is_empty()) return;
    for (std::uint32_t e = begin; e != end; ++e)
      if ((state_[targets[e]] & kOwnWay) == 0) add_final(targets[e], last);
  }

  // After the last round: followers get what their leaders passed on in any round.
  void follow(const SlotGraph& graph) {
    const SlotId* targets = graph.targets();
    for (std::size_t i = 0, count = touched_.size(); i < count; ++i) {
      const SlotId slot = touched_[i];
      const std::uint32_t begin = graph.first_followers()[slot];
      const std::uint32_t end = graph.extents()[slot].end;
      if (begin == end) continue;
      Row passed = slots_[slot].full;
      if ((state_[slot] & kStopped) != 0) passed = passed - final_[slot];
      if (passed.is_empty()) continue;
      for (std::uint32_t e = begin; e != end; ++e) {
        if ((state_[targets[e]] & kOwnWay) != 0) continue;
        touch(targets[e]);
        slots_[targets[e]].full |= passed;
      }
    }
  }

  // Moves every active row along the edges of its slot into `next` of the targets.
  template <EdgeKind kKind>
  void push_rows(const SlotGraph& graph, SweepTally& tally) {
    const SlotGraph::Extent* extents = graph.extents();
    const SlotId* targets = graph.targets();
    const std::uint32_t* codes = graph.masks();
    const std::uint32_t* first_followers = graph.first_followers();
    const std::size_t count = active_slots_.size();
    if (kKind == EdgeKind::kToFollowers) leading_.room(count);
    std::size_t leading = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) {
        const SlotId soon = active_slots_[i + kAhead];
        const std::uint32_t end =
            kKind == EdgeKind::kToFollowers ? first_followers[soon] : extents[soon].end;
        for (std::uint32_t e = extents[soon].begin; e != end; ++e)
          prefetch(&slots_[targets[e]].next);
      }
      const Row row = active_rows_[i];
      const SlotGraph::Extent extent = extents[active_slots_[i]];
      const std::uint32_t end =
          kKind == EdgeKind::kToFollowers ? first_followers[active_slots_[i]] : extent.end;
      if constexpr (kKind == EdgeKind::kToFollowers) {
        leading_[leading] = static_cast<std::uint32_t>(i);
        leading += end != extent.end ? 1 : 0;
      }
      tally.row_operations += end - extent.begin;
      tally.derivations += std::uint64_t{extent.end - extent.begin} * active_rows_[i].count();
      for (std::uint32_t e = extent.begin; e != end; ++e) {
        if (kKind != EdgeKind::kMasked || codes[e] == kNoMask) {
          arrive(targets[e], row);
          continue;
        }
        const Row& mask = masks_[codes[e] / 2];
        const bool drop = codes[e] % 2 == static_cast<std::uint32_t>(MaskSense::kDropMembers);
        const Row kept = drop ? row - mask : row & mask;
        if (!kept.is_empty()) arrive(targets[e], kept);
      }
    }
    if (kKind == EdgeKind::kToFollowers) leading_.set_size(leading);
  }

  // `stopping`: the lanes for which this is the last round.
  void push(const SlotGraph& graph, const Row& stopping, SweepTally& tally) {
    if (with_followers_) {
      push_rows<EdgeKind::kToFollowers>(graph, tally);
      for (const std::uint32_t i : leading_)
        lead(graph, active_slots_[i], active_rows_[i], stopping);
      counter_.add(led_once_.data(), led_once_.size());
      led_once_.clear();
    } else if (graph.masks() == nullptr) {
      push_rows<EdgeKind::kPlain>(graph, tally);
    } else {
      push_rows<EdgeKind::kMasked>(graph, tally);
    }
    active_slots_.clear();
    active_rows_.clear();
  }

  // Turns what arrived into new lanes: full |= new, and new becomes active. Branch-free.
  void admit() {
    const std::size_t count = candidates_.size();
    active_slots_.room(count);
    active_rows_.room(count);
    std::size_t active = 0;
    std::size_t touched = touched_.size();
    for (std::size_t i = 0; i < std::min(count, kAhead); ++i)
      prefetch(&slots_[candidates_[i]].full);
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) prefetch(&slots_[candidates_[i + kAhead]].full);
      const SlotId slot = candidates_[i];
      SlotRows& rows = slots_[slot];
      const Row fresh = rows.next - rows.full;
      rows.next = Row();
      rows.full |= fresh;
      const std::uint8_t state = state_[slot];
      state_[slot] = (state & ~kQueued) | kTouched;
      touched_[touched] = slot;
      touched += (state & kTouched) == 0 ? 1 : 0;
      active_slots_[active] = slot;
      active_rows_[active] = fresh;
      active += fresh.is_empty() ? 0 : 1;
    }
    candidates_.clear();
    touched_.set_size(touched);
    active_slots_.set_size(active);
    active_rows_.set_size(active);
  }

  // What is still active does not get its round: the delta.
  void keep_active() {
    for (std::size_t i = 0; i < active_slots_.size(); ++i)
      add_final(active_slots_[i], active_rows_[i]);
    active_slots_.clear();
    active_rows_.clear();
  }

  // Takes the lanes that stop now out of the active rows into the final delta.
  void peel(const Row& stopping) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active_slots_.size(); ++i) {
      const Row last = active_rows_[i] & stopping;
      const Row going = active_rows_[i] - stopping;
      if (!last.is_empty()) add_final(active_slots_[i], last);
      active_slots_[kept] = active_slots_[i];
      active_rows_[kept] = going;
      kept += going.is_empty() ? 0 : 1;
    }
    active_slots_.set_size(kept);
    active_rows_.set_size(kept);
  }

  // Empties `next` of the candidates, which hold the delta that was loaded; visit(slot, row).
  template <typename Visit>
  void take_delta(Visit&& visit) {
    for (const SlotId slot : candidates_) {
      const Row row = slots_[slot].next;
      slots_[slot].next = Row();
      state_[slot] &= static_cast<std::uint8_t>(~kQueued);
      visit(slot, row);
    }
    candidates_.clear();
  }

  void activate(SlotId slot, const Row& row) {
    active_slots_.push_back(slot);
    active_rows_.push_back(row);
  }

  Status pause(const SweepPlan& plan, const SweepTally& tally) {
    if (tally.row_operations - operations_at_pause_ < plan.pause_operations || !plan.pause)
      return Status::ok();
    operations_at_pause_ = tally.row_operations;
    return plan.pause();
  }

  Status run_in_step(const SlotGraph& graph, const SweepPlan& plan, const ExpandMet& expand,
                     SweepTally& tally) {
    take_delta([this](SlotId slot, const Row& row) { activate(slot, row); });
    for (std::uint64_t round = 0; round < plan.rounds && !active_slots_.is_empty(); ++round) {
      STRATALOG_RETURN_IF_ERROR(pause(plan, tally));
      STRATALOG_RETURN_IF_ERROR(expand_met(graph, expand));
      push(graph, round + 1 == plan.rounds ? Row::all() : Row(), tally);
      admit();
      std::uint64_t added = std::exchange(led_tuples_, 0);
      for (const Row& row : active_rows_) added += row.count();
      if (tally.new_rows.size() <= round) tally.new_rows.resize(round + 1, 0);
      tally.new_rows[round] += added;
    }
    keep_active();
    return Status::ok();
  }

  // The delta as a list of bits by lane, so that lanes can start one after the other.
  void wait_for_start(std::span<const std::uint32_t> delays) {
    starts_.plan(delays, [this](auto&& count) {
      for (const SlotId slot : candidates_) for_each_lane(slots_[slot].next, count);
    });
    take_delta([this](SlotId slot, const Row& row) {
      for_each_lane(row, [&](std::uint32_t offset) { starts_.put({slot, offset}); });
    });
  }

  // Activates the delta of the lanes whose delay is over.
  void start_lanes(std::uint64_t step) {
    while (starts_.is_due(step)) {
      const SlotId slot = starts_.next().slot;
      Row row;
      while (starts_.is_due(step) && starts_.next().slot == slot) row.set(starts_.take().offset);
      activate(slot, row);
    }
  }

  Status run_skewed(const SlotGraph& graph, const SweepPlan& plan, const ExpandMet& expand,
                    SweepTally& tally) {
    wait_for_start(plan.delays);
    const std::span<const LaneStarts::Start> lanes = starts_.lanes();
    const std::uint64_t rounds = std::min(plan.rounds, kNeverStops);
    std::size_t next_stop = 0;
    for (std::uint64_t step = 0;; ++step) {
      if (active_slots_.is_empty()) {  // step 0, or a gap before the next lanes
        if (starts_.at_end()) return Status::ok();
        step = starts_.next_step();
        start_lanes(step);
      }
      STRATALOG_RETURN_IF_ERROR(pause(plan, tally));
      STRATALOG_RETURN_IF_ERROR(expand_met(graph, expand));
      Row stopping;
      for (; next_stop < lanes.size() && lanes[next_stop].delay + rounds <= step + 1; ++next_stop)
        if (lanes[next_stop].delay + rounds == step + 1) stopping.set(lanes[next_stop].offset);
      push(graph, stopping, tally);
      admit();
      counter_.add(active_rows_.data(), active_rows_.size());
      const std::uint64_t now = step + 1;
      if (tally.new_rows.size() < now) tally.new_rows.resize(now, 0);
      counter_.drain(
          [&, last = tally.new_rows.data() + now - 1](std::uint32_t offset, std::uint64_t count) {
            last[-static_cast<std::ptrdiff_t>(plan.delays[offset])] += count;
          });
      if (!stopping.is_empty()) peel(stopping);
      start_lanes(now);
    }
  }

  RawList<SlotRows> slots_;
  RawList<Row> final_;
  RawList<std::uint8_t> state_;
  std::vector<Row> masks_;
  std::vector<MaskId> masks_set_;
  RawList<SlotId> active_slots_;
  RawList<Row> active_rows_;
  RawList<SlotId> candidates_;
  RawList<SlotId> touched_;
  RawList<SlotId> stopped_;
  LaneStarts starts_;
  std::uint64_t operations_at_pause_ = 0;
  bool with_followers_ = false;
  bool counts_lanes_ = false;  // what followers get counts by lane, or else all together
  std::uint64_t led_tuples_ = 0;
  std::vector<SlotId> leads_few_;
  RawList<Row> led_once_;
  RawList<std::uint32_t> leading_;  // of the active slots, those with followers
  LaneCounter<kWords> counter_;
  PackedRows scratch_;
  RecentRows recent_;  // of scratch_
};

}  // namespace

std::unique_ptr<BlockSweep> BlockSweep::make(RowWidth width) {
  switch (width) {
    case RowWidth::kWords1:
      return std::make_unique<BlockSweepOf<1>>();
    case RowWidth::kWords2:
      return std::make_unique<BlockSweepOf<2>>();
    case RowWidth::kWords4:
      return std::make_unique<BlockSweepOf<4>>();
    case RowWidth::kWords8:
      break;
  }
  return std::make_unique<BlockSweepOf<8>>();
}

}  // namespace stratalog
