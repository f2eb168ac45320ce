// SPDX-License-Identifier: Apache-2.0
// ProofWriter: the lowest proof in a graph as nodes with texts. What a rule asks besides its
// premises is written with the values that the rule computes on the way: for these, each rule is
// asked once more for the tuples that the proof derives by it. Local; one rank.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/prove/proof_graph.h"
#include "datalog/prove/proof_leaves.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"

namespace stratalog::datalog {

class ProofWriter {
 public:
  // All outlive the object. `bounds`: nodes that are leaves because nothing else gives their
  // values.
  ProofWriter(const Program& program, StoredQuery& query, const ProofGraph& graph,
              const ProofLeaves& leaves, const std::set<NodeId>& bounds)
      : program_(program),
        query_(query),
        graph_(graph),
        leaves_(leaves),
        bounds_(bounds),
        text_(program, query.values()) {}

  // `root` has a proof. Called once.
  Result<Proof> write(NodeId root);

 private:
  Status find_conditions(std::span<const NodeId> nodes);
  Status ask_again(std::size_t query, std::span<const NodeId> nodes);
  std::vector<std::uint32_t> conditions_of(const OpenRule& open) const;
  ProofNode describe(NodeId n) const;
  ProofNode describe_leaf(NodeId n) const;
  ProofNode describe_derived(NodeId n, std::size_t query) const;
  RuleMention declaration_that(RelationId relation, const char* says) const;
  void add_choice(RelationId relation, ProofNode& entry) const;

  const Program& program_;
  StoredQuery& query_;
  const ProofGraph& graph_;
  const ProofLeaves& leaves_;
  const std::set<NodeId>& bounds_;
  TupleText text_;
  std::map<NodeId, std::vector<std::string>> conditions_;
};

}  // namespace stratalog::datalog
