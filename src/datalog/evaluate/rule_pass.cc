// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/rule_pass.h"

#include <algorithm>
#include <map>
#include <utility>

#include "datalog/evaluate/incoming.h"
#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {

Result<std::unique_ptr<RulePass>> RulePass::bind(EngineState& state, std::uint32_t stratum,
                                                 const std::vector<RulePlan>& plans,
                                                 const SinkFor& sink_for, DeltaShare share) {
  std::unique_ptr<RulePass> pass(new RulePass(state, share));
  for (const RulePlan& plan : plans) {
    ActiveRule rule;
    RuleExecutor::Options options;
    options.share = share;
    if (state.joint != nullptr) options.turns = state.joint->turns_of(pass->rules_.size());
    // What all ranks do alike counts once.
    const bool counts = share == DeltaShare::kMine || state.comm.rank() == 0;
    if (state.meter && counts && !state.program.rules[plan.rule].body.empty())
      rule.meter = state.meter->rule(stratum, plan);
    if (sink_for) {
      RuleSink sink = sink_for(plan);
      options.sink = std::move(sink.take);
      options.witness = sink.witness;
    } else {
      rule.head = std::make_unique<HeadWriter>(state, plan);
      HeadWriter* head = rule.head.get();
      options.sink = [head](const Batch& batch) { return head->write(batch); };
      options.release_sets = [head] { head->release_sets(); };
    }
    if (rule.meter != nullptr) options.sink = metered(rule.meter, std::move(options.sink));
    if (state.exchanges_beside && share == DeltaShare::kMine) {
      options.after_hop = [to = pass.get(), meter = rule.meter] { return to->after_batch(meter); };
      options.sink = [sink = std::move(options.sink),
                      after = options.after_hop](const Batch& batch) {
        STRATALOG_RETURN_IF_ERROR(sink(batch));
        return after();
      };
    }
    STRATALOG_ASSIGN_OR_RETURN(rule.executor, RuleExecutor::bind(state, plan, std::move(options)));
    if (rule.head) rule.head->bind(*rule.executor);
    pass->stages_ = std::max(pass->stages_, rule.executor->segments());
    pass->creates_values_ |= rule.executor->creates_values();
    pass->sends_tuples_ |= rule.executor->segments() > 1;
    // Of a rule that begins elsewhere a dealt relation may come before the new tuples: what ranks
    // make of its parts differs.
    pass->sends_tuples_ |= plan.begins_elsewhere && rule.executor->takes_own_part();
    if (rule.head) pass->sends_tuples_ |= !rule.head->is_local();
    pass->rules_.push_back(std::move(rule));
  }
  if (state.is_single()) pass->sends_tuples_ = false;
  pass->needs_exchange_ = pass->sends_tuples_ || (pass->creates_values_ &&
                                                  share == DeltaShare::kMine && !state.is_single());
  if (pass->needs_exchange_) pass->open_mail(stratum);
  if (state.meter && state.meter->keeps_profile()) pass->find_lone_rules();
  return pass;
}

BatchSink RulePass::metered(RuleMeter* meter, BatchSink sink) {
  return [meter, sink = std::move(sink)](const Batch& batch) {
    meter->derivations += batch.sets.empty() ? batch.rows : 0;
    for (std::uint32_t r = 0; r < batch.rows && !batch.sets.empty(); ++r)
      meter->derivations += batch.sets[r]->size();
    return sink(batch);
  };
}

// Where several rules fill a relation, who was first is known only where nothing travels.
void RulePass::find_lone_rules() {
  std::map<RelationId, std::size_t> writers;
  for (const ActiveRule& rule : rules_) ++writers[rule.executor->rule().head];
  for (ActiveRule& rule : rules_) {
    const RelationId head = rule.executor->rule().head;
    rule.fills_alone = writers[head] == 1 && !is_read_from_files(state_.program.relations[head]);
    if (rule.meter == nullptr) continue;
    // Copies on all ranks pass rounds that nobody counts by rule.
    rule.meter->guesses_new_tuples |=
        rule.meter->delta_literal.has_value() && state_.relations[head].mirrored;
    // Those that do not go to the relation are told from others later.
    rule.meter->guesses_new_tuples |= !rule.head;
    if (rule.fills_alone) continue;
    rule.meter->guesses_new_tuples |= alone_ != nullptr;
    rule.meter->guesses_new_tuples |=
        needs_exchange_ || rule.executor->creates_values() || state_.joint != nullptr ||
        !state_.program.relations[head].choice_keys.empty() || state_.relations[head].arity == 0 ||
        state_.relations[head].equivalence != nullptr;
  }
}

