// SPDX-License-Identifier: Apache-2.0
// ProofGraph: tuples and the rule instances that derive them, found little by little from a goal
// backwards, with the least height of a proof of each tuple within what is known: 0 for facts, else
// one more than the highest premise of the best instance. Heights follow each new instance at once
// (label correcting). Pure; local.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "datalog/program.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

using NodeId = std::uint32_t;
using InstanceId = std::uint32_t;

class ProofGraph {
 public:
  static constexpr std::uint32_t kUnproved = std::numeric_limits<std::uint32_t>::max();
  static constexpr InstanceId kNone = std::numeric_limits<InstanceId>::max();

  // The node of a tuple; new ones are unproved.
  NodeId node(RelationId relation, std::span<const Cell> tuple);
  std::size_t nodes() const { return nodes_.size(); }
  std::size_t instances() const { return instances_.size(); }

  RelationId relation(NodeId n) const { return nodes_[n].relation; }
  std::span<const Cell> tuple(NodeId n) const;
  std::uint32_t height(NodeId n) const { return nodes_[n].height; }
  // The instance of the lowest known proof; kNone for facts and what is unproved.
  InstanceId best(NodeId n) const { return nodes_[n].best; }
  bool has_instances(NodeId n) const { return nodes_[n].has_instances; }

  std::uint32_t rule(InstanceId i) const { return instances_[i].rule; }
  std::span<const NodeId> premises(InstanceId i) const;

  void mark_fact(NodeId n);
  // `rule` is the caller's number for it.
  void add_instance(NodeId head, std::uint32_t rule, std::span<const NodeId> premises);

 private:
  struct Node {
    RelationId relation = 0;
    std::uint32_t key = 0;
    std::uint32_t height = kUnproved;
    InstanceId best = kNone;
    bool has_instances = false;
    std::vector<InstanceId> used_by;
  };
  struct Instance {
    NodeId head = 0;
    std::uint32_t rule = 0;
    std::uint32_t begin = 0;  // in premises_
    std::uint32_t end = 0;
  };
  struct Keys {
    explicit Keys(std::uint32_t width) : map(width) {}
    PrefixMap map;
    std::vector<NodeId> nodes;  // by key
  };

  void lower(NodeId n, std::uint32_t height, InstanceId best);
  void settle();

  std::vector<Node> nodes_;
  std::vector<Instance> instances_;
  std::vector<NodeId> premises_;
  std::map<RelationId, Keys> keys_;
  // A heap, lowest first, so that a height seldom has to be corrected twice.
  std::vector<std::uint64_t> changed_;  // height << 32 | node
};

}  // namespace stratalog::datalog
