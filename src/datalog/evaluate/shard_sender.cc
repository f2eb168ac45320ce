// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/shard_sender.h"

#include <algorithm>
#include <cassert>

#include "datalog/evaluate/placement.h"
#include "model/set_walk.h"

namespace stratalog::datalog {

ShardSender::ShardSender(EngineState& state, const Shard& shard, TupleMail* mail, CopyMail* copies)
    : state_(state),
      mail_(mail),
      copies_(copies),
      placement_(shard.placement),
      buckets_(shard.buckets),
      order_(shard.primary_index().order().begin(), shard.primary_index().order().end()),
      declared_(order_.size()),
      ordered_(order_.size()) {
  assert((placement_.dealing == Dealing::kReplicated) == (copies_ != nullptr));
}

void ShardSender::send(int stream, std::span<const std::uint32_t> from_order,
                       const TupleGroup& group) {
  for (std::size_t i = 0; i < group.prefix.size(); ++i) declared_[from_order[i]] = group.prefix[i];
  const std::uint32_t last = from_order.back();
  if (order_.back() == last && !by_column(last) && !buckets_) {
    for (std::size_t i = 0; i + 1 < order_.size(); ++i) ordered_[i] = declared_[order_[i]];
    const TupleGroup moved{.prefix = std::span(ordered_).first(order_.size() - 1),
                           .set = group.set};
    if (copies_ != nullptr)
      copies_->append_group(stream, moved);
    else
      mail_->append_group(owner(), stream, moved);
    return;
  }
  walk_set(group.set, [&](Cell cell) {
    declared_[last] = cell;
    send_declared(stream);
  });
}

void ShardSender::send_tuple(int stream, std::span<const Cell> declared) {
  std::copy(declared.begin(), declared.end(), declared_.begin());
  send_declared(stream);
}

bool ShardSender::by_column(std::uint32_t column) const {
  return placement_.dealing == Dealing::kHashed &&
         std::binary_search(placement_.columns.begin(), placement_.columns.end(), column);
}

int ShardSender::owner() {
  key_.clear();
  for (const std::uint32_t c : placement_.columns) key_.push_back(declared_[c]);
  return owner_of(key_, declared_, buckets_ ? &*buckets_ : nullptr, state_.comm.size());
}

void ShardSender::send_declared(int stream) {
  for (std::size_t i = 0; i < order_.size(); ++i) ordered_[i] = declared_[order_[i]];
  if (copies_ != nullptr)
    copies_->append(stream, ordered_);
  else
    mail_->append(owner(), stream, ordered_);
}

}  // namespace stratalog::datalog
