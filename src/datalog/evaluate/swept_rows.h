// SPDX-License-Identifier: Apache-2.0
// SweptRows: a finished relation read where its sweep left it, without a copy as tuples: rows by
// key, made into sets when somebody first asks for them, and a walk over all rows. It has this
// rank's pivots, or where ranks are threads those of all: the parts of the ranks are disjoint, and
// together everything. Local.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/pivot/pivot_image.h"
#include "relation/int_set.h"
#include "relation/set_accumulator.h"

namespace stratalog::datalog {

// Whether step `s` of a plan that is evaluated once can read its relation this way, of a large
// relation that nobody has copied yet: a scan at the start, a search that knows all keys, one that
// knows the pivot where not very many bindings can come, a test whether a tuple is there where not
// as many can come as there are tuples, or a set of pivots that those of a key restrict. Local, the
// same on all ranks.
bool reads_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s);

// The same of step `i` of the aggregate that is step `s`, once it can read all rows that it has to.
bool folds_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s, std::size_t i);
// A large relation that nobody has copied yet. Local, the same on all ranks.
bool lies_as_swept(const EngineState& state, RelationId relation);
// Of a swept relation.
std::uint32_t pivot_column(const RelationData& relation);

// So many bindings of a pivot are looked up at once.
inline constexpr std::uint64_t kGatheredBindings = std::uint64_t{1} << 18;

class SweptRows {
 public:
  // The relation has been swept, and its stratum is finished. `scratch` is empty between calls.
  SweptRows(const RelationData& relation, SetAccumulator& scratch);
  // What all ranks have, in rank order; those of other ranks stay as they are while they are read.
  SweptRows(std::span<const SweptRows* const> ranks, SetAccumulator& scratch);

  // The pivots under a key, whose cell for each key column (in declared order) stands at
  // key_places() of `prefix`; null where there are none. Stays until this object dies, or where it
  // has all ranks' rows as long as `made`, where the set then is.
  const IntSet* find(const Cell* prefix, std::span<const std::uint32_t> key_places, IntSet& made);
  // Whether a tuple is there; its cells stand as for find().
  bool contains(const Cell* row, std::span<const std::uint32_t> key_places, Cell pivot);
  // The keys under each of this rank's pivots among `pivots` (distinct), one after the other, each
  // in declared order; `which` is the pivot's place. Stops at the visitor's first error.
  Status for_each_pivot(
      std::span<const Cell> pivots,
      const std::function<Status(std::size_t which, std::span<const Cell> keys)>& visit) const;
  // The same where keys are of one column: the set of those of each pivot that has any.
  Status for_each_pivot_set(
      std::span<const Cell> pivots,
      const std::function<Status(std::size_t which, IntSet& keys)>& visit) const;
  // The rank that has a pivot, or would have it.
  int owner_of(Cell pivot) const;
  // For an index order: where each key column stands in it, and where the pivot.
  std::vector<std::uint32_t> key_places(std::span<const std::uint32_t> order) const;
  std::uint32_t pivot_place(std::span<const std::uint32_t> order) const;
  // Visits the rows whose keys (in declared order) are wanted, each soon after it was asked for,
  // with those of its pivots that are in `wanted` (null: all), those of each rank by themselves.
  // Stops at the visitor's first error.
  Status for_each_row(const std::function<bool(std::span<const Cell> key)>& is_wanted,
                      const CellSet* wanted,
                      const std::function<Status(IntSet& pivots)>& visit) const;
  // Of the sets that were made.
  std::uint64_t heap_bytes() const;

 private:
  // Replaces `set` by cells that are distinct, in any order.
  void gather(std::span<const Cell> cells, IntSet& set) const;
  // Of views that are walked in any order.
  void unite(std::span<const SetView> views, IntSet& set) const;

  struct Part {
    std::shared_ptr<PivotRelations> pivot;
    PivotImage image;
  };
  // Where the keys of one column stand among bits.
  struct KeyPlaces {
    Cell base = 0;
    std::uint32_t places = 0;
    std::vector<std::uint32_t> of_slot;
  };
  // for_each_pivot() of one part.
  Status for_each_pivot_of(
      const Part& part, std::span<const Cell> pivots,
      const std::function<Status(std::size_t which, std::span<const Cell> keys)>& visit) const;
  // Nothing where they lie too far apart.
  std::optional<KeyPlaces> places_of_keys(const Part& part) const;

  void gather_key(const Cell* row, std::span<const std::uint32_t> key_places);
  const IntSet* find_in_all(IntSet& made);

  SetAccumulator& scratch_;
  std::uint32_t position_;
  std::vector<Part> parts_;  // of this rank, or of all in rank order
  std::vector<std::unique_ptr<IntSet>> sets_;  // this rank's part: by slot; null: not asked for
  std::uint64_t set_bytes_ = 0;
  std::vector<Cell> key_;  // scratch: what is looked up, in declared order
  std::vector<Cell> cells_;  // scratch
};

}  // namespace stratalog::datalog
