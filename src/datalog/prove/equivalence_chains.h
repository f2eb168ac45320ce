// SPDX-License-Identifier: Apache-2.0
// EquivalenceChains: why a pair of an equivalence relation is there: a chain of pairs that rules or
// facts give directly, each read in either direction, from its first element to its second. Works
// on a ProofGraph whose nodes are such pairs; adds an instance for each pair asked for whose lowest
// chain has become lower. Pure; local.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "datalog/prove/proof_graph.h"
#include "relation/int_set.h"

namespace stratalog::datalog {

class EquivalenceChains {
 public:
  // The number of the chains' instances in the graph, where rules have theirs.
  static constexpr std::uint32_t kChain = 0xFFFFFFFFU;

  // The graph outlives the object.
  explicit EquivalenceChains(ProofGraph& graph) : graph_(&graph) {}

  // A class is known by the address of its members. True the first time.
  bool open(const IntSet* members) { return classes_.try_emplace(members).second; }
  // A pair of an open class that is asked for; one that a rule or a fact gives.
  void ask(const IntSet* members, NodeId pair) { classes_[members].asked.push_back(pair); }
  void give(const IntSet* members, NodeId pair) { classes_[members].given.insert(pair); }

  // Adds instances until no height changes any more.
  void connect();

 private:
  struct Class {
    std::vector<NodeId> asked;
    std::set<NodeId> given;
  };
  class Connections;

  bool connect(const Class& of);

  ProofGraph* graph_;
  std::map<const IntSet*, Class> classes_;
};

}  // namespace stratalog::datalog
