// SPDX-License-Identifier: Apache-2.0
// Landmarks: what the search for delays (round_skew.h) knows of a slot graph: its edges in reverse,
// a potential of its slots, and the landmarks that served blocks before. Threads that sweep one
// graph have it in common: what one finds out, the others need not look for. Then delays depend on
// who came first; results never depend on delays. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "datalog/pivot/slot_graph.h"

namespace stratalog {

// Rounds from each slot to a landmark; kNoWay where there is none.
using LandmarkDistances = std::vector<std::uint16_t>;
inline constexpr std::uint16_t kNoWay = 0xFFFF;
// What a first search may cost before any sweep has paid for it, in visits for each edge.
inline constexpr std::uint64_t kVisitsPerEdge = 32;

class Landmarks {
 public:
  struct Sides {
    std::uint64_t edges = 0;
    ReverseEdges reverse;
    // Rises by one along each edge of a spanning forest of the graph without directions.
    std::vector<std::int32_t> potential;
  };
  using Kept = std::vector<std::shared_ptr<const LandmarkDistances>>;

  // Of the graph as far as it is expanded. Found anew, and landmarks forgotten, where much has been
  // expanded since the last call.
  std::shared_ptr<const Sides> sides_of(const SlotGraph& graph);
  // For one more block.
  Kept kept();
  void note_use(const LandmarkDistances& landmark);
  // For the blocks to come, in place of the landmark that has been of no use the longest.
  void keep(LandmarkDistances distances);

  // The search may cost a fraction of the sweeps: row operations allow for visits of slots.
  bool may_search() const;
  void note_work(std::uint64_t row_operations);
  // Returns the visits that were not allowed for.
  std::uint64_t note_search(std::uint64_t visits);

  std::uint64_t memory_bytes() const;

 private:
  struct Landmark {
    std::shared_ptr<const LandmarkDistances> distances;
    std::uint64_t last_used = 0;
  };

  mutable std::mutex mutex_;
  std::shared_ptr<const Sides> sides_;
  std::vector<Landmark> landmarks_;
  std::uint64_t clock_ = 0;
  std::uint64_t allowance_ = 0;
};

}  // namespace stratalog
