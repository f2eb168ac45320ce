// SPDX-License-Identifier: Apache-2.0
// Index: one column order of one rank's part of a relation: rows (the distinct prefixes of arity-1
// columns), and for each row the set of last-column values, as total and as the delta of the last
// round. New tuples and whole sets are queued during a round and become the next delta at its end
// (semi-naive evaluation), so sets that a join borrows never change under it. Directories find the
// rows under a shorter prefix. Local; not thread-safe. Arity >= 1.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "model/tuple_group.h"
#include "model/word_buffer.h"
#include "relation/best_cells.h"
#include "relation/int_set.h"
#include "relation/packed_tuples.h"
#include "relation/prefix_map.h"
#include "relation/queue_limit.h"
#include "relation/row_directory.h"
#include "relation/row_sets.h"
#include "relation/set_accumulator.h"

namespace stratalog {

enum class Freshness : std::uint8_t {
  kUnknown,  // queued tuples may be present already: subtract
  kNew,  // the caller knows that they are not (secondary indices)
};

enum class DeltaUse : std::uint8_t { kKept, kForgotten };

class Index {
 public:
  static constexpr RowId kNoRow = PrefixMap::kAbsent;
  // Sets up to this size are better queued as tuples while there are no rows: they are sorted with
  // all others.
  static constexpr std::uint64_t kQueuedAsTuples = 4;

  // `order[i]` is the declared column that stands at place i. `searched` lists the lengths of what
  // will be looked for: rows_under() is for those of 1 .. arity-2; longer ones find rows quickly.
  Index(std::vector<std::uint32_t> order, std::span<const std::uint32_t> searched);

  // From now on a row keeps only what no other of its values beats: of what is queued only such
  // values are new, and they replace those that they beat when the index advances. `best` is
  // borrowed; null ends it.
  void keep_best(const BestCells* best) { best_ = best; }

  // From now on what is new in a row takes the place of what it held, all of it.
  void keep_latest(bool keeps) { keeps_latest_ = keeps; }

  std::uint32_t arity() const { return static_cast<std::uint32_t>(order_.size()); }
  std::span<const std::uint32_t> order() const { return order_; }
  std::uint32_t prefix_width() const { return rows_.width(); }

  RowId row_count() const { return rows_.size(); }
  // So many of the first ones ascend by their prefixes.
  RowId ordered_rows() const { return ordered_rows_; }
  std::span<const Cell> prefix(RowId row) const { return rows_.key(row); }
  // The prefixes of the rows there are now; may be read beside everything else.
  FrozenKeys freeze_prefixes() const { return rows_.freeze_keys(); }
  const IntSet& total(RowId row) const { return totals_[row]; }
  RowId find_row(const Cell* prefix) const { return rows_.find(prefix); }
  // Whether any tuple begins so.
  bool has_row(const Cell* prefix) const {
    const RowId row = find_row(prefix);
    return row != kNoRow && !total(row).empty();
  }
  void prefetch_row(const Cell* prefix) const { rows_.prefetch(prefix); }
  void prefetch_total(RowId row) const { prefetch_for_reading(&total(row)); }
  RowId find_or_add_row(const Cell* prefix);
  // Rows whose first `length` prefix cells equal `prefix`; length must have been announced as
  // searched. Valid until rows are added.
  FoundRows rows_under(std::uint32_t length, const Cell* prefix) const {
    return directory_of(length).find(prefix, rows_);
  }
  // Brings closer what find_row() or rows_under() will look at.
  void prefetch_under(std::uint32_t length, const Cell* prefix) const {
    if (length == rows_.width())
      rows_.prefetch(prefix);
    else
      directory_of(length).prefetch(prefix, rows_);
  }
  // And then what they will look at behind that.
  void prefetch_found_under(std::uint32_t length, const Cell* prefix) const {
    if (length == rows_.width())
      rows_.prefetch_found(prefix);
    else
      directory_of(length).prefetch_found(prefix, rows_);
  }

  // Queue for the next round. Tuples (in index order) that come while there are no rows are sorted
  // together later, and the rows made from them in order, which takes no look-up for each.
  void queue_tuple(const Cell* tuple) {
    if (rows_.size() == 0)
      first_.append({tuple, order_.size()});
    else
      queue(find_or_add_row(tuple), tuple[order_.size() - 1]);
  }
  // Many, back to back.
  void queue_tuples(std::span<const Cell> tuples);
  // The same without a copy, if nothing was queued before and there are no rows; or else false.
  bool take_over(WordBuffer<Cell>& tuples) {
    if (rows_.size() > 0 || !first_.empty()) return false;
    first_ = std::exchange(tuples, {});
    return true;
  }
  void queue(RowId row, Cell cell) { queued_cells_.push_back((std::uint64_t{row} << 32) | cell); }
  // `set` is borrowed until unite_queued().
  void queue_set(RowId row, const IntSet* set) {
    if (set->size() == 1)
      queue(row, set->array()[0]);
    else
      queued_sets_.push_back({row, set});
  }
  // Of a row that may not be there yet. While there are no rows, short sets are queued as tuples,
  // and others wait for rows that are made of all prefixes together.
  void queue_set(const Cell* prefix, const IntSet* set);
  // Copies the cells.
  void queue_view(RowId row, const SetView& set);
  void queue_view(const Cell* prefix, const SetView& set);
  std::uint64_t queued() const {
    return queued_cells_.size() + queued_sets_.size() + first_sets_.size() +
           (first_.empty() ? 0 : first_.size() / order_.size());
  }
  // Whoever queues derivations calls this now and then: what is queued may be united, or duplicates
  // among it forgotten, so that no more wait than is good.
  void bound_queue(SetAccumulator& scratch, Freshness freshness) {
    if (queue_limit_.is_reached(queued()) || held_bytes_ >= kMostHeldBytes)
      shorten_queue(scratch, freshness);
  }
  // Unites what is queued so far into the next delta and releases all borrowed sets. Called at
  // least once at the end of each round, for all indices of a stratum before any of them is
  // advanced; more often to bound the memory of rounds with many derivations.
  void unite_queued(SetAccumulator& scratch, Freshness freshness);
  // The next delta becomes the delta and joins the total; the former delta is forgotten. Requires
  // that nothing is queued. Where nobody reads the delta its sets move, and only delta_tuples()
  // tells of it.
  void advance(DeltaUse use = DeltaUse::kKept);
  // What unite_queued() has found new so far in this round.
  DeltaRows next_delta() const { return {totals_, next_whole_, next_delta_}; }
  // Known tuples that what is new so far beats: appended to `tuples` in index order, back to back.
  void append_beaten(std::vector<Cell>& tuples) const;
  // `values[i]` instead of all that next_delta()[i] has; nothing if its row holds that.
  void replace_next_delta(std::span<const Cell> values);
  void forget_next_delta();

