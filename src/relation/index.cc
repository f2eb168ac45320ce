// SPDX-License-Identifier: Apache-2.0
#include "relation/index.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>
#include <numeric>
#include <utility>

#include "model/radix_sort.h"

namespace stratalog {
namespace {

// Up to this many queued cells of a row are sorted directly instead of going through the scratch
// bitmap.
constexpr std::size_t kSortDirectly = 24;
// And so many sets with so many cells together are merged.
constexpr std::size_t kMergedSets = 4;
constexpr std::size_t kMergedCells = 96;
// Fewer are sorted by comparing.
constexpr std::size_t kFewQueued = 64;
// Memory that a row's number is looked up in is asked for so many tuples ahead.
constexpr std::size_t kTuplesAhead = 16;

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
    : order_(std::move(order)), rows_(static_cast<std::uint32_t>(order_.size()) - 1) {
  assert(!order_.empty());
  for (const std::uint32_t length : searched)
    if (length >= rows_.width())
      finds_rows_ = true;
    else if (length >= 1)
      directories_.push_back({.length = length, .keys = PrefixMap(length)});
}

RowId Index::find_or_add_row(const Cell* prefix) {
  if (!first_.empty()) [[unlikely]]
    take_first();
  const RowId row = rows_.find_or_add(prefix);
  if (row < known_rows_) return row;
  ++known_rows_;
  if (row % kChunkRows == 0) totals_.push_back(std::make_unique<IntSet[]>(kChunkRows));
  for (Directory& directory : directories_) add_to(directory, row);
  return row;
}

void Index::add_to(Directory& directory, RowId row) {
  const std::uint32_t key = directory.keys.find_or_add(prefix(row).data());
  if (key >= directory.rows.size()) directory.rows.resize(std::size_t{key} + 1);
  std::vector<RowId>& rows = directory.rows[key];
  if (rows.empty() && key + std::size_t{1} < directory.starts.size()) {
    const auto first = ascending_.begin();
    rows.assign(first + directory.starts[key], first + directory.starts[key + std::size_t{1}]);
    directory_rows_ += rows.size();
  }
  rows.push_back(row);
  ++directory_rows_;
}

std::span<const RowId> Index::rows_under(std::uint32_t length, const Cell* prefix) const {
  for (const Directory& directory : directories_) {
    if (directory.length != length) continue;
    const std::uint32_t key = directory.keys.find(prefix);
    if (key == PrefixMap::kAbsent) return {};
    if (key < directory.rows.size() && !directory.rows[key].empty()) return directory.rows[key];
    const RowId* const starts = directory.starts.data() + key;
    return {ascending_.data() + starts[0], ascending_.data() + starts[1]};
  }
  assert(false);
  return {};
}

void Index::queue_tuples(std::span<const Cell> tuples) {
  if (rows_.size() == 0) {
    first_.append(tuples);
    return;
  }
  const std::size_t arity = order_.size();
  for (std::size_t at = 0; at < tuples.size(); at += arity) {
    const std::size_t ahead = at + (kTuplesAhead * arity);
    if (ahead < tuples.size()) prefetch_row(tuples.data() + ahead);
    queue_tuple(tuples.data() + at);
  }
}

void Index::shorten_queue(SetAccumulator& scratch, Freshness freshness) {
  const std::uint64_t waiting = queued();
  // The first tuples stay together as long as it pays, because rows are best made of all of them.
  if (!first_.empty() && held_bytes_ < kMostHeldBytes && queue_limit_.let_wait(first_, arity()))
    return;
  const std::uint64_t before = next_tuples_;
  unite_queued(scratch, freshness);
  queue_limit_.note(waiting, next_tuples_ - before, tuples_ + next_tuples_);
}

// What came before there were rows.
void Index::take_first() {
  const std::size_t arity = order_.size();
  if (first_.size() >= kFewQueued * arity) {
    const ColumnRanges ranges(first_.words(), static_cast<std::uint32_t>(arity));
    if (ranges.bits() <= PackedTuples<std::uint64_t>::kMostBits)
      return make_rows<std::uint64_t>(ranges);
    if (ranges.bits() <= PackedTuples<WideKey>::kMostBits) return make_rows<WideKey>(ranges);
  }
  const WordBuffer<Cell> first = std::exchange(first_, {});
  find_or_add_row(first.words().data());
  queue_tuples(first.words());
}

// Sets of the first tuples are the next delta, as if they had been queued and united.
template <typename Key>
void Index::make_rows(const ColumnRanges& ranges) {
  PackedTuples<Key> tuples(first_.words(), ranges);
  first_.release();
  tuples.sort();
  const std::span<const Key> keys = tuples.keys();
  const std::uint32_t width = prefix_width();
  const auto same_row = [&](Key a, Key b) {
    return tuples.head(a, width) == tuples.head(b, width);
  };
  std::size_t rows = 1;
  for (std::size_t i = 1; i < keys.size(); ++i) rows += same_row(keys[i - 1], keys[i]) ? 0 : 1;
  WordBuffer<Cell> prefixes;
  Cell* prefix = prefixes.extend(rows * width);
  next_delta_.resize(rows);
  std::size_t at = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const Key first = keys[at];
    for (std::uint32_t c = 0; c < width; ++c) *prefix++ = tuples.cell(first, c);
    fresh_.clear();
    for (; at < keys.size() && same_row(first, keys[at]); ++at)
      fresh_.push_back(tuples.cell(keys[at], width));
    if (best_ != nullptr) best_->keep_best(fresh_, IntSet());
    next_delta_[row].row = static_cast<RowId>(row);
    next_delta_[row].cells.assign_sorted(fresh_);
    next_tuples_ += fresh_.size();
  }
  rows_.assign_ascending(prefixes.words());
  if (finds_rows_) rows_.index_keys();
  known_rows_ = rows_.size();
  for (std::size_t row = 0; row < rows; row += kChunkRows)
    totals_.push_back(std::make_unique<IntSet[]>(kChunkRows));
  if (directories_.empty()) return;
  ascending_.resize(rows);
  std::iota(ascending_.begin(), ascending_.end(), 0);
  for (Directory& directory : directories_) make_directory(directory);
}

void Index::make_directory(Directory& directory) {
  const auto same_key = [&](RowId a, RowId b) {
    return std::ranges::equal(prefix(a).first(directory.length), prefix(b).first(directory.length));
  };
  WordBuffer<Cell> keys;
  for (RowId row = 0; row < rows_.size(); ++row) {
    if (row > 0 && same_key(row - 1, row)) continue;
    directory.starts.push_back(row);
    keys.append(prefix(row).first(directory.length));
  }
  directory.starts.push_back(rows_.size());
  directory.keys.assign_ascending(keys.words());
  directory.keys.index_keys();
}

void Index::queue_view(RowId row, const SetView& set) {
  if (set.count <= kSortDirectly) {
    walk_set(set, [&](Cell cell) { queue(row, cell); });
    return;
  }
  std::vector<Cell> cells;
  cells.reserve(set.count);
  walk_set(set, [&](Cell cell) { cells.push_back(cell); });
  held_sets_.emplace_back().assign_sorted(cells);
  held_bytes_ += held_sets_.back().heap_bytes();
  queue_set(row, &held_sets_.back());
}

void Index::sort_queued() {
  const auto row_of_cell = [](std::uint64_t queued) { return queued_row(queued); };
  const auto row_of_set = [](const QueuedSet& queued) { return queued.row; };
  // Few cells of a row are ordered later, many go through the scratch bitmap anyway.
  sort_by_row(queued_cells_, sort_space_, row_of_cell);
  sort_by_row(queued_sets_, set_sort_space_, row_of_set);
}

// A few short sets are merged: going through the scratch bitmap takes longer. False if there are
// too many for that.
bool Index::unite_short(std::span<const QueuedSet> sets, const IntSet& present) {
  if (sets.size() > kMergedSets) return false;
  std::size_t most = 0;
  for (const QueuedSet& queued : sets) {
    if (queued.set->form() == IntSet::Form::kBitmap) return false;
    most += queued.set->size();
  }
  if (most > kMergedCells) return false;
  std::array<Cell, kMergedCells> first;
  std::array<Cell, kMergedCells> second;
  std::span<const Cell> all = sets[0].set->array();
  Cell* to = first.data();
  Cell* next = second.data();
  for (const QueuedSet& queued : sets.subspan(1)) {
    all = {to, unite_sorted(all, queued.set->array(), to)};
    std::swap(to, next);
  }
  // What is kept is written over what comes next, at most.
  fresh_.resize(all.size());
  std::size_t kept = 0;
  for (const Cell cell : all) {
    fresh_[kept] = cell;
    kept += present.contains(cell) ? 0 : 1;
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
  if (cells.empty() && unite_short(sets, present)) return;
  for (const std::uint64_t q : cells) scratch.add(static_cast<Cell>(q));
  for (const QueuedSet& queued : sets) scratch.add(*queued.set);
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
    while (s_end < queued_sets_.size() && queued_sets_[s_end].row == row) ++s_end;
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
  if (!first_.empty()) take_first();
  if (queued_cells_.empty() && queued_sets_.empty()) return;
  // What was found earlier in this round, by ascending rows, is merged with what came since: both
  // are disjoint with the total, but not with each other.
  std::vector<DeltaRow> earlier = std::exchange(next_delta_, {});
  std::size_t e = 0;
  for_each_queued_row(scratch, freshness, [&](RowId row) {
    for (; e < earlier.size() && earlier[e].row < row; ++e)
      next_delta_.push_back(std::move(earlier[e]));
    if (e == earlier.size() || earlier[e].row != row) {
      next_delta_.push_back({.row = row, .cells = {}});
      next_delta_.back().cells.assign_sorted(fresh_);
      next_tuples_ += fresh_.size();
      return;
    }
    merge_into(earlier[e]);
    next_delta_.push_back(std::move(earlier[e++]));
  });
  std::move(earlier.begin() + static_cast<std::ptrdiff_t>(e), earlier.end(),
            std::back_inserter(next_delta_));
}

// What has come since, in fresh_.
void Index::merge_into(DeltaRow& earlier) {
  IntSet& found = earlier.cells;
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
  for (const DeltaRow& row : next_delta_) {
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
  assert(values.size() == next_delta_.size());
  next_tuples_ = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    DeltaRow& row = next_delta_[i];
    if (total(row.row).contains(values[i]))
      row.cells.clear();
    else
      row.cells.assign_sorted(values.subspan(i, 1));
    next_tuples_ += row.cells.size();
  }
  std::erase_if(next_delta_, [](const DeltaRow& row) { return row.cells.empty(); });
}

void Index::advance(DeltaUse use) {
  assert(queued() == 0);
  delta_ = std::move(next_delta_);
  forget_next_delta();
  delta_tuples_ = 0;
  delta_bytes_ = 0;
  for (DeltaRow& row : delta_) {
    IntSet& total = mutable_total(row.row);
    delta_tuples_ += row.cells.size();
    if (use == DeltaUse::kForgotten && total.empty()) {
      set_bytes_ -= total.heap_bytes();
      total = std::move(row.cells);
      set_bytes_ += total.heap_bytes();
      continue;
    }
    set_bytes_ -= total.heap_bytes();
    const SetView view = row.cells.view();
    if (keeps_latest_) {
      tuples_ -= total.size();
      fresh_.clear();
      row.cells.walk([&](Cell cell) { fresh_.push_back(cell); });
      total.assign_sorted(fresh_);
    } else if (best_ != nullptr && !total.empty()) {
      fresh_.clear();
      row.cells.walk([&](Cell cell) { fresh_.push_back(cell); });
      tuples_ -= fresh_.size() + total.size();  // what is new is counted with the others below
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
  tuples_ += delta_tuples_;
  if (use == DeltaUse::kKept) return;
  const std::uint64_t came = delta_tuples_;
  forget_delta();
  delta_tuples_ = came;
}

void Index::erase(std::span<const Cell> tuples) {
  std::vector<std::uint64_t> doomed;
  for (std::size_t at = 0; at < tuples.size(); at += order_.size())
    if (const RowId row = rows_.find(tuples.data() + at); row != kNoRow)
      doomed.push_back((std::uint64_t{row} << 32) | tuples[at + order_.size() - 1]);
  std::sort(doomed.begin(), doomed.end());
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
    IntSet& total = mutable_total(row);
    set_bytes_ -= total.heap_bytes();
    tuples_ -= shrink(total, from, to);
    set_bytes_ += total.heap_bytes();
    delta_row = std::ranges::lower_bound(delta_row, delta_.end(), row, {}, &DeltaRow::row);
    if (delta_row == delta_.end() || delta_row->row != row) continue;
    IntSet& delta = delta_row->cells;
    delta_bytes_ -= delta.heap_bytes();
    delta_tuples_ -= shrink(delta, from, to);
    delta_bytes_ += delta.heap_bytes();
  }
  std::erase_if(delta_, [](const DeltaRow& row) { return row.cells.empty(); });
}

void Index::forget_delta() {
  delta_.clear();
  delta_.shrink_to_fit();
  delta_tuples_ = 0;
  delta_bytes_ = 0;
}

void Index::restore_delta(RowId row, const SetView& set) {
  std::vector<Cell> cells;
  cells.reserve(set.count);
  walk_set(set, [&](Cell cell) { cells.push_back(cell); });
  delta_.push_back({.row = row, .cells = {}});
  delta_.back().cells.assign_sorted(cells);
  delta_tuples_ += cells.size();
  delta_bytes_ += delta_.back().cells.heap_bytes();
}

void Index::order_delta() { std::ranges::sort(delta_, {}, &DeltaRow::row); }

const DeltaRow* Index::find_delta(RowId row) const {
  const auto found = std::ranges::lower_bound(delta_, row, {}, &DeltaRow::row);
  return found == delta_.end() || found->row != row ? nullptr : &*found;
}

std::uint64_t Index::heap_bytes() const {
  std::uint64_t bytes = set_bytes_ + delta_bytes_ + rows_.heap_bytes();
  bytes += totals_.size() * kChunkRows * sizeof(IntSet);
  bytes += (delta_.capacity() + next_delta_.capacity()) * sizeof(DeltaRow);
  bytes += (queued_cells_.capacity() + sort_space_.capacity()) * sizeof(std::uint64_t);
  bytes += (queued_sets_.capacity() + set_sort_space_.capacity()) * sizeof(QueuedSet);
  bytes += first_.capacity() * sizeof(Cell);
  bytes += (directory_rows_ + ascending_.capacity()) * sizeof(RowId);
  for (const Directory& directory : directories_)
    bytes += directory.keys.heap_bytes() + directory.starts.capacity() * sizeof(RowId) +
             directory.rows.capacity() * sizeof(std::vector<RowId>);
  return bytes;
}

}  // namespace stratalog
