// SPDX-License-Identifier: Apache-2.0
// SlotGraph: the static graph over slots along which a recursion moves pivots, discovered as far as
// it is needed: a slot's edges are asked of the caller once, in batches, and kept. An edge may
// carry a mask, a static set of pivots that the edge lets through (or holds back). Does not know
// lanes or rows. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/pivot/pivot_space.h"

namespace stratalog {

enum class MaskSense : std::uint8_t { kKeepMembers = 0, kDropMembers = 1 };

// Mask id and sense of an edge in one number.
inline constexpr std::uint32_t kNoMask = 0xFFFFFFFFU;
constexpr std::uint32_t mask_code(MaskId mask, MaskSense sense) {
  return mask * 2 + static_cast<std::uint32_t>(sense);
}

// Takes the edges of one batch of slots, in any order; duplicates are dropped.
class EdgeSink {
 public:
  // `source` is the index of the slot in the batch.
  void add(std::uint32_t source, SlotId target) { edges_.push_back({source, target, kNoMask}); }
  void add(std::uint32_t source, SlotId target, MaskId mask, MaskSense sense) {
    edges_.push_back({source, target, mask_code(mask, sense)});
  }

 private:
  friend class SlotGraph;
  struct Edge {
    std::uint32_t source;
    SlotId target;
    std::uint32_t mask;
  };
  std::vector<Edge> edges_;
};

// Appends the edges of every slot of the batch. Called at most once for a slot. Targets are dense:
// the graph has as many slots as the largest one named needs. Mask ids are dense, too, below 2^30.
using ExpandSlots = std::function<Status(std::span<const SlotId> batch, EdgeSink& sink)>;

// The edges into each slot: sources[begin[s] .. begin[s + 1]).
struct ReverseEdges {
  std::vector<std::uint32_t> begin;
  std::vector<SlotId> sources;
};

class SlotGraph {
 public:
  struct Extent {
    std::uint32_t begin = kUnexpanded;
    std::uint32_t end = kUnexpanded;
    bool is_expanded() const { return begin != kUnexpanded; }
  };
  static constexpr std::uint32_t kUnexpanded = 0xFFFFFFFFU;

  explicit SlotGraph(ExpandSlots expand) : expand_(std::move(expand)) {}

  std::uint32_t slots() const { return static_cast<std::uint32_t>(extents_.size()); }
  void reserve_slot(SlotId slot) {
    if (slot >= extents_.size()) extents_.resize(static_cast<std::size_t>(slot) + 1);
  }
  bool is_expanded(SlotId slot) const { return extents_[slot].is_expanded(); }

  // Expands the slots of `batch` that are not yet; reorders the batch. NotSupported above 2^32 - 2
  // edges.
  Status expand(std::vector<SlotId>& batch);
  // Expands what up to `depth` steps from `starts` reach, layer by layer, so that the sweep seldom
  // has to stop for it. Edges that let through the members of a mask only, and edges that hold them
  // back once there were many, are left to the sweep: they may hide an endless part of the graph.
  // `before_batch` may end it early with an error.
  Status discover(const std::vector<SlotId>& starts, std::uint64_t depth,
                  const std::function<Status()>& before_batch);

  // Slot s becomes number[s], a permutation of all slots.
  void renumber(std::span<const SlotId> number);

  // Looks for followers: slots without edges that one edge of another slot, their leader, leads to.
  // What reaches the leader reaches them a round later, and nothing else but seeds does. Where they
  // are few, there are none. Only where all slots are expanded; expanding more forgets them.
  void find_followers();
  bool has_followers() const { return !leaders_.empty(); }
  // By slot; kNoLeader where it is no follower.
  const SlotId* leaders() const { return leaders_.data(); }
  // By slot: where in its extent the edges to its followers begin, which stand last.
  const std::uint32_t* first_followers() const { return first_followers_.data(); }
  static constexpr SlotId kNoLeader = 0xFFFFFFFFU;

  const Extent* extents() const { return extents_.data(); }
  const SlotId* targets() const { return targets_.data(); }
  // Parallel to targets(); null while no edge has a mask.
  const std::uint32_t* masks() const { return masks_.empty() ? nullptr : masks_.data(); }
  std::uint64_t edges() const { return targets_.size(); }
  ReverseEdges reverse_edges() const;
  // Whether every slot that an edge or a seed names has been expanded.
  bool is_closed() const { return expanded_ == extents_.size(); }
  // Masks named for the first time since the last call.
  std::vector<MaskId> take_new_masks();
  std::uint32_t mask_count() const { return static_cast<std::uint32_t>(mask_seen_.size()); }
  std::uint64_t memory_bytes() const;

 private:
  Status append(std::span<const SlotId> batch, std::vector<EdgeSink::Edge>& edges);
  void note_mask(std::uint32_t code);
  void forget_followers();
  bool is_followed(std::uint32_t edge, std::uint64_t& most_beyond_masks) const;

  ExpandSlots expand_;
  std::vector<Extent> extents_;
  std::vector<SlotId> targets_;
  std::vector<std::uint32_t> masks_;
  std::vector<std::uint8_t> mask_seen_;
  std::vector<MaskId> new_masks_;
  std::vector<SlotId> leaders_;
  std::vector<std::uint32_t> first_followers_;
  std::uint64_t expanded_ = 0;
};

}  // namespace stratalog
