// SPDX-License-Identifier: Apache-2.0
// ShardSender: puts tuples of a relation, given in any column order, into the mail for a shard: to
// the ranks that own them there, or into the mail for all where the shard is a copy. Whole sets
// stay sets where they have one owner, or go to all. Decides nothing: the shard's placement and
// buckets say who owns what. Local; the caller delivers the mail.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/relation_data.h"
#include "model/tuple_group.h"
#include "route/copy_mail.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

class ShardSender {
 public:
  // All three outlive the sender; the shard, which is not a copy, is neither moved nor dealt anew
  // meanwhile.
  ShardSender(EngineState& state, const Shard& shard, TupleMail& mail)
      : ShardSender(state, shard, &mail, nullptr) {}
  // For a copy.
  ShardSender(EngineState& state, const Shard& shard, CopyMail& mail)
      : ShardSender(state, shard, nullptr, &mail) {}

  // Arrives in the column order of the shard's primary index; `from_order[i]` is the declared
  // column of cell i.
  void send(int stream, std::span<const std::uint32_t> from_order, const TupleGroup& group);
  void send_tuple(int stream, std::span<const Cell> declared);

 private:
  ShardSender(EngineState& state, const Shard& shard, TupleMail* mail, CopyMail* copies);

  bool by_column(std::uint32_t column) const;
  int owner();
  void send_declared(int stream);

  EngineState& state_;
  TupleMail* mail_;
  CopyMail* copies_;  // instead of mail_
  const Placement& placement_;
  const std::optional<BucketMap>& buckets_;
  std::vector<std::uint32_t> order_;
  std::vector<Cell> declared_;  // scratch: the tuple at hand
  std::vector<Cell> ordered_;  // scratch
  std::vector<Cell> key_;  // scratch
};

}  // namespace stratalog::datalog
