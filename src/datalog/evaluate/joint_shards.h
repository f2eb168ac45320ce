// SPDX-License-Identifier: Apache-2.0
// JointShards: a stratum's rounds where the ranks are threads of one process. Relations are dealt
// to the ranks, but nothing hops: a search looks into the index of the rank that owns its key. What
// makes that safe are the phases of a round, with a barrier of all ranks after each:
//   rules     everybody reads everybody's shards, and nobody changes any; heads go to boxes;
//   unite     each rank takes what it owns out of all boxes into its home shards' queues and next
//             deltas; totals, which sets are borrowed from, do not change;
//   share     where relations have further shards: their owners take the new tuples, from boxes
//             that borrow the sets of the homes' next deltas, and hear which ones a best value
//             has replaced;
//   advance   each rank's indices take over their new tuples; the reduction that ends the round is
//             the barrier before the next rules.
// Shards are opened, and indices are made, before rules are bound. Collective where marked.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/joint_box.h"
#include "datalog/evaluate/scan_turns.h"

namespace stratalog::datalog {

// Whether the rules of the stratum read the other ranks' shards. Local, the same on all ranks.
bool runs_jointly(const EngineState& state, std::uint32_t stratum);

class JointShards {
 public:
  // For the life of the object, which is that of the stratum's run, the state names it.
  JointShards(EngineState& state, std::uint32_t stratum);
  ~JointShards();
  JointShards(const JointShards&) = delete;
  JointShards& operator=(const JointShards&) = delete;

  // Collective. Shards were opened, filled or dealt anew; they can be read when it returns.
  Status open();
  // Where derived tuples of a relation go; null where it has a mirror or no shard.
  JointBox* heads_of(RelationId relation);
  // This index of a shard on all ranks. Local, between open() and the next change of shards.
  std::vector<const Index*> indices_of(RelationId relation, std::size_t shard,
                                       std::uint32_t index) const;
  // What all ranks take turns from at the rows by which they share the rule at `place` of a pass;
  // null where each has turns of its own. Local, after open().
  ScanTurns* turns_of(std::size_t place) const;

  // The phases' ends. Collective; every rank calls them, also after an error of its own. The status
  // is this rank's own unless a collective failed.
  Status unite();
  // `beaten`: tuples of this rank's part of a home, in the order of its primary index.
  Status share(const std::map<RelationId, std::vector<Cell>>& beaten);
  // Local, after this rank's shards have advanced: takes what has been beaten out of further ones.
  void erase_beaten();
  // Local, when all ranks have ended their rules and taken from all boxes, before any begins the
  // next rules: empties boxes and renews turns.
  void clear();

 private:
  struct Target {
    Target(RelationId of, std::size_t number, const Shard& to, const BestCells* best, int ranks)
        : relation(of), shard(number), box(to, ranks, best), beaten(to, ranks) {}
    RelationId relation;
    std::size_t shard;  // of the relation
    JointBox box;
    JointBox beaten;
    std::vector<Cell> gone;  // what all ranks' `beaten` have for this one
  };

  void box_beaten(Target& target, std::span<const Cell> tuples);
  Status take(const std::deque<Target>& mine, std::deque<Target> JointShards::* boxes,
              Freshness freshness);
  Shard& shard_of(const Target& target);

  EngineState& state_;
  const Stratum& members_;
  std::deque<ScanTurns> turns_;  // rank 0's are everybody's
  std::deque<Target> heads_;
  std::deque<Target> further_;  // shards beside the home
};

}  // namespace stratalog::datalog
