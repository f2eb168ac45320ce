// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/slot_order.h"

#include <algorithm>
#include <span>

#include "model/radix_sort.h"

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

void begin_at_own_slots(const SlotGraph& graph, const OwnSlot& own_slot,
                        std::vector<PivotStart>& starts) {
  std::vector<SlotId> own(starts.size());
  std::size_t neighbours = 0;
  std::optional<SlotId> slot;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const PivotStart& start = starts[i];
    if (i == 0 || start.pivot != starts[i - 1].pivot) slot = own_slot(start.pivot);
    own[i] = slot.value_or(start.slot);
    if (!slot) continue;
    const SlotGraph::Extent out = graph.extents()[*slot];
    if (!out.is_expanded()) continue;
    const std::span targets(graph.targets() + out.begin, out.end - out.begin);
    if (std::ranges::find(targets, start.slot) != targets.end()) ++neighbours;
  }
  if (neighbours <= starts.size() / 2) return;
  for (std::size_t i = 0; i < starts.size(); ++i) starts[i].slot = own[i];
}

std::vector<Cell> order_pivots(std::vector<PivotStart> starts) {
  radix_sort(starts, [](const PivotStart& s) { return std::uint64_t{s.pivot} << 32U | s.slot; });
  const auto [rest, end] = std::ranges::unique(starts, {}, &PivotStart::pivot);
  starts.erase(rest, end);
  radix_sort(starts, [](const PivotStart& s) { return s.slot; });  // pivots of a slot still ascend
  std::vector<Cell> pivots;
  pivots.reserve(starts.size());
  for (const PivotStart& start : starts) pivots.push_back(start.pivot);
  return pivots;
}

}  // namespace stratalog
