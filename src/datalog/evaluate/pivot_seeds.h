// SPDX-License-Identifier: Apache-2.0
// PivotSeeds: what a stratum that runs by pivot begins with. Facts and non-recursive rules make
// seeds; their pivots are numbered as lanes, and slots and lanes are put in an order that suits the
// sweep (slot_order.h); then each seed goes to the rank that owns its pivot's block. Seeds that are
// rows of relations which every rank has a copy of do not travel: each rank makes all of them from
// its copy. Collective.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/rule_pass.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {

// The calls in order: collect, (relations.bind_rules), promise_growth, and then either
// choose_space, (relations.open), deal, or take; take also where there is no space.
class PivotSeeds {
 public:
  // State and relations outlive this object.
  PivotSeeds(EngineState& state, std::uint32_t stratum, PivotRelations& relations);

  // The static relations of the stratum's rules must have been ensured.
  Status collect(StratumFacts facts);
  // Whether the recursion is likely to derive many tuples from them. If not, rounds are done before
  // edges and pivots are in order.
  Result<bool> promise_growth();
  // The seeds as facts: each is with some rank.
  StratumSeeds take();
  using Space = std::shared_ptr<const PivotSpace>;
  // Where slots are ordered, `relations` know slots and edges afterwards. Null where it turns out
  // that rounds are quicker.
  Result<Space> choose_space();
  // Each seed goes to the owner of its pivot; from then on no tuple crosses ranks.
  Status deal();

 private:
  struct Seeds {
    std::vector<Cell> cells;  // keys, then pivot
    std::uint32_t arity = 0;
  };

  std::uint64_t seeds_here() const;
  Result<GrowthGuess> guess_growth_here();
  void add_facts(std::size_t position, const TupleColumns& facts);
  Result<bool> has_no_facts(const StratumFacts& facts) const;
  Status run_once(bool may_read_copies);
  Result<std::unique_ptr<RulePass>> bind_once(DeltaShare share);
  void remap(const CellRemapping& remapping);
  Status take(const RulePlan& plan, const Batch& batch);
  Result<PivotSpace> space_of_cells();
  Status order_space(Space& space);
  Status order_once(Space& space);
  Status order_everywhere(Space& space);
  using PivotOrder = std::optional<std::vector<Cell>>;  // nothing: a sweep is not worth it
  Result<bool> is_worth_it(const PivotOrder& order) const;
  Status take_order(std::vector<Cell> pivots, Space& space) const;
  void name_starts(std::size_t position, std::span<const Cell> cells,
                   std::vector<PivotStart>& starts);
  Result<PivotOrder> order_starts(std::vector<PivotStart> starts);
  Status plant(std::size_t position, std::span<const Cell> cells);
  Status plant_own();

  EngineState& state_;
  std::uint32_t stratum_;
  const Stratum& members_;
  PivotRelations& relations_;
  std::vector<Seeds> seeds_;  // by position in the stratum
  std::uint64_t all_seeds_ = 0;  // of all ranks; known from promise_growth() on
  bool all_have_all_ = false;  // each rank has the seeds of all
};

}  // namespace stratalog::datalog
