// SPDX-License-Identifier: Apache-2.0
// RowSets: the sets of an index, by row. They stay where they are when rows are added, because
// joins borrow them: fixed chunks, not one growing array. Rows that are all new can be hidden: they
// read as empty until they are shown, so that what a round found first is made where it stays.
// DeltaRows: rows with new tuples, of which the first may be such rows. Local; not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "relation/int_set.h"
#include "relation/place_iterator.h"

namespace stratalog {

using RowId = std::uint32_t;

class RowSets {
 public:
  const IntSet& operator[](RowId row) const { return shown_[row / kChunkRows][row % kChunkRows]; }
  // Also where rows are hidden.
  const IntSet& held(RowId row) const { return held_[row / kChunkRows][row % kChunkRows]; }
  IntSet& change(RowId row) { return held_[row / kChunkRows][row % kChunkRows]; }

  // Room for so many rows, empty ones. What there is stays.
  void make_room(std::uint64_t rows) {
    while (held_.size() * kChunkRows < rows) {
      held_.push_back(std::make_unique<IntSet[]>(kChunkRows));
      shown_.push_back(held_.back().get());
    }
  }
  // What there is reads as empty from now on.
  void hide() { shown_.assign(held_.size(), kNothing.data()); }
  void show() {
    for (std::size_t i = 0; i < held_.size(); ++i) shown_[i] = held_[i].get();
  }

  std::uint64_t chunk_bytes() const { return held_.size() * kChunkRows * sizeof(IntSet); }

 private:
  static constexpr RowId kChunkRows = 1024;
  static const std::array<IntSet, kChunkRows> kNothing;

  std::vector<std::unique_ptr<IntSet[]>> held_;
  std::vector<const IntSet*> shown_;
};

// A row with new tuples, as an index has it on its own.
struct OwnDeltaRow {
  RowId row = 0;
  IntSet cells;
};

struct DeltaRow {
  RowId row = 0;
  const IntSet& cells;  // of the index: stays where it is
};

// Ascending rows; valid until the index changes.
class DeltaRows {
 public:
  DeltaRows() = default;
  explicit DeltaRows(std::span<const OwnDeltaRow> own) : own_(own) {}
  // Rows 0 .. `whole` - 1 of `sets`, whatever is hidden, and then `own`.
  DeltaRows(const RowSets& sets, RowId whole, std::span<const OwnDeltaRow> own)
      : sets_(&sets), whole_(whole), own_(own) {}

  std::size_t size() const { return whole_ + own_.size(); }
  bool empty() const { return size() == 0; }
  DeltaRow operator[](std::size_t at) const {
    if (at < whole_) {
      const auto row = static_cast<RowId>(at);
      return {.row = row, .cells = sets_->held(row)};
    }
    const OwnDeltaRow& own = own_[at - whole_];
    return {.row = own.row, .cells = own.cells};
  }
  PlaceIterator<DeltaRows> begin() const { return {*this, 0}; }
  PlaceIterator<DeltaRows> end() const { return {*this, size()}; }

 private:
  const RowSets* sets_ = nullptr;
  RowId whole_ = 0;
  std::span<const OwnDeltaRow> own_;
};

}  // namespace stratalog
