// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/outbound.h"

#include <algorithm>

#include "datalog/evaluate/placement.h"

namespace stratalog::datalog {
namespace {

// The numbering of prefixes is kept from round to round, because thin rounds are many; it is
// dropped when it has grown to this many times what a round needs.
constexpr std::uint64_t kKeepFactor = 16;
constexpr std::uint64_t kKeepFloor = 1U << 16;
// In the middle of a round so many derivations for each other rank are worth uniting.
constexpr std::uint64_t kFullPerRank = 1U << 15;

}  // namespace

Outbound::Outbound(const Shard& shard, int ranks, const BestCells* best)
    : order_(shard.primary_index().order().begin(), shard.primary_index().order().end()),
      best_(best),
      buckets_(shard.buckets ? &*shard.buckets : nullptr),
      key_in_prefix_(buckets_ == nullptr),
      ranks_(ranks),
      tuple_(order_.size()),
      declared_(order_.size()) {
  make_index();
  for (const std::uint32_t column : shard.placement.columns) {
    const auto at = std::find(order_.begin(), order_.end(), column) - order_.begin();
    key_places_.push_back(static_cast<std::uint32_t>(at));
    key_in_prefix_ &= static_cast<std::size_t>(at) + 1 < order_.size();
  }
}

void Outbound::make_index() {
  index_ = std::make_unique<Index>(order_, std::vector<std::uint32_t>{});
  index_->keep_best(best_);
  remembers_ = false;
}

int Outbound::owner(std::span<const Cell> tuple) {
  key_.clear();
  for (const std::uint32_t place : key_places_) key_.push_back(tuple[place]);
  if (buckets_ != nullptr)
    for (std::size_t i = 0; i < order_.size(); ++i) declared_[order_[i]] = tuple[i];
  return owner_of(key_, declared_, buckets_, ranks_);
}

void Outbound::bound_queue(SetAccumulator& scratch) { index_->bound_queue(scratch, freshness()); }

void Outbound::add(std::span<const Cell> tuple, SetAccumulator& scratch) {
  bound_queue(scratch);
  ++waiting_;
  index_->queue_tuple(tuple.data());
}

void Outbound::add_set(std::span<const Cell> prefix, const IntSet* set, SetAccumulator& scratch) {
  bound_queue(scratch);
  waiting_ += set->size();
  index_->queue_set(prefix.data(), set);
}

void Outbound::add_view(std::span<const Cell> prefix, const SetView& set, SetAccumulator& scratch) {
  bound_queue(scratch);
  waiting_ += set.count;
  index_->queue_view(prefix.data(), set);
}

std::uint64_t Outbound::hand_over(TupleMail& mail, int stream, SetAccumulator& scratch) {
  unite(scratch);
  waiting_ = 0;
  std::uint64_t rows = 0;
  for (const DeltaRow& row : index_->next_delta()) {
    ++rows;
    const std::span<const Cell> prefix = index_->prefix(row.row);
    std::copy(prefix.begin(), prefix.end(), tuple_.begin());
    // A set of one cell goes as a tuple.
    if (key_in_prefix_ && best_ == nullptr) {
      mail.append_group(owner(tuple_), stream, {.prefix = prefix, .set = row.cells.view()});
      continue;
    }
    row.cells.walk([&](Cell cell) {
      tuple_.back() = cell;
      mail.append(owner(tuple_), stream, tuple_);
    });
  }
  return rows;
}

void Outbound::post_if_full(TupleMail& mail, int stream, SetAccumulator& scratch) {
  if (waiting_ < kFullPerRank * static_cast<std::uint64_t>(ranks_ - 1)) return;
  hand_over(mail, stream, scratch);
  index_->advance(DeltaUse::kForgotten);
  remembers_ = true;
}

void Outbound::post(TupleMail& mail, int stream, SetAccumulator& scratch) {
  const std::uint64_t rows = hand_over(mail, stream, scratch);
  const bool forgets = remembers_ && best_ == nullptr;
  if (forgets || index_->row_count() > std::max(kKeepFloor, kKeepFactor * rows))
    make_index();
  else if (best_ != nullptr)
    index_->advance(DeltaUse::kForgotten);
  else
    index_->forget_next_delta();
}

}  // namespace stratalog::datalog
