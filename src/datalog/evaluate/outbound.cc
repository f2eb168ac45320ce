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

}  // namespace

Outbound::Outbound(const Shard& shard, int ranks)
    : order_(shard.primary_index().order().begin(), shard.primary_index().order().end()),
      buckets_(shard.buckets ? &*shard.buckets : nullptr),
      key_in_prefix_(buckets_ == nullptr),
      ranks_(ranks),
      index_(std::make_unique<Index>(order_, std::vector<std::uint32_t>{})),
      tuple_(order_.size()),
      declared_(order_.size()) {
  for (const std::uint32_t column : shard.placement.columns) {
    const auto at = std::find(order_.begin(), order_.end(), column) - order_.begin();
    key_places_.push_back(static_cast<std::uint32_t>(at));
    key_in_prefix_ &= static_cast<std::size_t>(at) + 1 < order_.size();
  }
}

int Outbound::owner(std::span<const Cell> tuple) {
  key_.clear();
  for (const std::uint32_t place : key_places_) key_.push_back(tuple[place]);
  if (buckets_ != nullptr)
    for (std::size_t i = 0; i < order_.size(); ++i) declared_[order_[i]] = tuple[i];
  return owner_of(key_, declared_, buckets_, ranks_);
}

void Outbound::bound_queue(SetAccumulator& scratch) {
  index_->bound_queue(scratch, Freshness::kNew);
}

void Outbound::add(std::span<const Cell> tuple, SetAccumulator& scratch) {
  bound_queue(scratch);
  index_->queue_tuple(tuple.data());
}

void Outbound::add_set(std::span<const Cell> prefix, const IntSet* set, SetAccumulator& scratch) {
  bound_queue(scratch);
  index_->queue_set(index_->find_or_add_row(prefix.data()), set);
}

void Outbound::add_view(std::span<const Cell> prefix, const SetView& set, SetAccumulator& scratch) {
  bound_queue(scratch);
  index_->queue_view(index_->find_or_add_row(prefix.data()), set);
}

void Outbound::post(TupleMail& mail, int stream, SetAccumulator& scratch) {
  index_->unite_queued(scratch, Freshness::kNew);
  std::uint64_t rows = 0;
  for (const DeltaRow& row : index_->next_delta()) {
    ++rows;
    const std::span<const Cell> prefix = index_->prefix(row.row);
    std::copy(prefix.begin(), prefix.end(), tuple_.begin());
    if (key_in_prefix_) {
      mail.append_group(owner(tuple_), stream, {.prefix = prefix, .set = row.cells.view()});
      continue;
    }
    row.cells.walk([&](Cell cell) {
      tuple_.back() = cell;
      mail.append(owner(tuple_), stream, tuple_);
    });
  }
  if (index_->row_count() > std::max(kKeepFloor, kKeepFactor * rows))
    index_ = std::make_unique<Index>(order_, std::vector<std::uint32_t>{});
  else
    index_->forget_next_delta();
}

}  // namespace stratalog::datalog
