// SPDX-License-Identifier: Apache-2.0
// Outbound: head tuples on their way to other ranks, united before they travel. Rules derive the
// same tuple many times; an index of what leaves this rank in a round sends each once, as sets
// where they are sets, and keeps the memory of a round by the number of distinct tuples instead of
// derivations. Where tuples leave while rules still run, what has left is remembered until the
// round ends; where only the best value of a key is kept, to the end, and no other leaves. One for
// each shard of a head relation, shared by its rules. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datalog/evaluate/relation_data.h"
#include "relation/index.h"
#include "relation/set_accumulator.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

class Outbound {
 public:
  // For tuples of `shard` in the column order of its primary index. Of those with `best`, which may
  // be null, only values leave that beat all that have left before.
  Outbound(const Shard& shard, int ranks, const BestCells* best = nullptr);

  void prefetch(const Cell* prefix) const { index_->prefetch_row(prefix); }
  // `tuple` in index order.
  void add(std::span<const Cell> tuple, SetAccumulator& scratch);
  // `set` is borrowed until unite or post.
  void add_set(std::span<const Cell> prefix, const IntSet* set, SetAccumulator& scratch);
  // Copies the cells.
  void add_view(std::span<const Cell> prefix, const SetView& set, SetAccumulator& scratch);
  // No set stays borrowed.
  void unite(SetAccumulator& scratch) { index_->unite_queued(scratch, freshness()); }
  // In the middle of a round: hands what is there to the mail, if it is much.
  void post_if_full(TupleMail& mail, int stream, SetAccumulator& scratch);
  // Hands everything to the mail under `stream` and starts again from nothing.
  void post(TupleMail& mail, int stream, SetAccumulator& scratch);

 private:
  // Where the index knows what has left, that does not leave again.
  Freshness freshness() const {
    return remembers_ || best_ != nullptr ? Freshness::kUnknown : Freshness::kNew;
  }
  void make_index();
  void bound_queue(SetAccumulator& scratch);
  // How many rows there were.
  std::uint64_t hand_over(TupleMail& mail, int stream, SetAccumulator& scratch);
  int owner(std::span<const Cell> tuple);

  std::vector<std::uint32_t> order_;
  const BestCells* best_;
  std::vector<std::uint32_t>
      key_places_;  // where in index order the placement columns stand, in their own order
  const BucketMap* buckets_ = nullptr;
  bool key_in_prefix_ = true;  // a whole set has one owner
  int ranks_ = 1;
  std::unique_ptr<Index> index_;
  std::uint64_t waiting_ = 0;  // derivations since tuples were handed over
  bool remembers_ = false;  // what has left, as the index's total
  std::vector<Cell> key_;  // scratch
  std::vector<Cell> tuple_;  // scratch
  std::vector<Cell> declared_;  // scratch
};

}  // namespace stratalog::datalog