void RulePass::meter_new_tuples() {
  for (ActiveRule& rule : rules_) {
    if (rule.meter == nullptr || !rule.fills_alone) continue;
    RelationData& head = state_.relations[rule.executor->rule().head];
    if (head.equivalence)  // whole, it is the same on all ranks
      rule.meter->new_tuples += head.equivalence->is_dealt() || state_.comm.rank() == 0
                                    ? head.equivalence->delta_pairs()
                                    : 0;
    else if (head.arity > 0 && alone_ != nullptr)  // one rank counts what all have found
      rule.meter->new_tuples += mirror_of(head).primary_index().delta_tuples();
    else if (head.arity > 0)
      rule.meter->new_tuples += head.shards.front().primary_index().delta_tuples();
    else
      rule.meter->new_tuples += head.delta_holds && state_.comm.rank() == 0 ? 1 : 0;
  }
}

// Tells new tuples from known ones earlier than needed, and returns how many are new so far.
std::uint64_t RulePass::unite_head(const ActiveRule& rule) {
  Index& index = state_.relations[rule.executor->rule().head].shards.front().primary_index();
  index.unite_queued(state_.scratch, Freshness::kUnknown);
  std::uint64_t tuples = 0;
  for (const DeltaRow& row : index.next_delta()) tuples += row.cells.size();
  return tuples;
}

Status RulePass::run_rule(ActiveRule& rule, std::size_t stage) {
  const auto run = [&] {
    const MeteredTime time(rule.meter);
    if (rule.meter != nullptr && stage == 0) ++rule.meter->evaluations;
    return stage == 0 ? rule.executor->run_first() : rule.executor->finish_segment(stage);
  };
  const bool counts = rule.meter != nullptr && state_.meter->keeps_profile() && !rule.fills_alone &&
                      !rule.meter->guesses_new_tuples;
  if (!counts) return run();
  const std::uint64_t before = unite_head(rule);
  STRATALOG_RETURN_IF_ERROR(run());
  rule.meter->new_tuples += unite_head(rule) - before;
  return {};
}

void RulePass::open_mail(std::uint32_t stratum) {
  MailOptions options;
  options.ranks = state_.comm.size();
  options.self = state_.comm.rank();
  options.agreement = MailAgreement::kInDelivery;
  std::map<RelationId, Outbound*> outbound_of;
  for (const RelationId r : state_.program.strata[stratum].relations) {
    RelationData& relation = state_.relations[r];
    // Where ranks read each other's shards, heads stay in boxes until the round ends.
    if (relation.mirrored || relation.shards.empty() || state_.joint != nullptr) continue;
    options.arity_of_stream.push_back(relation.arity);
    head_streams_.push_back({.shard = &relation.shards.front()});
    outbound_.push_back(std::make_unique<Outbound>(relation.shards.front(), state_.comm.size(),
                                                   relation.best ? &*relation.best : nullptr));
    outbound_of[r] = outbound_.back().get();
  }
  for (std::size_t r = 0; r < rules_.size(); ++r) {
    rules_[r].hop_stream = static_cast<int>(options.arity_of_stream.size());
    for (std::size_t s = 1; s < rules_[r].executor->segments(); ++s) {
      options.arity_of_stream.push_back(static_cast<std::uint32_t>(
          rules_[r].executor->hop_width(s) + (rules_[r].executor->hop_has_set(s) ? 1 : 0)));
      hop_streams_.push_back({.rule = r, .segment = s});
    }
  }
  mail_ = std::make_unique<TupleMail>(options);
  other_ = std::make_unique<TupleMail>(options);
  for (ActiveRule& rule : rules_) {
    rule.executor->use_mail(mail_.get(), rule.hop_stream);
    if (!rule.head) continue;
    const auto leaving = outbound_of.find(rule.executor->rule().head);
    if (leaving != outbound_of.end()) rule.head->use_outbound(leaving->second);
  }
}

bool RulePass::reads_copies_only() const {
  return std::none_of(rules_.begin(), rules_.end(), [](const ActiveRule& rule) {
    return rule.executor->segments() > 1 || rule.executor->takes_own_part();
  });
}

Status RulePass::run() {
  Status mine;
  for (ActiveRule& rule : rules_) rule.executor->begin();
  for (std::size_t stage = 0; stage < stages_; ++stage) {
    PhaseWatch watch(state_.times_phases);
    if (mine.is_ok()) mine = state_.guard([&] { return run_stage(stage); });
    is_running_ = false;
    const double passing = std::exchange(passing_seconds_, 0);
    state_.times.join += watch.lap() - passing;
    state_.times.exchange += passing;
    if (creates_values_)
      STRATALOG_RETURN_IF_ERROR(share_new_values(mine));
    else
      forget_new_values();
    if (needs_exchange_) STRATALOG_RETURN_IF_ERROR(deliver());
    state_.times.exchange += watch.lap();
  }
  const std::uint64_t sent = bytes_sent();
  state_.traffic.mine += sent - counted_bytes_;
  counted_bytes_ = sent;
  return mine;
}

