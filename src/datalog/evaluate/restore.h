// SPDX-License-Identifier: Apache-2.0
// Restorer: takes the groups of a loaded generation back into the engine. On the rank count of the
// writers each rank gets its own part and keeps it; on any other count the tuples travel to their
// owners in one exchange. Afterwards every relation is counted and hashed again and compared with
// the manifest. Collective.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "datalog/evaluate/checkpointing.h"
#include "datalog/evaluate/engine_state.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

class Restorer {
 public:
  explicit Restorer(EngineState& state) : state_(state) {}

  LoadSink sink();
  // After the load: moves, verifies, opens what the running stratum needs. Corruption if a relation
  // is not what was saved.
  Result<EnginePosition> finish(const StoredState& stored);

 private:
  struct Target {
    RelationId relation = 0;
    RelationVersion version = RelationVersion::kTotal;
    bool same_order = true;
    bool is_dropped = false;  // its stratum starts over
    std::unique_ptr<Index> delta;  // kDelta of relations in indices
    std::vector<Equivalence::Pair> pairs;  // of equivalence relations
  };

  Status begin(const StoredState& stored);
  Status continue_strata(const StoredState& stored);
  std::set<std::uint32_t> sweepable_strata(const StoredState& stored) const;
  bool is_dropped(RelationId relation) const;
  bool lies_as_dealt(const Target& target) const;
  Status open_pivots(const StoredState& stored);
  Status open_targets(const StoredState& stored);
  void open_mail(const StoredState& stored);
  Status accept(std::size_t index, const TupleGroup& group);
  Status take(std::size_t index, const TupleGroup& group);
  Status arrive();
  Status keep(Target& target, const TupleGroup& group);
  Status keep_run(Target& target, const MailRun& run);
  Status send_pivots(int stream, Target& target, const TupleGroup& group);
  Status send_tuples(int stream, const StoredRelation& stored, Target& target,
                     const TupleGroup& group);
  Index& index_of(Target& target);
  Status settle_equivalences();
  void settle_totals(const StoredState& stored);
  void settle_deltas();
  Status settle(const StoredState& stored);
  Status sum_up(const Target& target, std::uint64_t& rows, MultisetHash& hash);
  Status verify(const StoredState& stored);

  EngineState& state_;
  EnginePosition position_;
  std::vector<StoredRelation> stored_;
  std::deque<Target> targets_;  // by position in StoredState::relations
  bool moves_ = false;
  std::unique_ptr<TupleMail> mail_;
  MailHandler handler_;
  std::vector<Cell> tuple_;  // scratch
  Status arrived_;  // the same on all ranks
};

}  // namespace stratalog::datalog
