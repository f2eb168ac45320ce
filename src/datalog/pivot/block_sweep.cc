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

namespace stratalog {
namespace {

constexpr std::uint8_t kQueued = 1;  // `next` holds something, the slot is in candidates_
constexpr std::uint8_t kTouched = 2;  // `full` holds something, the slot is in touched_
constexpr std::uint8_t kStopped = 4;  // `final_` holds something, the slot is in stopped_

constexpr std::uint64_t kNeverStops = std::uint64_t{1} << 62;

enum class Masking : std::uint8_t { kOff, kOn };

template <int kWords>
class BlockSweepOf final : public BlockSweep {
 public:
  using Row = LaneRow<kWords>;
  static constexpr std::uint32_t kLanes = 64 * kWords;

  void load(const PackedRows& total, const PackedRows& delta, std::uint32_t slots) override {
    grow(slots);
    for (PackedRows::Cursor cursor(total, kWords); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      touch(slot);
      cursor.unite(slots_[slot].full.words);
    }
    for (PackedRows::Cursor cursor(delta, kWords); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      Row row;
      cursor.read(row.words);
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
    return skewed ? run_skewed(graph, plan, expand, tally)
                  : run_in_step(graph, plan.rounds, expand, tally);
  }

  void store(PackedRows& total, PackedRows& delta) override {
    // What is still active did not get its round: the delta.
    for (std::size_t i = 0; i < active_slots_.size(); ++i)
      add_final(active_slots_[i], active_rows_[i]);
    active_slots_.clear();
    active_rows_.clear();
    for (const SlotId slot : candidates_) {  // loaded, but not run
      add_final(slot, slots_[slot].next);
      state_[slot] &= static_cast<std::uint8_t>(~kQueued);
    }
    candidates_.clear();
    sort_slots(touched_, kTouched);
    scratch_.clear();
    for (const SlotId slot : touched_) {
      scratch_.append(slot, slots_[slot].full.words, kWords);
      slots_[slot].full = {};
    }
    total = scratch_;  // a copy, so that what rests has no spare capacity
    sort_slots(stopped_, kStopped);
    scratch_.clear();
    for (const SlotId slot : stopped_) {
      scratch_.append(slot, final_[slot].words, kWords);
      final_[slot] = {};
    }
    delta = scratch_;
    forget();
  }

  void discard() override {
    for (const SlotId slot : touched_) slots_[slot].full = {};
    for (const SlotId slot : stopped_) final_[slot] = {};
    for (const SlotId slot : candidates_) state_[slot] = 0;
    active_slots_.clear();
    active_rows_.clear();
    candidates_.clear();
    counter_ = {};
    forget();
  }

  std::uint64_t memory_bytes() const override {
    return slots_.capacity() * sizeof(SlotRows) + final_.capacity() * sizeof(Row) +
           state_.capacity() + masks_.capacity() * sizeof(Row) +
           active_rows_.capacity() * sizeof(Row) +
           (active_slots_.capacity() + candidates_.capacity() + touched_.capacity() +
            stopped_.capacity() + masks_set_.capacity()) *
               sizeof(std::uint32_t) +
           starts_.capacity() * sizeof(SlotBit) + scratch_.memory_bytes();
  }

 private:
  struct SlotRows {
    Row full;
    Row next;
  };

  template <typename Visit>
  static void for_each_lane(const Row& row, Visit&& visit) {
    for (int w = 0; w < kWords; ++w)
      for (std::uint64_t word = row.words[w]; word != 0; word &= word - 1)
        visit(static_cast<std::uint32_t>(w * 64 + std::countr_zero(word)));
  }

  void forget() {
    for (const SlotId slot : touched_) state_[slot] = 0;
    touched_.clear();
    stopped_.clear();
    for (const MaskId mask : masks_set_) masks_[mask] = {};
    masks_set_.clear();
  }

  void grow(std::uint32_t slots) {
    if (slots <= slots_.size()) return;
    slots_.resize(slots);
    state_.resize(slots, 0);
    if (!final_.empty()) final_.resize(slots);
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

  void arrive(SlotId slot, const Row& row) {
    if ((state_[slot] & kQueued) == 0) {
      state_[slot] |= kQueued;
      candidates_.push_back(slot);
      slots_[slot].next = row;
    } else {
      slots_[slot].next |= row;
    }
  }

  void add_final(SlotId slot, const Row& row) {
    if (final_.size() < slots_.size()) final_.resize(slots_.size());
    if ((state_[slot] & kStopped) == 0) {
      state_[slot] |= kStopped;
      stopped_.push_back(slot);
    }
    final_[slot] |= row;
  }

  // Ascending; by a scan of the states where that is cheaper than sorting.
  void sort_slots(std::vector<SlotId>& slots, std::uint8_t bit) {
    if (slots.size() * 16 < state_.size()) {
      std::sort(slots.begin(), slots.end());
      return;
    }
    slots.clear();
    for (SlotId slot = 0; slot < state_.size(); ++slot)
      if ((state_[slot] & bit) != 0) slots.push_back(slot);
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
    for (std::size_t i = 0; i < active_slots_.size(); ++i) {
      const Row row = active_rows_[i];
      const SlotGraph::Extent extent = extents[active_slots_[i]];
      const std::uint32_t edges = extent.end - extent.begin;
      tally.row_operations += edges;
      tally.derivations += std::uint64_t{edges} * row.count();
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

  // Turns what arrived into new lanes: full |= new, and new becomes active. Calls count(new row).
  template <typename Count>
  void admit(Count&& count) {
    for (const SlotId slot : candidates_) {
      SlotRows& rows = slots_[slot];
      state_[slot] &= static_cast<std::uint8_t>(~kQueued);
      const Row fresh = rows.next - rows.full;
      if (fresh.is_empty()) continue;
      touch(slot);
      rows.full |= fresh;
      count(slot, fresh);
    }
    candidates_.clear();
  }

  void activate(SlotId slot, const Row& row) {
    active_slots_.push_back(slot);
    active_rows_.push_back(row);
  }

  Status run_in_step(const SlotGraph& graph, std::uint64_t rounds, const ExpandMet& expand,
                     SweepTally& tally) {
    for (const SlotId slot : candidates_) {
      state_[slot] &= static_cast<std::uint8_t>(~kQueued);
      activate(slot, slots_[slot].next);
    }
    candidates_.clear();
    for (std::uint64_t round = 0; round < rounds && !active_slots_.empty(); ++round) {
      STRATALOG_RETURN_IF_ERROR(expand_met(graph, expand));
      push(graph, tally);
      std::uint64_t added = 0;
      admit([&](SlotId slot, const Row& fresh) {
        added += fresh.count();
        activate(slot, fresh);
      });
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
    for (const SlotId slot : candidates_) {
      state_[slot] &= static_cast<std::uint8_t>(~kQueued);
      for_each_lane(slots_[slot].next, [&](std::uint32_t offset) {
        starts_[place[bucket_of[offset]]++] = {slot, offset};
      });
    }
    candidates_.clear();
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
      if (active_slots_.empty()) {  // step 0, or a gap before the next lanes
        if (next_start == starts_.size()) return Status::ok();
        step = plan.delays[starts_[next_start].offset];
        start_lanes(plan.delays, step, next_start);
      }
      STRATALOG_RETURN_IF_ERROR(expand_met(graph, expand));
      push(graph, tally);
      Row stopping;
      for (; next_stop < lanes.size() && lanes[next_stop].delay + rounds <= step + 1; ++next_stop)
        if (lanes[next_stop].delay + rounds == step + 1) stopping.set(lanes[next_stop].offset);
      admit_skewed(stopping);
      const std::uint64_t now = step + 1;
      counter_.drain([&](std::uint32_t offset, std::uint64_t count) {
        const std::uint64_t round = now - plan.delays[offset] - 1;
        if (tally.new_rows.size() <= round) tally.new_rows.resize(round + 1, 0);
        tally.new_rows[round] += count;
      });
      start_lanes(plan.delays, now, next_start);
    }
  }

  void admit_skewed(const Row& stopping) {
    if (stopping.is_empty()) {
      admit([&](SlotId slot, const Row& fresh) {
        counter_.add(fresh);
        activate(slot, fresh);
      });
      return;
    }
    admit([&](SlotId slot, const Row& fresh) {
      counter_.add(fresh);
      const Row last = fresh & stopping;
      if (!last.is_empty()) add_final(slot, last);
      const Row going = fresh - stopping;
      if (!going.is_empty()) activate(slot, going);
    });
  }

  std::vector<SlotRows> slots_;
  std::vector<Row> final_;
  std::vector<std::uint8_t> state_;
  std::vector<Row> masks_;
  std::vector<MaskId> masks_set_;
  std::vector<SlotId> active_slots_;
  std::vector<Row> active_rows_;
  std::vector<SlotId> candidates_;
  std::vector<SlotId> touched_;
  std::vector<SlotId> stopped_;
  std::vector<SlotBit> starts_;
  LaneCounter<kWords> counter_;
  PackedRows scratch_;
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
