// SPDX-License-Identifier: Apache-2.0
// SweptRows: a finished relation read where its sweep left it, without a copy as tuples: rows by
// key, made into sets when somebody first asks for them, and a walk over all rows. It has this
// rank's pivots only: the parts of the ranks are disjoint, and together everything. Local.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/pivot/pivot_image.h"
#include "relation/int_set.h"

namespace stratalog::datalog {

// Whether step `s` of a plan that is evaluated once can read its relation this way, of a large
// relation that nobody has copied yet: a scan at the start, a search that knows all keys, one that
// knows the pivot where few bindings can come, or a test whether a tuple is there where not as many
// can come as there are tuples. Local, the same on all ranks.
bool reads_swept_rows(const EngineState& state, const RulePlan& plan, std::size_t s);

class SweptRows {
 public:
  // The relation has been swept, and its stratum is finished.
  explicit SweptRows(const RelationData& relation);

  // The pivots under a key, whose cell for each key column (in declared order) stands at
  // key_places() of `prefix`; null where there are none. Stays until this object dies.
  const IntSet* find(const Cell* prefix, std::span<const std::uint32_t> key_places);
  // Whether a tuple is there; its cells stand as for find().
  bool contains(const Cell* row, std::span<const std::uint32_t> key_places, Cell pivot);
  // The keys under a pivot, in declared order.
  void for_each_key(Cell pivot, const std::function<void(std::span<const Cell>)>& visit);
  // The rank that has a pivot, or would have it.
  int owner_of(Cell pivot) const;
  // For an index order: where each key column stands in it, and where the pivot.
  std::vector<std::uint32_t> key_places(std::span<const std::uint32_t> order) const;
  std::uint32_t pivot_place(std::span<const std::uint32_t> order) const;
  // Keys in declared order. Stops at the visitor's first error.
  Status for_each_row(
      const std::function<Status(std::span<const Cell> key, IntSet& pivots)>& visit) const;
  // Of the sets that were made.
  std::uint64_t heap_bytes() const;

 private:
  void sort_cells(std::vector<Cell>& cells) const;

  std::shared_ptr<PivotRelations> pivot_;
  std::uint32_t position_;
  PivotImage image_;
  std::vector<std::unique_ptr<IntSet>> sets_;  // by slot; null: not asked for
  std::uint64_t set_bytes_ = 0;
  std::vector<Cell> key_;  // scratch
  std::vector<Cell> cells_;  // scratch
  std::vector<SlotId> slots_;  // scratch
};

}  // namespace stratalog::datalog
