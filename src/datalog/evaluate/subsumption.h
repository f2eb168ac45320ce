// SPDX-License-Identifier: Apache-2.0
// Subsumption: after each round, tuples that another tuple of their relation dominates, as the
// program's `dominated <= dominating :- body` rules say, leave the relation. As in Soufflé, first
// the round's new tuples are compared with all, old and new, and what is dominated was never there;
// then older tuples are compared with the new ones that stay. A tuple never dominates itself.
// Where only the best value of each key is kept (plan/best_value.h), home indices do that by
// themselves while they unite and advance; then what they have dropped leaves the other indices.
// Collective.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/rule_pass.h"

namespace stratalog::datalog {

class Subsumption {
 public:
  // The state outlives the object.
  Subsumption(EngineState& state, std::uint32_t stratum);

  bool is_needed() const { return !plan().reject.empty(); }
  // Makes the finished relations that the rules read available.
  Status ensure_relations();
  // After the relations that shrink have advanced: their delta is what the round found new, and it
  // is what the round really added afterwards. This rank's status, as RulePass::run().
  Status settle_round();
  // For the first round, before which the relations were empty.
  Status settle_seed();
  // Local, after the home shards have united and before they advance: which known tuples go.
  void note_beaten();
  // What note_beaten() has found on this rank, for relations with more than their home index.
  const std::map<RelationId, std::vector<Cell>>& beaten() const { return beaten_; }
  // After all indices have advanced. This rank's status, as RulePass::run().
  Status erase_beaten();
  // The shards of some relation of the stratum have changed places.
  void forget_bindings();

 private:
  const StratumPlan& plan() const { return state_.plan.strata[stratum_]; }
  // Dominated tuples that a pass looks for.
  enum class Whose : std::uint8_t { kNew, kOld };
  Status run(const std::vector<RulePlan>& rules, Whose whose, std::unique_ptr<RulePass>& pass);
  RulePass::RuleSink doom(const RulePlan& plan, Whose whose);
  Status erase_doomed();

  EngineState& state_;
  std::uint32_t stratum_;
  std::unique_ptr<RulePass> reject_;
  std::unique_ptr<RulePass> retire_;
  std::map<RelationId, std::vector<Cell>> doomed_;  // found by this rank, back to back
  bool is_doomed_ = false;  // a tuple, since a rule has asked
  std::map<RelationId, std::vector<Cell>> beaten_;  // in the order of the home's primary index
};

}  // namespace stratalog::datalog
