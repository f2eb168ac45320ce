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
#include "datalog/pivot/raw_list.h"

namespace stratalog {
namespace {

constexpr std::uint8_t kQueued = 1;  // `next` holds something, the slot is in candidates_
constexpr std::uint8_t kTouched = 2;  // `full` holds something, the slot is in touched_
constexpr std::uint8_t kStopped = 4;  // `final_` holds something, the slot is in stopped_
constexpr std::uint8_t kEmptied = 8;  // `full` held only what the layers below have, while storing

constexpr std::uint64_t kNeverStops = std::uint64_t{1} << 62;

// How many entries of a list the prefetches run ahead.
constexpr std::size_t kAhead = 6;

template <typename T>
void prefetch(const T* address) {
  __builtin_prefetch(address, 1);
}

enum class Masking : std::uint8_t { kOff, kOn };

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
    return skewed ? run_skewed(graph, plan, expand, tally)
                  : run_in_step(graph, plan, expand, tally);
  }

  void store(std::span<const RowLayer> known, PackedRows& fresh, PackedRows& delta) override {
    // What is still active did not get its round: the delta.
    for (std::size_t i = 0; i < active_slots_.size(); ++i)
      add_final(active_slots_[i], active_rows_[i]);
    active_slots_.clear();
    active_rows_.clear();
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
           masks_set_.capacity() * sizeof(MaskId) + starts_.capacity() * sizeof(SlotBit) +
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

  // Moves every active row along the edges of its slot into `next` of the targets.
  template <Masking kMasking>
  void push_rows(const SlotGraph& graph, SweepTally& tally) {
    const SlotGraph::Extent* extents = graph.extents();
    const SlotId* targets = graph.targets();
    const std::uint32_t* codes = graph.masks();
    const std::size_t count = active_slots_.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) {
        const SlotGraph::Extent soon = extents[active_slots_[i + kAhead]];
        for (std::uint32_t e = soon.begin; e != soon.end; ++e) prefetch(&slots_[targets[e]].next);
      }
      const Row row = active_rows_[i];
      const SlotGraph::Extent extent = extents[active_slots_[i]];
      tally.row_operations += extent.end - extent.begin;
      tally.derivations += std::uint64_t{extent.end - extent.begin} * active_rows_[i].count();
      for (std::uint32_t e = extent.begin; e != extent.end; ++e) {
        if (kMasking == Masking::kOff || codes[e] == kNoMask) {
          arrive(targets[e], row);
          continue;
        }
        const Row& mask = masks_[codes[e] / 2];
        const bool drop = codes[e] % 2 == static_cast<std::uint32_t>(MaskSense::kDropMembers);
        const Row kept = drop ? row - mask : row & mask;
        if (!kept.is_empty()) arrive(targets[e], kept);
      }
    }
    active_slots_.clear();
    active_rows_.clear();
  }

  void push(const SlotGraph& graph, SweepTally& tally) {
    if (graph.masks() == nullptr)
      push_rows<Masking::kOff>(graph, tally);
    else
      push_rows<Masking::kOn>(graph, tally);
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
      push(graph, tally);
      admit();
      std::uint64_t added = 0;
      for (const Row& row : active_rows_) added += row.count();
      if (tally.new_rows.size() <= round) tally.new_rows.resize(round + 1, 0);
      tally.new_rows[round] += added;
    }
    return Status::ok();
  }

  // The lanes in order of their delay, and the delta as a list of bits in that order, by slot
  // within one delay.
  struct Start {
    std::uint32_t delay;
    std::uint32_t offset;
  };

  std::vector<Start> plan_starts(std::span<const std::uint32_t> delays) {
    std::uint32_t bits[kLanes + 1] = {};
    for (const SlotId slot : candidates_)
      for_each_lane(slots_[slot].next, [&](std::uint32_t offset) { ++bits[offset]; });
    std::vector<Start> lanes;
    for (std::uint32_t offset = 0; offset < kLanes; ++offset)
      if (bits[offset] != 0) lanes.push_back({delays[offset], offset});
    std::sort(lanes.begin(), lanes.end(), [](const Start& a, const Start& b) {
      return a.delay != b.delay ? a.delay < b.delay : a.offset < b.offset;
    });
    // Lanes of one delay share a bucket; place[] of each lane is its bucket's write position.
    std::uint64_t place[kLanes] = {};
    std::uint32_t bucket_of[kLanes] = {};
    std::uint32_t buckets = 0;
    std::uint64_t position = 0;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (i == 0 || lanes[i].delay != lanes[i - 1].delay) place[buckets++] = position;
      bucket_of[lanes[i].offset] = buckets - 1;
      position += bits[lanes[i].offset];
    }
    starts_.resize(position);
    take_delta([&](SlotId slot, const Row& row) {
      for_each_lane(
          row, [&](std::uint32_t offset) { starts_[place[bucket_of[offset]]++] = {slot, offset}; });
    });
    return lanes;
  }

  // Activates the delta of the lanes whose delay is over.
  void start_lanes(std::span<const std::uint32_t> delays, std::uint64_t step, std::size_t& at) {
    while (at < starts_.size() && delays[starts_[at].offset] == step) {
      const SlotId slot = starts_[at].slot;
      Row row;
      for (; at < starts_.size() && starts_[at].slot == slot && delays[starts_[at].offset] == step;
           ++at)
        row.set(starts_[at].offset);
      activate(slot, row);
    }
  }

  Status run_skewed(const SlotGraph& graph, const SweepPlan& plan, const ExpandMet& expand,
                    SweepTally& tally) {
    const std::vector<Start> lanes = plan_starts(plan.delays);
    const std::uint64_t rounds = std::min(plan.rounds, kNeverStops);
    std::size_t next_start = 0;
    std::size_t next_stop = 0;
    for (std::uint64_t step = 0;; ++step) {
      if (active_slots_.is_empty()) {  // step 0, or a gap before the next lanes
        if (next_start == starts_.size()) return Status::ok();
        step = plan.delays[starts_[next_start].offset];
        start_lanes(plan.delays, step, next_start);
      }
      STRATALOG_RETURN_IF_ERROR(pause(plan, tally));
      STRATALOG_RETURN_IF_ERROR(expand_met(graph, expand));
      push(graph, tally);
      Row stopping;
      for (; next_stop < lanes.size() && lanes[next_stop].delay + rounds <= step + 1; ++next_stop)
        if (lanes[next_stop].delay + rounds == step + 1) stopping.set(lanes[next_stop].offset);
      admit();
      counter_.add(active_rows_.data(), active_rows_.size());
      const std::uint64_t now = step + 1;
      if (tally.new_rows.size() < now) tally.new_rows.resize(now, 0);
      counter_.drain(
          [&, last = tally.new_rows.data() + now - 1](std::uint32_t offset, std::uint64_t count) {
            last[-static_cast<std::ptrdiff_t>(plan.delays[offset])] += count;
          });
      if (!stopping.is_empty()) peel(stopping);
      start_lanes(plan.delays, now, next_start);
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
  std::vector<SlotBit> starts_;
  std::uint64_t operations_at_pause_ = 0;
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
