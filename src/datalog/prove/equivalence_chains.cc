// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/equivalence_chains.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace stratalog::datalog {

// The proved pairs of a class as the edges of a graph over its elements, lowest first, and of these
// a spanning forest, in which the highest pair between two elements is as low as it can be.
class EquivalenceChains::Connections {
 public:
  Connections(const ProofGraph& graph, const std::set<NodeId>& given) : graph_(graph) {
    for (const NodeId pair : given)
      if (graph.height(pair) != ProofGraph::kUnproved) pairs_.push_back(pair);
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [&](NodeId a, NodeId b) { return graph.height(a) < graph.height(b); });
    for (const NodeId pair : pairs_) link(pair);
  }

  // Looks from one element at all others.
  void stand_at(Cell from) {
    const auto at = elements_.find(from);
    if (at == elements_.end()) {
      from_.reset();
    } else if (from_ != at->second) {
      from_ = at->second;
      forest_ = reach(*from_, kNoElement, ProofGraph::kUnproved, Edges::kForest);
    }
  }

  // The highest pair of the lowest chain to `to`; nothing if there is no chain.
  std::optional<std::uint32_t> height_to(Cell to) const {
    const auto at = elements_.find(to);
    if (!from_ || at == elements_.end()) return std::nullopt;
    if (at->second == *from_) return graph_.height(edges_[*from_].front().pair);
    if (!forest_.seen[at->second]) return std::nullopt;
    return forest_.height[at->second];
  }

  // The pairs of a lowest chain, the shortest of them if the class is small. Requires that there is
  // one.
  std::vector<NodeId> chain_to(Cell to, std::uint32_t height) const {
    const ElementId last = elements_.at(to);
    if (last == *from_) return {edges_[*from_].front().pair};  // there and back again
    if (pairs_.size() > kShortestUpTo) return forest_.path_to(last);
    return reach(*from_, last, height, Edges::kAll).path_to(last);
  }

 private:
  using ElementId = std::uint32_t;
  static constexpr ElementId kNoElement = 0xFFFFFFFFU;
  static constexpr std::size_t kShortestUpTo = 5000;
  enum class Edges : std::uint8_t { kForest, kAll };
  struct Edge {
    ElementId to = 0;
    NodeId pair = 0;
    bool is_in_forest = false;
  };
  // What a breadth-first search has found; by element.
  struct Found {
    std::vector<char> seen;
    std::vector<std::uint32_t> height;  // of the highest pair on the way
    std::vector<NodeId> pair;  // the last one on the way
    std::vector<ElementId> before;
    ElementId from = 0;

    std::vector<NodeId> path_to(ElementId to) const {
      std::vector<NodeId> path;
      for (; to != from; to = before[to]) path.push_back(pair[to]);
      std::reverse(path.begin(), path.end());
      return path;
    }
  };

  ElementId element(Cell cell) {
    const auto [at, is_new] = elements_.try_emplace(cell, static_cast<ElementId>(edges_.size()));
    if (is_new) {
      edges_.emplace_back();
      parents_.push_back(at->second);
    }
    return at->second;
  }

  ElementId root(ElementId id) {
    while (parents_[id] != id) id = parents_[id] = parents_[parents_[id]];
    return id;
  }

  void link(NodeId pair) {
    const ElementId a = element(graph_.tuple(pair)[0]);
    const ElementId b = element(graph_.tuple(pair)[1]);
    const ElementId first = root(a);
    const ElementId second = root(b);
    edges_[a].push_back({.to = b, .pair = pair, .is_in_forest = first != second});
    if (a != b) edges_[b].push_back({.to = a, .pair = pair, .is_in_forest = first != second});
    parents_[first] = second;
  }

  Found reach(ElementId from, ElementId to, std::uint32_t height, Edges which) const {
    Found found{.seen = std::vector<char>(edges_.size(), 0),
                .height = std::vector<std::uint32_t>(edges_.size(), 0),
                .pair = std::vector<NodeId>(edges_.size(), 0),
                .before = std::vector<ElementId>(edges_.size(), 0),
                .from = from};
    std::vector<ElementId> queue{from};
    found.seen[from] = 1;
    for (std::size_t i = 0; i < queue.size() && (to == kNoElement || found.seen[to] == 0); ++i) {
      const ElementId at = queue[i];
      for (const Edge& edge : edges_[at]) {
        const std::uint32_t own = graph_.height(edge.pair);
        if (found.seen[edge.to] != 0 || own > height) continue;
        if (which == Edges::kForest && !edge.is_in_forest) continue;
        found.seen[edge.to] = 1;
        found.height[edge.to] = std::max(found.height[at], own);
        found.pair[edge.to] = edge.pair;
        found.before[edge.to] = at;
        queue.push_back(edge.to);
      }
    }
    return found;
  }

  const ProofGraph& graph_;
  std::vector<NodeId> pairs_;
  std::unordered_map<Cell, ElementId> elements_;
  std::vector<std::vector<Edge>> edges_;  // by element, lowest first
  std::vector<ElementId> parents_;
  std::optional<ElementId> from_;
  Found forest_;
};

bool EquivalenceChains::connect(const Class& of) {
  const bool is_settled = std::all_of(of.asked.begin(), of.asked.end(),
                                      [&](NodeId n) { return graph_->height(n) <= 1; });
  if (is_settled) return false;
  Connections connections(*graph_, of.given);
  bool changed = false;
  for (const NodeId asked : of.asked) {
    connections.stand_at(graph_->tuple(asked)[0]);
    const Cell to = graph_->tuple(asked)[1];
    const auto height = connections.height_to(to);
    if (!height || *height + 1 >= graph_->height(asked)) continue;
    graph_->add_instance(asked, kChain, connections.chain_to(to, *height));
    changed = true;
  }
  return changed;
}

void EquivalenceChains::connect() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [members, of] : classes_) changed |= connect(of);
  }
}

}  // namespace stratalog::datalog
