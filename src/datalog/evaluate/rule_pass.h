// SPDX-License-Identifier: Apache-2.0
// RulePass: evaluates a set of bound rules once, in lockstep on all ranks: the rules' first
// segments, then for each hop an exchange and the next segments. With one rank, or where analysis
// shows that nothing can leave a rank, there is no exchange at all. Head tuples end in the queues
// of the head relations' home shards or mirrors. Where exchanges go on beside joining
// (EngineState::exchanges_beside), tuples and bindings leave as soon as they are many, and what
// arrives is joined on while the rules of its stage still run. Collective.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/head_writer.h"
#include "datalog/evaluate/passing_pace.h"
#include "datalog/evaluate/rule_executor.h"

namespace stratalog::datalog {

class RulePass {
 public:
  // Takes the bindings of a rule instead of the shards of its head (pivot strata collect seeds this
  // way).
  struct RuleSink {
    RuleSink(BatchSink sink) : take(std::move(sink)) {}  // NOLINT(google-explicit-constructor)
    BatchSink take;
    std::optional<Pipeline::Definition::Witness> witness;
  };
  using SinkFor = std::function<RuleSink(const RulePlan&)>;

  // Binds `plans` of a stratum; their relations must be available. Local verdict.
  static Result<std::unique_ptr<RulePass>> bind(EngineState& state, std::uint32_t stratum,
                                                const std::vector<RulePlan>& plans,
                                                const SinkFor& sink_for,
                                                DeltaShare share = DeltaShare::kMine);

  // For sinks that keep cells: told each time the ranks have agreed on new values.
  void when_values_are_shared(std::function<void(const CellRemapping&)> listener) {
    listener_ = std::move(listener);
  }

  // Evaluates all rules once. The status is this rank's own unless a collective failed; the caller
  // agrees.
  Status run();
  bool needs_exchange() const { return needs_exchange_; }
  // Whether tuples or bindings leave this rank; an exchange may be for new values only.
  bool sends_tuples() const { return sends_tuples_; }
  // Whether the rules read only what this rank has whole, so that with DeltaShare::kAll each rank
  // derives everything.
  bool reads_copies_only() const;
  std::uint64_t bytes_sent() const;
  // After the round has advanced: tells the meters of rules that alone fill their relation how many
  // of its tuples are new. Local; nothing to do without a profile.
  void meter_new_tuples();

 private:
  struct ActiveRule {
    RuleMeter* meter = nullptr;
    bool fills_alone = false;  // no other rule of the pass, and no fact, has this head
    std::unique_ptr<HeadWriter> head;  // null if a sink takes the bindings
    std::unique_ptr<RuleExecutor> executor;
    int hop_stream = 0;
  };
  struct HeadStream {
    Shard* shard = nullptr;
  };
  struct HopStream {
    std::size_t rule = 0;
    std::size_t segment = 0;
  };

  RulePass(EngineState& state, DeltaShare share)
      : state_(state), alone_(share == DeltaShare::kAll ? make_self_comm() : nullptr) {}
  void open_mail(std::uint32_t stratum);
  Status run_stage(std::size_t stage);
  Status run_rule(ActiveRule& rule, std::size_t stage);
  void find_lone_rules();
  std::uint64_t unite_head(const ActiveRule& rule);
  static BatchSink metered(RuleMeter* meter, BatchSink sink);
  Status share_new_values(Status& mine);
  void forget_new_values();
  // After a batch of `meter`'s rule has left for heads or other ranks.
  Status after_batch(RuleMeter* meter);
  Status pass_on();
  Status deliver();
  MailHandler receiving();
  Status receive_run(const MailRun& run);
  Status receive_group(const MailGroup& group);

  EngineState& state_;
  std::unique_ptr<Comm> alone_;  // where all ranks do the same
  std::vector<ActiveRule> rules_;
  std::size_t stages_ = 1;
  bool needs_exchange_ = false;
  bool sends_tuples_ = false;
  bool creates_values_ = false;
  std::vector<HeadStream> head_streams_;
  std::vector<std::unique_ptr<Outbound>> outbound_;  // by head stream
  std::vector<HopStream> hop_streams_;
  std::unique_ptr<TupleMail> mail_;  // being filled
  std::unique_ptr<TupleMail> other_;  // takes what a delivery sets off
  std::function<void(const CellRemapping&)> listener_;
  bool is_running_ = false;  // rules of a stage, and nothing of the mail
  PassingPace pace_;
  double passing_seconds_ = 0;  // of the stage at hand
  std::uint64_t counted_bytes_ = 0;  // of bytes_sent(), in the state's traffic already
};

}  // namespace stratalog::datalog
