// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/slot_order.h"

#include <algorithm>
#include <tuple>

namespace stratalog {
std::vector<SlotId> depth_first_order(const SlotGraph& graph) {
  const ReverseEdges reverse = graph.reverse_edges();
  struct Visit {
    SlotId slot;
    std::uint32_t next_out;
    std::uint32_t next_in;
  };
  std::vector<bool> seen(graph.slots(), false);
  std::vector<SlotId> order;
  order.reserve(graph.slots());
  std::vector<Visit> path;
  const auto enter = [&](SlotId slot) {
    if (seen[slot]) return;
    seen[slot] = true;
    order.push_back(slot);
    path.push_back({slot, graph.extents()[slot].begin, reverse.begin[slot]});
  };
  for (SlotId root = 0; root < graph.slots(); ++root) {
    enter(root);
    while (!path.empty()) {
      Visit& here = path.back();
      if (here.next_out != graph.extents()[here.slot].end)
        enter(graph.targets()[here.next_out++]);
      else if (here.next_in != reverse.begin[here.slot + 1])
        enter(reverse.sources[here.next_in++]);
      else
        path.pop_back();
    }
  }
  return order;
}

std::vector<Cell> order_pivots(std::vector<PivotStart> starts) {
  std::ranges::sort(starts, {}, [](const PivotStart& s) { return std::tuple(s.pivot, s.slot); });
  const auto [rest, end] = std::ranges::unique(starts, {}, &PivotStart::pivot);
  starts.erase(rest, end);
  std::ranges::sort(starts, {}, [](const PivotStart& s) { return std::tuple(s.slot, s.pivot); });
  std::vector<Cell> pivots;
  pivots.reserve(starts.size());
  for (const PivotStart& start : starts) pivots.push_back(start.pivot);
  return pivots;
}

}  // namespace stratalog
