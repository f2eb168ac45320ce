// SPDX-License-Identifier: Apache-2.0
// RoundSkew: chooses the delays with which the lanes of a block run their rounds (block_sweep.h),
// so that many lanes reach a slot in the same step. If lane l needs d(l, v) rounds to slot v, a row
// operation at v serves all lanes with the same d(l, v) + delay(l): on a chain delay(l) = l makes
// it one operation for the whole block. Candidates are a potential of the graph (up one along each
// edge of a spanning forest) and the distances to *landmarks*, slots on random walks from the
// block; the one that needs the fewest steps at the landmarks wins. Delays never change results, so
// all of this is a guess at speed only. Deterministic where its landmarks are its own; local.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "datalog/pivot/block_sweep.h"
#include "datalog/pivot/landmarks.h"
#include "datalog/pivot/slot_graph.h"

namespace stratalog {

class RoundSkew {
 public:
  // The landmarks may be shared with others that plan for the same graph.
  explicit RoundSkew(std::shared_ptr<Landmarks> landmarks = std::make_shared<Landmarks>())
      : landmarks_(std::move(landmarks)) {}

  // Delays by lane offset for a block of `lanes` lanes whose delta is (or contains) `delta`; empty
  // = no delay pays, or the block is too little work to search for some. Looks at the graph as far
  // as it is expanded.
  std::vector<std::uint32_t> plan(const SlotGraph& graph, std::span<const SlotBit> delta,
                                  std::uint32_t lanes, std::uint64_t seed);

  // Tells of row operations done, which the search for delays may cost a fraction of.
  void note_work(std::uint64_t row_operations) { landmarks_->note_work(row_operations); }

  // Without the landmarks.
  std::uint64_t memory_bytes() const;

 private:
  // The lanes that have a delta: slots of lane i are slots[first[i] .. first[i + 1]).
  struct Lanes {
    std::vector<std::uint32_t> offsets;
    std::vector<std::uint32_t> first;
    std::vector<SlotId> slots;
  };
  // Distance from each lane (by index) to one landmark.
  using LaneDistances = std::vector<std::uint16_t>;

  static bool is_little_work(const SlotGraph& graph, const Lanes& lanes);
  void refresh(const SlotGraph& graph);  // cheap if nothing was expanded since the last call
  static Lanes collect(std::span<const SlotBit> delta, std::uint32_t lanes);
  static LaneDistances distances_to(const LandmarkDistances& to_landmark, const Lanes& lanes);
  std::vector<LaneDistances> survey(const SlotGraph& graph, const Lanes& lanes, std::uint64_t seed);
  void measure(SlotId target);
  std::vector<std::int32_t> by_potential(const Lanes& lanes) const;
  std::uint64_t steps_needed(std::span<const std::int32_t> delays,
                             std::span<const LaneDistances> surveyed);
  std::vector<std::int32_t> vote(std::span<const std::int32_t> delays,
                                 std::span<const LaneDistances> surveyed);

  std::shared_ptr<Landmarks> landmarks_;
  std::shared_ptr<const Landmarks::Sides> sides_;
  std::vector<SlotId> queue_;
  LandmarkDistances distance_;
  std::vector<std::uint32_t> tally_;
  // Visits of slots for blocks that no landmark is known for, beyond what all are allowed: such a
  // block without delays can take longer than all others together.
  std::uint64_t reserve_ = 0;
};

}  // namespace stratalog
