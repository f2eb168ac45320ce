// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/relation_data.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "datalog/evaluate/swept_rows.h"

namespace stratalog::datalog {
namespace {

// So many sets are queued for an index before they are united (16 bytes each, and as much to sort).
constexpr std::size_t kMostSets = 8U << 20;

// Queues every tuple of rows of `from` into `to`, another column order of the same relation.
class Transposer {
 public:
  Transposer(const Index& from, Index& to) : to_(to), tuple_(from.arity()), prefix_(to.arity()) {
    for (const std::uint32_t column : to.order())
      for (std::uint32_t i = 0; i < from.arity(); ++i)
        if (from.order()[i] == column) source_.push_back(i);
  }

  // Both stay where they are until unite().
  void add(std::span<const Cell> prefix, const IntSet& cells) {
    const std::uint32_t last = static_cast<std::uint32_t>(tuple_.size()) - 1;
    // The same last column: one row takes the whole set, after what makes most rows.
    if (source_[last] == last && cells.size() > Index::kQueuedAsTuples) {
      sets_.emplace_back(prefix, &cells);
      return;
    }
    std::copy(prefix.begin(), prefix.end(), tuple_.begin());
    cells.walk([&](Cell cell) {
      tuple_[last] = cell;
      for (std::uint32_t i = 0; i <= last; ++i) prefix_[i] = tuple_[source_[i]];
      to_.queue_tuple(prefix_.data());
    });
  }
  // So that no more wait than is good.
  void bound(SetAccumulator& scratch) {
    if (sets_.size() >= kMostSets)
      unite(scratch);
    else
      to_.bound_queue(scratch, Freshness::kNew);
  }
  void unite(SetAccumulator& scratch) {
    for (const auto& [prefix, cells] : sets_) {
      for (std::size_t i = 0; i < prefix.size(); ++i) prefix_[i] = prefix[source_[i]];
      to_.queue_set(to_.find_or_add_row(prefix_.data()), cells);
    }
    sets_.clear();
    to_.unite_queued(scratch, Freshness::kNew);
  }

 private:
  Index& to_;
  std::vector<std::uint32_t> source_;
  std::vector<Cell> tuple_;
  std::vector<Cell> prefix_;
  std::vector<std::pair<std::span<const Cell>, const IntSet*>> sets_;
};

}  // namespace

std::uint64_t Shard::heap_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& index : indices)
    if (index) bytes += index->heap_bytes();
  return bytes;
}

std::uint64_t RelationData::heap_bytes() const {
  std::uint64_t bytes = equivalence ? equivalence->heap_bytes() : 0;
  for (const Shard& shard : shards) bytes += shard.heap_bytes();
  bytes += candidates.capacity() * sizeof(Cell);
  if (growth) bytes += growth->heap_bytes();
  if (swept) bytes += swept->heap_bytes();
  return bytes;
}

std::unique_ptr<Index> make_index(const IndexPlan& plan) {
  return std::make_unique<Index>(plan.order, plan.searched_lengths);
}

void queue_tuple(Shard& shard, std::span<const Cell> tuple) {
  Index& index = shard.primary_index();
  std::array<Cell, kMaxArity> reordered{};
  assert(tuple.size() <= reordered.size());
  for (std::size_t i = 0; i < tuple.size(); ++i) reordered[i] = tuple[index.order()[i]];
  index.queue_tuple(reordered.data());
}

void unite_shard(Shard& shard, SetAccumulator& scratch) {
  shard.primary_index().unite_queued(scratch, Freshness::kUnknown);
}

void advance_shard(Shard& shard, SetAccumulator& scratch, DeltaUse use) {
  Index& primary = shard.primary_index();
  for (const auto& index : shard.indices) {
    if (!index || index.get() == &primary) continue;
    Transposer transposer(primary, *index);
    for (const DeltaRow& row : primary.next_delta()) {
      transposer.add(primary.prefix(row.row), row.cells);
      transposer.bound(scratch);
    }
    transposer.unite(scratch);
    index->advance(use);
  }
  primary.advance(use);
}

void erase_from_shard(Shard& shard, std::span<const Cell> tuples) {
  erase_beside_primary(shard, tuples);
  shard.primary_index().erase(tuples);
}

void erase_beside_primary(Shard& shard, std::span<const Cell> tuples) {
  const auto primary = shard.primary_index().order();
  std::vector<Cell> reordered(tuples.size());
  for (const auto& index : shard.indices) {
    if (!index || index.get() == &shard.primary_index()) continue;
    const std::size_t arity = index->arity();
    for (std::size_t i = 0; i < arity; ++i) {
      const auto from = static_cast<std::size_t>(
          std::find(primary.begin(), primary.end(), index->order()[i]) - primary.begin());
      for (std::size_t at = 0; at < tuples.size(); at += arity)
        reordered[at + i] = tuples[at + from];
    }
    index->erase(reordered);
  }
}

Index& ensure_index(Shard& shard, const RelationPlan& plan, std::uint32_t which,
                    SetAccumulator& scratch) {
  if (shard.indices.size() < plan.indices.size()) shard.indices.resize(plan.indices.size());
  auto& slot = shard.indices[which];
  if (slot) return *slot;
  slot = make_index(plan.indices[which]);
  if (!shard.indices[shard.primary] || shard.primary == which) return *slot;
  const Index& primary = shard.primary_index();
  Transposer transposer(primary, *slot);
  for (RowId row = 0; row < primary.row_count(); ++row) {
    transposer.add(primary.prefix(row), primary.total(row));
    transposer.bound(scratch);
  }
  transposer.unite(scratch);
  slot->advance(DeltaUse::kForgotten);
  slot->forget_delta();
  return *slot;
}

void restore_shard_delta(Shard& shard, const Index& delta, SetAccumulator& scratch) {
  for (const auto& index : shard.indices) {
    if (!index) continue;
    index->forget_delta();
    Index reordered({index->order().begin(), index->order().end()}, {});
    Transposer transposer(delta, reordered);
    for (const DeltaRow& row : delta.next_delta()) transposer.add(delta.prefix(row.row), row.cells);
    transposer.unite(scratch);
    for (const DeltaRow& row : reordered.next_delta())
      index->restore_delta(index->find_row(reordered.prefix(row.row).data()), row.cells.view());
    index->order_delta();
  }
}

}  // namespace stratalog::datalog