Status RulePass::run_stage(std::size_t stage) {
  is_running_ = needs_exchange_ && state_.exchanges_beside;
  for (ActiveRule& rule : rules_) {
    if (stage < rule.executor->segments()) STRATALOG_RETURN_IF_ERROR(run_rule(rule, stage));
  }
  return {};
}

// The group's status; `mine` is this rank's.
Status RulePass::share_new_values(Status& mine) {
  // One that was being made when memory ended is in parts.
  if (!state_.want_of_memory.is_ok()) state_.new_values.clear();
  // Values that all ranks make alike get the same cells without a word, as these go by content.
  auto remapping =
      agree_on_new_values(alone_ ? *alone_ : state_.comm, state_.dictionary, state_.new_values);
  if (!remapping.is_ok()) return remapping.status();
  const Status released = state_.guard([&]() -> Status {
    if (listener_) listener_(remapping.value());
    for (ActiveRule& rule : rules_) {
      if (!rule.executor->creates_values()) continue;
      rule.executor->release_hops(remapping.value());
      if (rule.head) rule.head->release(remapping.value());
    }
    return {};
  });
  if (mine.is_ok()) mine = released;
  return {};
}

// Made to be compared with, as in `x != [1, 2]`: nothing holds them, and other ranks may not have
// made them. Left to the next pass that shares values, they would be in one rank's dictionary only
// where ranks share without a word.
void RulePass::forget_new_values() {
  const NewValues& values = state_.new_values;
  const bool are_some =
      values.records().size() > 0 || values.symbols().size() > 0 || values.wides().size() > 0;
  if (are_some && !values.overflowed()) state_.new_values.clear();
}

Status RulePass::after_batch(RuleMeter* meter) {
  if (!is_running_ || !pace_.is_due()) return {};
  const Stopwatch watch;
  is_running_ = false;  // what arrives sets off batches, too
  STRATALOG_RETURN_IF_ERROR(pass_on());
  is_running_ = true;
  const double seconds = watch.seconds();
  if (state_.times_phases) passing_seconds_ += seconds;
  if (meter != nullptr) meter->seconds -= seconds;
  return {};
}

Status RulePass::pass_on() {
  for (std::size_t s = 0; s < outbound_.size(); ++s)
    outbound_[s]->post_if_full(*mail_, static_cast<int>(s), state_.scratch);
  STRATALOG_RETURN_IF_ERROR(mail_->post_full(state_.comm));
  return mail_->take_posted(state_.comm, receiving());
}

MailHandler RulePass::receiving() {
  return guarded(state_,
                 {.on_run = [this](const MailRun& run) { return receive_run(run); },
                  .on_group = [this](const MailGroup& group) { return receive_group(group); }});
}

Status RulePass::deliver() {
  const Status posted = state_.guard([&]() -> Status {
    for (std::size_t s = 0; s < outbound_.size(); ++s)
      outbound_[s]->post(*mail_, static_cast<int>(s), state_.scratch);
    return {};
  });
  if (!posted.is_ok()) mail_->give_up(posted);
  // What arrives may set off further mail (the next segment of a rule), which goes into the other
  // mail.
  mail_.swap(other_);
  for (ActiveRule& rule : rules_) rule.executor->use_mail(mail_.get(), rule.hop_stream);
  return other_->deliver(state_.comm, receiving());
}

Status RulePass::receive_run(const MailRun& run) {
  const auto stream = static_cast<std::size_t>(run.stream);
  if (stream < head_streams_.size()) {
    queue_run(head_streams_[stream].shard->primary_index(), run);
    return {};
  }
  const HopStream& hop = hop_streams_[stream - head_streams_.size()];
  const MeteredTime time(rules_[hop.rule].meter);
  return rules_[hop.rule].executor->receive(hop.segment, run.cells, run.count);
}

Status RulePass::receive_group(const MailGroup& mail) {
  const auto stream = static_cast<std::size_t>(mail.stream);
  if (stream < head_streams_.size()) {
    queue_group(head_streams_[stream].shard->primary_index(), mail);
    return {};
  }
  const HopStream& hop = hop_streams_[stream - head_streams_.size()];
  const MeteredTime time(rules_[hop.rule].meter);
  return rules_[hop.rule].executor->receive_set(hop.segment, mail.group.prefix, mail.group.set);
}

std::uint64_t RulePass::bytes_sent() const {
  return needs_exchange_ ? mail_->counters().bytes_sent + other_->counters().bytes_sent : 0;
}

}  // namespace stratalog::datalog
