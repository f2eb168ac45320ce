// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/shard_update.h"

#include "datalog/evaluate/incoming.h"
#include "datalog/evaluate/shard_sender.h"

namespace stratalog::datalog {

ShardUpdate::ShardUpdate(EngineState& state, std::uint32_t stratum)
    : state_(state), members_(state.program.strata[stratum]) {}

void ShardUpdate::open_mail() {
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  options.agreement = MailAgreement::kByCaller;
  targets_.clear();
  for (const RelationId r : members_.relations) {
    const RelationData& relation = state_.relations[r];
    for (std::size_t s = 1; s < relation.shards.size(); ++s) {
      if (relation.shards[s].placement.dealing == Dealing::kReplicated) continue;
      options.arity_of_stream.push_back(relation.arity);
      targets_.push_back({.relation = r, .shard = s});
    }
  }
  mail_ = std::make_unique<TupleMail>(options);
}

Shard& ShardUpdate::shard_of(const Target& target) {
  return state_.relations[target.relation].shards[target.shard];
}

MailHandler ShardUpdate::receiving() {
  return guarded(state_, queue_into([this](int stream) -> Index& {
                   return shard_of(targets_[static_cast<std::size_t>(stream)]).primary_index();
                 }));
}

Status ShardUpdate::fill_mail() {
  constexpr std::uint64_t kCellsBetweenLooks = 1U << 12;
  std::uint64_t cells = 0;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    const Index& home = state_.relations[targets_[t].relation].shards.front().primary_index();
    ShardSender sender(state_, shard_of(targets_[t]), *mail_);
    for (const DeltaRow& row : home.next_delta()) {
      sender.send(static_cast<int>(t), home.order(),
                  {.prefix = home.prefix(row.row), .set = row.cells.view()});
      cells += row.cells.size();
      if (!state_.exchanges_beside || cells < kCellsBetweenLooks) continue;
      cells = 0;
      if (!pace_.is_due()) continue;
      STRATALOG_RETURN_IF_ERROR(mail_->post_full(state_.comm));
      STRATALOG_RETURN_IF_ERROR(mail_->take_posted(state_.comm, receiving()));
    }
  }
  return {};
}

Status ShardUpdate::send() {
  if (state_.is_single()) return {};
  if (mail_ == nullptr) open_mail();
  if (targets_.empty()) return {};
  const std::uint64_t sent_before = mail_->counters().bytes_sent;
  Status mine = state_.guard([&] { return fill_mail(); });
  if (!state_.want_of_memory.is_ok()) mail_->give_up(state_.want_of_memory);
  STRATALOG_RETURN_IF_ERROR(mail_->deliver(state_.comm, receiving()));
  state_.traffic.mine += mail_->counters().bytes_sent - sent_before;
  if (!mine.is_ok()) return mine;
  return state_.guard([&]() -> Status {
    for (const Target& target : targets_)
      shard_of(target).primary_index().unite_queued(state_.scratch, Freshness::kNew);
    return {};
  });
}

}  // namespace stratalog::datalog
