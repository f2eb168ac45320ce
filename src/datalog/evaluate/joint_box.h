// SPDX-License-Identifier: Apache-2.0
// JointBox: what one rank has for the owners of a shard's tuples, where the ranks are threads of
// one process: tuples, and sets by pointer, apart for each owner. One rank fills a box while all
// evaluate rules; then, after a barrier, each owner takes its part out of the boxes of all ranks.
// Where a box grows large, its tuples are united before more come, so that memory goes by distinct
// tuples, not by derivations. Local: filled by one thread; then taken from by several, each its
// part.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "datalog/evaluate/relation_data.h"
#include "model/word_buffer.h"
#include "relation/index.h"
#include "relation/queue_limit.h"
#include "relation/set_accumulator.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {

class JointBox {
 public:
  // For a shard that is dealt by the hash of columns, in the column order of its primary index.
  // Where a box becomes large it keeps of each row what is `best`, which may be null.
  JointBox(const Shard& shard, int ranks, const BestCells* best = nullptr);

  // Whether a whole set has one owner.
  bool takes_sets() const { return key_in_prefix_; }
  // `tuple` in index order.
  void add(std::span<const Cell> tuple) {
    parts_[owner_of_key(tuple)].tuples.append(tuple);
    added_ += tuple.size();
  }
  // `set` is borrowed until unite_parts(), of bound() too, or clear(); short ones of narrow tuples
  // go as these. Requires takes_sets().
  void add_set(std::span<const Cell> prefix, const IntSet* set);
  // Copies the cells. Requires takes_sets().
  void add_view(std::span<const Cell> prefix, const SetView& set);
  // Every cell of `set` with `tuple`, where it takes place `at`.
  void add_each(std::span<Cell> tuple, std::uint32_t at, const SetView& set);
  // Whoever adds calls this after each set, and after some tuples: forgets duplicates in what has
  // become much, or unites it.
  void bound(SetAccumulator& scratch) {
    if (added_ < kUnseen && held_bytes_ < kMostHeldBytes) return;
    added_ = 0;
    if (is_large()) shorten(scratch);
  }
  // All that was added so far: no set stays borrowed.
  void unite_parts(SetAccumulator& scratch);

  // Queues what `owner` gets in its index; of tuples nothing stays here. The sets stay borrowed
  // until `into` has united them.
  void take(int owner, Index& into, SetAccumulator& scratch, Freshness freshness);
  // Of a box that was never united.
  std::span<const Cell> tuples_for(int owner) const {
    return parts_[static_cast<std::size_t>(owner)].tuples.words();
  }
  void clear();
  // O(ranks).
  std::uint64_t held_bytes() const;

 private:
  struct Part {
    WordBuffer<Cell> tuples;  // back to back, in index order
    WordBuffer<Cell> prefixes;  // of `sets`
    WordBuffer<const IntSet*> sets;
    std::unique_ptr<Index> united;  // what was too much to keep as it came
    QueueLimit limit;  // of `tuples`
  };

  // Bytes of sets that were made on the way, before they are united.
  static constexpr std::uint64_t kMostHeldBytes = std::uint64_t{64} << 20;
  // A look at all parts takes longer than to add a set: so many cells and sets may come without.
  static constexpr std::uint64_t kUnseen = 4096;

  // As owner_of in placement.h says; `tuple` may be a prefix that holds the key.
  std::size_t owner_of_key(std::span<const Cell> tuple) const {
    return scale_hash(hash_columns(tuple, key_places_), static_cast<std::uint32_t>(parts_.size()));
  }
  bool is_large() const;
  void shorten(SetAccumulator& scratch);
  void unite(Part& part, SetAccumulator& scratch);

  std::vector<std::uint32_t> order_;
  const BestCells* best_;
  std::vector<std::uint32_t> key_places_;  // of the placement columns in index order
  bool key_in_prefix_ = true;
  std::vector<Part> parts_;  // by owner
  std::deque<IntSet> held_sets_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t added_ = 0;  // cells of tuples, and sets, since all parts were looked at
};

}  // namespace stratalog::datalog
