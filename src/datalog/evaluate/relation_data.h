// SPDX-License-Identifier: Apache-2.0
// RelationData: what one rank holds of one relation. A relation lies in one or more shards; a shard
// is dealt to the ranks by the hash of some columns (or copied to all), and keeps the indices that
// are used under that placement. Shard 0 is the home: each tuple is there on exactly one rank. Pure
// data and local operations; collective moves are in redistribute.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datalog/plan/program_plan.h"
#include "model/tuple_group.h"
#include "relation/best_cells.h"
#include "relation/equivalence.h"
#include "relation/growth_log.h"
#include "relation/index.h"
#include "route/bucket_map.h"

namespace stratalog::datalog {

class PivotRelations;
class SweptRows;

enum class Dealing : std::uint8_t {
  kHashed,  // by the hash of `columns` modulo ranks
  kReplicated,  // every rank has all tuples
};

struct Placement {
  Dealing dealing = Dealing::kHashed;
  std::vector<std::uint32_t>
      columns;  // declared columns, ascending; empty only with one rank or arity 0
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Shard {
  Placement placement;
  // Set where skew was found: buckets of the placement columns, heavy ones split by the hash of the
  // other columns over several ranks (RA-checkpoint, section II.B). Without it a tuple lies where
  // owner_of says.
  std::optional<BucketMap> buckets;
  bool checked_for_skew = false;  // of finished relations, once
  std::vector<std::unique_ptr<Index>>
      indices;  // parallel to RelationPlan::indices; null where not kept here
  std::uint32_t primary = 0;  // where new tuples are told from known ones

  bool keeps(std::uint32_t index) const { return index < indices.size() && indices[index]; }
  Index& primary_index() { return *indices[primary]; }
  const Index& primary_index() const { return *indices[primary]; }
  std::uint64_t heap_bytes() const;
};

struct RelationData {
  std::uint32_t arity = 0;
  std::vector<Shard> shards;
  std::uint64_t global_rows = 0;  // the same on all ranks; set when a stratum ends
  // Arity 0.
  bool holds = false;
  bool queued_holds = false;
  bool delta_holds = false;
  // Relations with a choice-domain: rows derived in this round, declared columns back to back. They
  // come into the shards once they are chosen.
  std::vector<Cell> candidates;
  // What the home's primary index gained since the last acknowledged checkpoint; null where that is
  // not followed. Whoever deals the home anew must drop it.
  std::unique_ptr<GrowthLog> growth;
  bool is_saved_finished = false;  // the last checkpoint that was acknowledged has all of it
  // Where a pivot stratum keeps its relations; then `shards` may be empty until somebody searches
  // it.
  std::shared_ptr<PivotRelations> pivot;
  std::uint32_t pivot_position = 0;  // of this relation in *pivot
  // While another stratum reads it where its sweep left it.
  std::shared_ptr<SweptRows> swept;
  std::shared_ptr<SweptRows> swept_everywhere;  // the same with the rows of all ranks
  // While its stratum runs: one of the shards is a copy on every rank that grows with the others
  // (mirror.h), and the home keeps the primary index only.
  bool mirrored = false;
  // While a stratum runs that keeps the best value of the home index's last column only.
  std::optional<BestCells> best;
  // The same where values are united (value_union.h).
  bool keeps_united = false;
  bool keeps_one_value() const { return best || keeps_united; }
  // This rank's part of a relation that was forgotten (unread_relations.h) in a run with a profile.
  std::uint64_t rows_when_forgotten = 0;
  // Of an equivalence relation, which has no shards: all classes, equal on all ranks.
  std::unique_ptr<Equivalence> equivalence;

  std::uint64_t heap_bytes() const;
};

// Whether every rank has all of it in a shard.
inline bool has_copy(const RelationData& relation) {
  return std::ranges::any_of(relation.shards, [](const Shard& shard) {
    return shard.placement.dealing == Dealing::kReplicated;
  });
}

std::unique_ptr<Index> make_index(const IndexPlan& plan);

// Adds a tuple (declared columns) to the queue of the shard's primary index.
void queue_tuple(Shard& shard, std::span<const Cell> tuple);

// Ends a round in one shard: tells new tuples from known ones in the primary index (`unite`), then
// advances all indices. Between the two calls no set of the shard changes, so that all shards of a
// stratum can unite first.
void unite_shard(Shard& shard, SetAccumulator& scratch);
void advance_shard(Shard& shard, SetAccumulator& scratch, DeltaUse use = DeltaUse::kKept);

// Takes tuples (in the column order of the primary index, back to back) out of all indices, or out
// of those beside the primary one.
void erase_from_shard(Shard& shard, std::span<const Cell> tuples);
void erase_beside_primary(Shard& shard, std::span<const Cell> tuples);

// Sets the delta of all indices of the shard to what `delta` (in the primary's column order) has
// found new; those tuples must be in the total already. After a restart.
void restore_shard_delta(Shard& shard, const Index& delta, SetAccumulator& scratch);

// An index of `shard` for plan `which`, made and filled from the primary if it is not there yet.
Index& ensure_index(Shard& shard, const RelationPlan& plan, std::uint32_t which,
                    SetAccumulator& scratch);

}  // namespace stratalog::datalog