  DeltaRows delta() const { return {totals_, whole_, delta_}; }
  // Null where the row has none.
  const IntSet* find_delta(RowId row) const;
  std::uint64_t delta_tuples() const { return delta_tuples_; }
  std::uint64_t tuples() const { return tuples_; }
  void forget_delta();
  // Puts back a checkpoint's delta (its tuples are in the total already): rows in any order, then
  // order_delta().
  void restore_delta(RowId row, const SetView& set);
  void order_delta();

  // Takes tuples (in index order, back to back; repetitions and unknown ones are passed over) out
  // of the total and the delta. Rows stay, perhaps empty. Between rounds: nothing is queued, and
  // nobody borrows a set.
  void erase(std::span<const Cell> tuples);

  // `tuple` is in index order.
  bool contains(const Cell* tuple) const {
    const RowId row = find_row(tuple);
    return row != kNoRow && total(row).contains(tuple[order_.size() - 1]);
  }
  // About what pack_total() makes of it, or less.
  std::uint64_t packed_bytes() const { return set_bytes_ + (std::uint64_t{8} * rows_.size()); }
  std::uint64_t heap_bytes() const;

 private:
  struct QueuedSet {
    RowId row = 0;
    const IntSet* set = nullptr;
  };
  // So many bytes of sets may be copied for the queue.
  static constexpr std::uint64_t kMostHeldBytes = std::uint64_t{64} << 20;

  const RowDirectory& directory_of(std::uint32_t length) const {
    std::size_t d = 0;
    while (directories_[d].length() != length) ++d;
    return directories_[d];
  }
  bool suits_first(std::uint64_t cells) const {
    return rows_.size() == 0 && cells <= kQueuedAsTuples;
  }
  // First tuples are what most rows are made of where there are more than so many for each set.
  static constexpr std::size_t kTuplesOfASet = 4;
  bool has_first() const { return !first_.empty() || !first_sets_.empty(); }
  void take_first();
  void make_first_rows();
  const IntSet* hold(const SetView& set);
  void shorten_queue(SetAccumulator& scratch, Freshness freshness);
  template <typename Key>
  void make_rows(const ColumnRanges& ranges);
  void sort_queued();
  void merge_into(IntSet& found);
  void own_delta();
  void replace_beaten(IntSet& set, std::span<const Cell> cells);
  // Collects into fresh_ what is queued for `row` and not in its total.
  bool unite_short(std::span<const std::uint64_t> cells, std::span<const QueuedSet> sets,
                   const IntSet& present);
  void unite_row(RowId row, std::span<const std::uint64_t> cells, std::span<const QueuedSet> sets,
                 SetAccumulator& scratch, Freshness freshness);
  template <typename Sink>
  void for_each_queued_row(SetAccumulator& scratch, Freshness freshness, Sink&& sink);

  std::vector<std::uint32_t> order_;
  const BestCells* best_ = nullptr;
  bool keeps_latest_ = false;
  PrefixMap rows_;
  RowSets totals_;
  WordBuffer<Cell> first_;  // tuples that came before there were rows
  WordBuffer<Cell> first_prefixes_;  // of sets that did
  WordBuffer<const IntSet*> first_sets_;
  bool finds_rows_ = false;  // whoever made the plan looks for whole prefixes
  std::vector<RowDirectory> directories_;
  // Rows that were made in order, all new: of the delta their totals, of the next one hidden ones.
  RowId whole_ = 0;
  RowId next_whole_ = 0;
  std::vector<OwnDeltaRow> delta_;  // ascending rows behind those
  std::vector<OwnDeltaRow> next_delta_;  // disjoint with the total; ascending rows behind those
  std::uint64_t next_tuples_ = 0;  // in the next delta
  QueueLimit queue_limit_;
  std::vector<std::uint64_t> queued_cells_;
  std::vector<std::uint64_t> sort_space_;
  std::vector<QueuedSet> queued_sets_;
  std::vector<QueuedSet> set_sort_space_;
  std::deque<IntSet> held_sets_;
  std::uint64_t held_bytes_ = 0;
  std::vector<Cell> fresh_;
  RowId known_rows_ = 0;
  RowId ordered_rows_ = 0;
  std::uint64_t tuples_ = 0;
  std::uint64_t delta_tuples_ = 0;
  std::uint64_t set_bytes_ = 0;
  std::uint64_t delta_bytes_ = 0;
};

}  // namespace stratalog
