// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/proof_graph.h"

#include <algorithm>
#include <functional>

namespace stratalog::datalog {

NodeId ProofGraph::node(RelationId relation, std::span<const Cell> tuple) {
  // A map of width 0 has nothing to compare; a relation without columns has one tuple.
  const auto width = static_cast<std::uint32_t>(std::max<std::size_t>(1, tuple.size()));
  Keys& keys = keys_.try_emplace(relation, width).first->second;
  constexpr Cell kNothing = 0;
  const std::uint32_t key = keys.map.find_or_add(tuple.empty() ? &kNothing : tuple.data());
  if (key == keys.nodes.size()) {
    keys.nodes.push_back(static_cast<NodeId>(nodes_.size()));
    nodes_.emplace_back();
    nodes_.back().relation = relation;
    nodes_.back().key = key;
  }
  return keys.nodes[key];
}

std::span<const Cell> ProofGraph::tuple(NodeId n) const {
  return keys_.at(nodes_[n].relation).map.key(nodes_[n].key);
}

std::span<const NodeId> ProofGraph::premises(InstanceId i) const {
  const Instance& instance = instances_[i];
  return std::span(premises_).subspan(instance.begin, instance.end - instance.begin);
}

void ProofGraph::mark_fact(NodeId n) {
  lower(n, 0, kNone);
  settle();
}

void ProofGraph::add_instance(NodeId head, std::uint32_t rule, std::span<const NodeId> premises) {
  const auto id = static_cast<InstanceId>(instances_.size());
  const auto begin = static_cast<std::uint32_t>(premises_.size());
  premises_.insert(premises_.end(), premises.begin(), premises.end());
  instances_.push_back({.head = head,
                        .rule = rule,
                        .begin = begin,
                        .end = static_cast<std::uint32_t>(premises_.size())});
  nodes_[head].has_instances = true;
  std::uint32_t height = 0;
  for (const NodeId premise : premises) {
    nodes_[premise].used_by.push_back(id);
    height = std::max(height, nodes_[premise].height);
  }
  if (height != kUnproved) lower(head, height + 1, id);
  settle();
}

void ProofGraph::lower(NodeId n, std::uint32_t height, InstanceId best) {
  if (height >= nodes_[n].height) return;
  nodes_[n].height = height;
  nodes_[n].best = best;
  changed_.push_back((std::uint64_t{height} << 32U) | n);
  std::push_heap(changed_.begin(), changed_.end(), std::greater<>());
}

void ProofGraph::settle() {
  while (!changed_.empty()) {
    std::pop_heap(changed_.begin(), changed_.end(), std::greater<>());
    const auto n = static_cast<NodeId>(changed_.back());
    changed_.pop_back();
    for (const InstanceId i : nodes_[n].used_by) {
      std::uint32_t height = 0;
      for (const NodeId premise : premises(i)) height = std::max(height, nodes_[premise].height);
      if (height != kUnproved) lower(instances_[i].head, height + 1, i);
    }
  }
}

}  // namespace stratalog::datalog
