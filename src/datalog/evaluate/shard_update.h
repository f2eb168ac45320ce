// SPDX-License-Identifier: Apache-2.0
// ShardUpdate: brings what a round has found new in the home shards of a stratum's relations to
// their other shards, which lie by other columns. So derivations travel once and are told from what
// is known once, in the home; the other shards get each tuple a single time, as new. One exchange a
// round, and none where every relation has only its home (mirrors: mirror.h). Collective where
// marked.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/passing_pace.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

class ShardUpdate {
 public:
  ShardUpdate(EngineState& state, std::uint32_t stratum);

  // Collective; every rank calls it, also after an error of its own. Between the uniting of the
  // home shards and the advance of all. The status is this rank's own unless the collective failed.
  Status send();
  // Local. Shards were opened or dealt anew.
  void forget_shards() { mail_.reset(); }

 private:
  struct Target {
    RelationId relation = 0;
    std::size_t shard = 0;
  };

  void open_mail();
  Shard& shard_of(const Target& target);
  MailHandler receiving();
  Status fill_mail();

  EngineState& state_;
  const Stratum& members_;
  std::vector<Target> targets_;  // by stream
  std::unique_ptr<TupleMail> mail_;
  PassingPace pace_;
};

}  // namespace stratalog::datalog
