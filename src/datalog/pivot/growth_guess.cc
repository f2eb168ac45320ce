// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/growth_guess.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

// Walks along loops have no end. A start that goes on for as long counts for as many tuples.
constexpr std::uint64_t kMostSteps = 64;
// Of first tuples so many are followed to all slots that they reach, until they have reached
// several times as many as there are.
constexpr std::size_t kMostFollowed = 256;
constexpr std::uint64_t kMostVisits = 8;

struct Walk {
  SlotId slot = 0;
  std::uint64_t number = 0;
  std::uint64_t ways = 1;  // that it stands for
};

// One step of every walk; those that cannot go on end.
void step_on(const SlotGraph& graph, std::uint64_t step, std::vector<Walk>& walks) {
  std::erase_if(walks, [&](const Walk& walk) {
    const SlotGraph::Extent& edges = graph.extents()[walk.slot];
    return edges.begin == edges.end;
  });
  for (Walk& walk : walks) {
    const SlotGraph::Extent& edges = graph.extents()[walk.slot];
    const std::uint64_t ways = edges.end - edges.begin;
    const std::uint64_t random = splitmix64((walk.number * kMostSteps) + step);
    walk.ways *= ways;
    walk.slot = graph.targets()[edges.begin + (random % ways)];
  }
}

}  // namespace

Result<GrowthGuess> guess_growth(SlotGraph& graph, std::span<const SlotId> starts,
                                 std::uint64_t enough) {
  GrowthGuess guess{.walks = starts.size()};
  std::vector<Walk> walks;
  for (const SlotId slot : starts) {
    graph.reserve_slot(slot);
    walks.push_back({.slot = slot, .number = walks.size()});
  }
  std::vector<SlotId> batch;
  for (std::uint64_t step = 0; step < kMostSteps && !walks.empty(); ++step) {
    batch.clear();
    for (const Walk& walk : walks) batch.push_back(walk.slot);
    STRATALOG_RETURN_IF_ERROR(graph.expand(batch));
    step_on(graph, step, walks);
    // No more than 2^32 ways each, and it ends before there could be more.
    for (const Walk& walk : walks) guess.derived += walk.ways;
    if (guess.derived >= enough) break;
  }
  return guess;
}

double guess_tuples_per_slot(const SlotGraph& graph, std::span<const SlotId> starts) {
  if (starts.empty() || graph.slots() == 0) return 0;
  const std::size_t apart = std::max<std::size_t>(1, starts.size() / kMostFollowed);
  const std::uint64_t most = kMostVisits * graph.slots();
  std::vector<std::uint32_t> reached_by(graph.slots(), 0);
  std::vector<SlotId> waiting;
  std::uint64_t reached = 0;
  std::uint32_t followed = 0;
  const auto reach = [&](SlotId slot) {
    if (std::exchange(reached_by[slot], followed) == followed) return;
    ++reached;
    waiting.push_back(slot);
  };
  for (std::size_t at = 0; at < starts.size() && reached < most; at += apart) {
    ++followed;
    reach(starts[at]);
    while (!waiting.empty()) {
      const SlotGraph::Extent& edges = graph.extents()[waiting.back()];
      waiting.pop_back();
      if (!edges.is_expanded()) continue;
      for (std::uint32_t e = edges.begin; e != edges.end; ++e) reach(graph.targets()[e]);
    }
  }
  const double each = static_cast<double>(reached) / followed;
  return each * static_cast<double>(starts.size()) / graph.slots();
}

}  // namespace stratalog
