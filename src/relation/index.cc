// SPDX-License-Identifier: Apache-2.0
#include "relation/index.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <utility>

#include "model/radix_sort.h"
#include "relation/sorted_cells.h"

namespace stratalog {
namespace {

// Up to this many queued cells of a row are sorted directly instead of going through the scratch
// bitmap.
constexpr std::size_t kSortDirectly = 24;
// And so many sets with so many cells together are merged.
constexpr std::size_t kMergedSets = 4;
constexpr std::size_t kMergedCells = 96;
// Fewer sets of a row are not looked at for repetitions.
constexpr std::size_t kMayRepeat = 8;
// Fewer are sorted by comparing.
constexpr std::size_t kFewQueued = 64;
// The memory of a set is asked for while so many before it are united.
constexpr std::size_t kSetsAhead = 8;

RowId queued_row(std::uint64_t queued) { return static_cast<RowId>(queued >> 32); }

// By row only.
template <typename Item, typename RowOf>
void sort_by_row(std::vector<Item>& items, std::vector<Item>& space, RowOf row_of) {
  if (items.size() < kFewQueued)
    std::ranges::sort(items, {}, row_of);
  else
    radix_sort(items, space, row_of);
}

}  // namespace

Index::Index(std::vector<std::uint32_t> order, std::span<const std::uint32_t> searched)
    : order_(std::move(order)),
      rows_(static_cast<std::uint32_t>(order_.size()) - 1),
      queue_limit_(arity()) {
  assert(!order_.empty());
  for (const std::uint32_t length : searched)
    if (length >= rows_.width())
      finds_rows_ = true;
    else if (length >= 1)
      directories_.emplace_back(length);
}

RowId Index::find_or_add_row(const Cell* prefix) {
  if (has_first()) [[unlikely]]
    take_first();
  const RowId row = rows_.find_or_add(prefix);
  if (row < known_rows_) return row;
  ++known_rows_;
  totals_.make_room(std::uint64_t{row} + 1);
  for (RowDirectory& directory : directories_) directory.add(rows_);
  return row;
}

void Index::shorten_queue(SetAccumulator& scratch, Freshness freshness) {
  const std::uint64_t waiting = queued();
  // The first tuples stay together as long as it pays, because rows are best made of all of them.
  const bool are_tuples = first_.size() > kTuplesOfASet * arity() * first_sets_.size();
  if (are_tuples && held_bytes_ < kMostHeldBytes && queue_limit_.let_wait(first_, arity())) return;
  const std::uint64_t before = next_tuples_;
  unite_queued(scratch, freshness);
  queue_limit_.note(waiting, next_tuples_ - before, tuples_ + next_tuples_);
}

void Index::queue_view(RowId row, const SetView& set) {
  if (set.count <= kSortDirectly) {
    walk_set(set, [&](Cell cell) { queue(row, cell); });
    return;
  }
  queue_set(row, hold(set));
}

// A copy for as long as it is queued.
const IntSet* Index::hold(const SetView& set) {
  held_sets_.emplace_back().assign(set);
  held_bytes_ += held_sets_.back().heap_bytes();
  return &held_sets_.back();
}

void Index::sort_queued() {
  const auto row_of_cell = [](std::uint64_t queued) { return queued_row(queued); };
  const auto row_of_set = [](const QueuedSet& queued) { return queued.row; };
  // Few cells of a row are ordered later, many go through the scratch bitmap anyway.
  sort_by_row(queued_cells_, sort_space_, row_of_cell);
  sort_by_row(queued_sets_, set_sort_space_, row_of_set);
}

// A few short sets, and a few cells beside them, are merged: going through the scratch bitmap takes
// longer. False if there are too many for that.
bool Index::unite_short(std::span<const std::uint64_t> cells, std::span<const QueuedSet> sets,
                        const IntSet& present) {
  if (sets.size() > kMergedSets) return false;
  std::size_t most = cells.size();
  for (const QueuedSet& queued : sets) {
    if (queued.set->form() == IntSet::Form::kBitmap) return false;
    most += queued.set->size();
  }
  if (most > kMergedCells || cells.size() > kSortDirectly) return false;
  std::array<Cell, kSortDirectly> sorted;  // NOLINT: filled as far as it is read
  std::array<Cell, kMergedCells> first;  // NOLINT
  std::array<Cell, kMergedCells> second;  // NOLINT
  std::span<const Cell> all;
  if (cells.empty()) {
    all = sets.front().set->array();
    sets = sets.subspan(1);
  } else {
    std::size_t count = 0;
    for (const std::uint64_t q : cells) sorted[count++] = static_cast<Cell>(q);
    std::sort(sorted.begin(), sorted.begin() + count);
    all = {sorted.begin(), std::unique(sorted.begin(), sorted.begin() + count)};
  }
  Cell* to = first.data();
  Cell* next = second.data();
  for (const QueuedSet& queued : sets) {
    all = {to, unite_sorted(all, queued.set->array(), to)};
    std::swap(to, next);
  }
  fresh_.resize(all.size());
  std::size_t kept = 0;
  if (present.form() != IntSet::Form::kBitmap) {
    kept = subtract_sorted(all, present.array(), fresh_.data());
  } else {
    // What is kept is written over what comes next, at most.
    for (const Cell cell : all) {
      fresh_[kept] = cell;
      kept += present.contains(cell) ? 0 : 1;
    }
  }
  fresh_.resize(kept);
  return true;
}

void Index::unite_row(RowId row, std::span<const std::uint64_t> cells,
                      std::span<const QueuedSet> sets, SetAccumulator& scratch,
                      Freshness freshness) {
  static const IntSet kNothing{};
  fresh_.clear();
  const IntSet& present = freshness == Freshness::kNew ? kNothing : total(row);
  if (sets.empty() && cells.size() <= kSortDirectly) {
    for (const std::uint64_t q : cells) {
      const auto cell = static_cast<Cell>(q);
      if (!present.contains(cell)) fresh_.push_back(cell);
    }
    if (fresh_.size() > 1) {
      std::sort(fresh_.begin(), fresh_.end());
      fresh_.erase(std::unique(fresh_.begin(), fresh_.end()), fresh_.end());
    }
    return;
  }
  present.prefetch();
  if (unite_short(cells, sets, present)) return;
  for (const std::uint64_t q : cells) scratch.add(static_cast<Cell>(q));
  // Of many, some may be the same: rules derive the same tuples on several ways.
  const bool may_repeat = sets.size() >= kMayRepeat;
  for (const QueuedSet& queued : sets)
    may_repeat ? scratch.add_once(*queued.set) : scratch.add(*queued.set);
  scratch.take_new(present, fresh_);
}

template <typename Sink>
void Index::for_each_queued_row(SetAccumulator& scratch, Freshness freshness, Sink&& sink) {
  sort_queued();
  std::size_t c = 0;
  std::size_t s = 0;
  while (c < queued_cells_.size() || s < queued_sets_.size()) {
    RowId row = kNoRow;
    if (c < queued_cells_.size()) row = queued_row(queued_cells_[c]);
    if (s < queued_sets_.size()) row = std::min(row, queued_sets_[s].row);
    std::size_t c_end = c;
    while (c_end < queued_cells_.size() && queued_row(queued_cells_[c_end]) == row) ++c_end;
    std::size_t s_end = s;
    for (; s_end < queued_sets_.size() && queued_sets_[s_end].row == row; ++s_end)
      if (s_end + kSetsAhead < queued_sets_.size())
        queued_sets_[s_end + kSetsAhead].set->prefetch();
    if (c_end < queued_cells_.size()) prefetch_total(queued_row(queued_cells_[c_end]));
    unite_row(row, {queued_cells_.data() + c, c_end - c}, {queued_sets_.data() + s, s_end - s},
              scratch, freshness);
    if (best_ != nullptr) best_->keep_best(fresh_, total(row));
    if (!fresh_.empty()) sink(row);
    c = c_end;
    s = s_end;
  }
  queued_cells_.clear();
  queued_sets_.clear();
  held_sets_.clear();
  held_bytes_ = 0;
}

void Index::unite_queued(SetAccumulator& scratch, Freshness freshness) {
  if (has_first()) take_first();
  if (queued_cells_.empty() && queued_sets_.empty()) return;
  // What was found earlier in this round, by ascending rows, is merged with what came since: both
  // are disjoint with the total, but not with each other.
  std::vector<OwnDeltaRow> earlier = std::exchange(next_delta_, {});
  std::size_t e = 0;
  for_each_queued_row(scratch, freshness, [&](RowId row) {
    if (row < next_whole_) {
      merge_into(totals_.change(row));
      return;
    }
    for (; e < earlier.size() && earlier[e].row < row; ++e)
      next_delta_.push_back(std::move(earlier[e]));
    if (e == earlier.size() || earlier[e].row != row) {
      next_delta_.push_back({.row = row, .cells = {}});
      next_delta_.back().cells.assign_sorted(fresh_);
      next_tuples_ += fresh_.size();
      return;
    }
    merge_into(earlier[e].cells);
    next_delta_.push_back(std::move(earlier[e++]));
  });
  std::move(earlier.begin() + static_cast<std::ptrdiff_t>(e), earlier.end(),
            std::back_inserter(next_delta_));
}

// What has come since, in fresh_.
void Index::merge_into(IntSet& found) {
  std::erase_if(fresh_, [&](Cell cell) { return found.contains(cell); });
  next_tuples_ += fresh_.size();
  if (best_ == nullptr) {
    found.add_new_sorted(fresh_);
    return;
  }
  next_tuples_ -= fresh_.size();
  best_->keep_best(fresh_, found);
  if (fresh_.empty()) return;
  const std::uint64_t before = found.size();
  replace_beaten(found, fresh_);
  next_tuples_ += found.size() - before;
}

// `cells` are new, and nothing in `set` beats one of them.
void Index::replace_beaten(IntSet& set, std::span<const Cell> cells) {
  static const IntSet kNothing{};
  if (cells.size() == 1 && set.size() == 1 && best_->beats(cells[0], set.array()[0])) {
    set.assign_sorted(cells);
    return;
  }
  std::vector<Cell> kept(cells.begin(), cells.end());
  set.walk([&](Cell cell) { kept.push_back(cell); });
  best_->keep_best(kept, kNothing);
  std::sort(kept.begin(), kept.end());
  set.assign_sorted(kept);
}

void Index::append_beaten(std::vector<Cell>& tuples) const {
  for (const OwnDeltaRow& row : next_delta_) {  // of rows that are all new there is nothing known
    const auto is_beaten = [&](Cell known) {
      bool found = keeps_latest_;
      if (!found) row.cells.walk([&](Cell cell) { found |= best_->beats(cell, known); });
      return found;
    };
    total(row.row).walk([&](Cell known) {
      if (!is_beaten(known)) return;
      const std::span<const Cell> key = prefix(row.row);
      tuples.insert(tuples.end(), key.begin(), key.end());
      tuples.push_back(known);
    });
  }
}

void Index::replace_next_delta(std::span<const Cell> values) {
  assert(values.size() == next_delta().size());
  next_tuples_ = next_whole_;
  for (RowId row = 0; row < next_whole_; ++row)
    totals_.change(row).assign_sorted(values.subspan(row, 1));
  values = values.subspan(next_whole_);
  for (std::size_t i = 0; i < values.size(); ++i) {
    OwnDeltaRow& row = next_delta_[i];
    if (total(row.row).contains(values[i]))
      row.cells.clear();
    else
      row.cells.assign_sorted(values.subspan(i, 1));
    next_tuples_ += row.cells.size();
  }
  std::erase_if(next_delta_, [](const OwnDeltaRow& row) { return row.cells.empty(); });
}

void Index::forget_next_delta() {
  for (RowId row = 0; row < next_whole_; ++row) totals_.change(row).clear();
  if (next_whole_ > 0) totals_.show();
  next_whole_ = 0;
  next_delta_.clear();
  next_tuples_ = 0;
}

void Index::advance(DeltaUse use) {
  assert(queued() == 0);
  whole_ = std::exchange(next_whole_, 0);
  delta_ = std::move(next_delta_);
  next_delta_.clear();
  next_tuples_ = 0;
  delta_bytes_ = 0;
  std::uint64_t came = 0;
  for (const DeltaRow& row : delta()) came += row.cells.size();
  tuples_ += came;
  if (whole_ > 0) totals_.show();
  for (RowId row = 0; row < whole_; ++row) set_bytes_ += total(row).heap_bytes();
  for (OwnDeltaRow& row : delta_) {
    IntSet& total = totals_.change(row.row);
    set_bytes_ -= total.heap_bytes();
    if (use == DeltaUse::kForgotten && total.empty()) {
      total = std::move(row.cells);
      set_bytes_ += total.heap_bytes();
      continue;
    }
    const SetView view = row.cells.view();
    if (keeps_latest_) {
      tuples_ -= total.size();
      fresh_.clear();
      row.cells.walk([&](Cell cell) { fresh_.push_back(cell); });
      total.assign_sorted(fresh_);
    } else if (best_ != nullptr && !total.empty()) {
      fresh_.clear();
      row.cells.walk([&](Cell cell) { fresh_.push_back(cell); });
      tuples_ -= fresh_.size() + total.size();
      replace_beaten(total, fresh_);
      tuples_ += total.size();
    } else if (view.kind == SetKind::kArray) {
      total.add_new_sorted(view.values);
    } else {
      fresh_.clear();
      walk_set(view, [&](Cell cell) { fresh_.push_back(cell); });
      total.add_new_sorted(fresh_);
    }
    set_bytes_ += total.heap_bytes();
    delta_bytes_ += row.cells.heap_bytes();
  }
  if (use == DeltaUse::kForgotten) forget_delta();
  delta_tuples_ = came;
}

// What is in the total and in the delta is not one set any more.
void Index::own_delta() {
  std::vector<OwnDeltaRow> own;
  own.reserve(delta().size());
  for (RowId row = 0; row < whole_; ++row) {
    fresh_.clear();
    total(row).walk([&](Cell cell) { fresh_.push_back(cell); });
    own.push_back({.row = row, .cells = {}});
    own.back().cells.assign_sorted(fresh_);
    delta_bytes_ += own.back().cells.heap_bytes();
  }
  std::ranges::move(delta_, std::back_inserter(own));
  delta_ = std::move(own);
  whole_ = 0;
}

void Index::erase(std::span<const Cell> tuples) {
  std::vector<std::uint64_t> doomed;
  for (std::size_t at = 0; at < tuples.size(); at += order_.size())
    if (const RowId row = rows_.find(tuples.data() + at); row != kNoRow)
      doomed.push_back((std::uint64_t{row} << 32) | tuples[at + order_.size() - 1]);
  if (doomed.empty()) return;
  std::sort(doomed.begin(), doomed.end());
  if (whole_ > 0) own_delta();
  // Returns how many elements of the set went; `doomed` from `from` on names the row's elements.
  const auto shrink = [&](IntSet& set, std::size_t from, std::size_t to) {
    const std::uint64_t before = set.size();
    if (before == 0) return before;
    if (before == 1) {
      const Cell only = set.array()[0];
      while (from < to && static_cast<Cell>(doomed[from]) < only) ++from;
      if (from < to && static_cast<Cell>(doomed[from]) == only) set.clear();
      return before - set.size();
    }
    fresh_.clear();
    set.walk([&](Cell cell) {
      while (from < to && static_cast<Cell>(doomed[from]) < cell) ++from;
      if (from == to || static_cast<Cell>(doomed[from]) != cell) fresh_.push_back(cell);
    });
    if (fresh_.size() < before) set.assign_sorted(fresh_);
    return before - set.size();
  };
  auto delta_row = delta_.begin();
  for (std::size_t from = 0, to = 0; from < doomed.size(); from = to) {
    const auto row = static_cast<RowId>(doomed[from] >> 32);
    while (to < doomed.size() && static_cast<RowId>(doomed[to] >> 32) == row) ++to;
    if (row < next_whole_) continue;  // not in the total yet
    IntSet& total = totals_.change(row);
    set_bytes_ -= total.heap_bytes();
    tuples_ -= shrink(total, from, to);
    set_bytes_ += total.heap_bytes();
    delta_row = std::ranges::lower_bound(delta_row, delta_.end(), row, {}, &OwnDeltaRow::row);
    if (delta_row == delta_.end() || delta_row->row != row) continue;
    IntSet& delta = delta_row->cells;
    delta_bytes_ -= delta.heap_bytes();
    delta_tuples_ -= shrink(delta, from, to);
    delta_bytes_ += delta.heap_bytes();
  }
  std::erase_if(delta_, [](const OwnDeltaRow& row) { return row.cells.empty(); });
}

void Index::forget_delta() {
  whole_ = 0;
  delta_.clear();
  delta_.shrink_to_fit();
  delta_tuples_ = 0;
  delta_bytes_ = 0;
}

void Index::restore_delta(RowId row, const SetView& set) {
  delta_.push_back({.row = row, .cells = {}});
  delta_.back().cells.assign(set);
  delta_tuples_ += set.count;
  delta_bytes_ += delta_.back().cells.heap_bytes();
}

void Index::order_delta() { std::ranges::sort(delta_, {}, &OwnDeltaRow::row); }

const IntSet* Index::find_delta(RowId row) const {
  if (row < whole_) return &total(row);
  const auto found = std::ranges::lower_bound(delta_, row, {}, &OwnDeltaRow::row);
  return found == delta_.end() || found->row != row ? nullptr : &found->cells;
}

std::uint64_t Index::heap_bytes() const {
  std::uint64_t bytes = set_bytes_ + delta_bytes_ + rows_.heap_bytes();
  bytes += totals_.chunk_bytes();
  bytes += (delta_.capacity() + next_delta_.capacity()) * sizeof(OwnDeltaRow);
  bytes += (queued_cells_.capacity() + sort_space_.capacity()) * sizeof(std::uint64_t);
  bytes += (queued_sets_.capacity() + set_sort_space_.capacity()) * sizeof(QueuedSet);
  bytes += (first_.capacity() + first_prefixes_.capacity()) * sizeof(Cell);
  bytes += first_sets_.capacity() * sizeof(const IntSet*);
  for (const RowDirectory& directory : directories_) bytes += directory.heap_bytes();
  return bytes;
}

}  // namespace stratalog
