// SPDX-License-Identifier: Apache-2.0
// Brings relations to where a stratum needs them: facts to their owners, finished relations to
// further placements or onto every rank, and makes missing indices. Collective: all ranks call with
// the same relation and arguments; ranks that hold nothing take part.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/facts/tuple_columns.h"

namespace stratalog::datalog {

// Makes the shard of `relation` that keeps index `which`, empty if it is new. Local, the same on
// all ranks.
Shard& open_shard(EngineState& state, RelationId relation, std::uint32_t which);

// Makes the copy on every rank of a growing relation, with index `which`; empty. Local, the same on
// all ranks.
void open_mirror(EngineState& state, RelationId relation, std::uint32_t which);

// Queues this rank's tuples (any distribution, repetitions allowed) at their owners in the home
// shard; the end of the round brings what is new to the other shards.
Status deal_tuples(EngineState& state, RelationId relation, const TupleColumns& tuples);

// Takes this rank's tuples (declared columns, back to back) out of every shard of a relation of the
// running stratum, wherever they lie.
Status erase_tuples(EngineState& state, RelationId relation, std::span<const Cell> tuples);

// The same of tuples of this rank's part of the home, in the order of its primary index, out of
// everything but that index, which knows that they have gone.
Status erase_beside_home(EngineState& state, RelationId relation, std::span<const Cell> tuples);

// A finished relation of so many rows or fewer is copied to all ranks when they search it.
// `jointly`: ranks read each other's shards.
std::uint64_t most_copied_rows(const EngineState& state, bool jointly);

// Where a finished relation is needed by a stratum.
enum class Availability : std::uint8_t {
  kAsDealt,  // for searches: dealt by the index's columns, heavy buckets split over ranks
  kWholeBuckets,  // for membership tests, which must meet the one rank that knows: dealt, nothing
                  // split
  kEverywhere,  // a copy on every rank
};

// Sees to it that index `which` of a finished relation can be read: from the shard dealt for it, or
// from a copy on every rank.
Status ensure_available(EngineState& state, RelationId relation, std::uint32_t which,
                        Availability availability);

// Deals the shards of a growing relation anew where one rank holds much more than the mean: heavy
// buckets are split over several ranks by the hash of the whole tuple (RA-checkpoint, section
// II.B). Total and delta move. True, on all ranks, if a shard was moved: everything that was bound
// to the relation's shards must then be bound again. Needs global_rows; nothing may be queued. A
// home that keeps best values stays, because buckets are split by whole tuples.
Result<bool> rebalance(EngineState& state, RelationId relation);

// Fills the open but empty shards of `relation` from its home shard, total and delta (after a
// restart).
Status fill_from_home(EngineState& state, RelationId relation);

}  // namespace stratalog::datalog
