// SPDX-License-Identifier: Apache-2.0
// What an index gets while it has no rows: kept as tuples, sorted together, and made rows in order.
#include <algorithm>
#include <utility>

#include "model/set_walk.h"
#include "relation/index.h"

namespace stratalog {
namespace {

// Fewer are not worth being sorted as integers.
constexpr std::size_t kFewFirst = 64;
// Memory that a row's number is looked up in is asked for so many tuples ahead.
constexpr std::size_t kTuplesAhead = 16;

}  // namespace

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

void Index::queue_set(const Cell* prefix, const IntSet* set) {
  if (suits_first(set->size())) return queue_view(prefix, set->view());
  if (rows_.size() > 0) return queue_set(find_or_add_row(prefix), set);
  first_prefixes_.append({prefix, order_.size() - 1});
  first_sets_.append(set);
}

void Index::queue_view(const Cell* prefix, const SetView& set) {
  if (rows_.size() > 0) return queue_view(find_or_add_row(prefix), set);
  if (!suits_first(set.count)) return queue_set(prefix, hold(set));
  walk_set(set, [&](Cell cell) {
    first_.append({prefix, order_.size() - 1});
    first_.append(cell);
  });
}

// What came before there were rows. Where there are sets among many tuples, their rows are made
// with all others, of a tuple of each.
void Index::take_first() {
  const WordBuffer<Cell> prefixes = std::exchange(first_prefixes_, {});
  const WordBuffer<const IntSet*> sets = std::exchange(first_sets_, {});
  const std::size_t width = order_.size() - 1;
  const bool are_few = first_.size() > kTuplesOfASet * order_.size() * sets.size();
  for (std::size_t s = 0; s < sets.size() && are_few; ++s) {
    first_.append(prefixes.words().subspan(s * width, width));
    first_.append(first_of(sets.words()[s]->view()));
  }
  if (are_few) make_first_rows();
  const WordBuffer<Cell> tuples = std::exchange(first_, {});
  for (std::size_t s = 0; s < sets.size(); ++s)
    queue_set(find_or_add_row(prefixes.words().data() + (s * width)), sets.words()[s]);
  queue_tuples(tuples.words());
}

void Index::make_first_rows() {
  const std::size_t arity = order_.size();
  if (first_.size() >= kFewFirst * arity) {
    const ColumnRanges ranges(first_.words(), static_cast<std::uint32_t>(arity));
    if (ranges.bits() <= PackedTuples<std::uint64_t>::kMostBits)
      return make_rows<std::uint64_t>(ranges);
    if (ranges.bits() <= PackedTuples<WideKey>::kMostBits) return make_rows<WideKey>(ranges);
  }
  const WordBuffer<Cell> first = std::exchange(first_, {});
  find_or_add_row(first.words().data());
  queue_tuples(first.words());
}

// The first tuples are the next delta, as if they had been queued and united. Their sets are made
// where they stay, hidden until the index advances.
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
  RowId rows = 1;
  for (std::size_t i = 1; i < keys.size(); ++i) rows += same_row(keys[i - 1], keys[i]) ? 0 : 1;
  rows_.assign_ascending(rows, [&](Cell* prefix) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0 && same_row(keys[i - 1], keys[i])) continue;
      for (std::uint32_t c = 0; c < width; ++c) *prefix++ = tuples.cell(keys[i], c);
    }
  });
  if (finds_rows_) rows_.index_keys();
  known_rows_ = rows_.size();
  ordered_rows_ = rows;
  totals_.make_room(rows);
  totals_.hide();
  next_whole_ = rows;
  std::size_t at = 0;
  for (RowId row = 0; row < rows; ++row) {
    const Key first = keys[at];
    fresh_.clear();
    for (; at < keys.size() && same_row(first, keys[at]); ++at)
      fresh_.push_back(tuples.cell(keys[at], width));
    if (best_ != nullptr) best_->keep_best(fresh_, IntSet());
    totals_.change(row).assign_sorted(fresh_);
    next_tuples_ += fresh_.size();
  }
  for (RowDirectory& directory : directories_) directory.assign_ascending(rows_);
}

}  // namespace stratalog
