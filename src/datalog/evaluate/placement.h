// SPDX-License-Identifier: Apache-2.0
// Decides by which columns each index of a relation is dealt to the ranks, so that every search
// finds all its tuples on one rank, and which rank owns a tuple. Pure; the same on every rank.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <vector>

#include "datalog/plan/program_plan.h"
#include "model/cell.h"
#include "route/bucket_map.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {

// Columns (ascending) by index of each relation's plan. In a decomposable stratum all indices are
// dealt by the pivot column if every search binds it, so that no derived tuple leaves its rank.
std::vector<std::vector<std::vector<std::uint32_t>>> plan_placements(const Program& program,
                                                                     const ProgramPlan& plan);

// The same of relations whose plan has changed because `stratum`, which is about to begin, has
// another one: for those of the stratum, and for indices that others have got.
void place_replanned(const Program& program, const ProgramPlan& plan, std::uint32_t stratum,
                     const std::set<RelationId>& relations,
                     std::vector<std::vector<std::vector<std::uint32_t>>>& placements);

// Whether bindings of the stratum's recursive rules would travel between searches if its relations
// were dealt by `placements` and all others were on every rank. Rules that read a relation that
// `is_empty` have no bindings.
bool has_hops(const Program& program, const ProgramPlan& plan, std::uint32_t stratum,
              const std::vector<std::vector<std::vector<std::uint32_t>>>& placements,
              const std::function<bool(RelationId)>& is_empty);

// The rank that owns a tuple, by the cells of its placement columns (in ascending column order).
inline int owner_of(std::span<const Cell> cells, int ranks) {
  return static_cast<int>(scale_hash(hash_cells(cells), static_cast<std::uint32_t>(ranks)));
}

// The same where skew was found: heavy buckets are split by the hash of the whole tuple (declared
// columns). `buckets` may be null.
inline int owner_of(std::span<const Cell> key, std::span<const Cell> tuple,
                    const BucketMap* buckets, int ranks) {
  if (buckets == nullptr) return owner_of(key, ranks);
  const std::uint32_t bucket = buckets->bucket_of(hash_cells(key));
  return buckets->owner(
      bucket, buckets->is_split(bucket) ? hash_cells(tuple, kSubBucketSeed) : std::uint64_t{0});
}

}  // namespace stratalog::datalog
