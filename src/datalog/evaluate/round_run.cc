// SPDX-License-Identifier: Apache-2.0
// run_by_rounds: semi-naive evaluation of a stratum (or a single pass, if it is not recursive). One
// round is: all rules on the delta, one exchange (more only where a rule hops), local deduplication
// in the home shards, one exchange of what is new where there are other shards, one reduction that
// carries errors, counts and the fixpoint test. See stratum_run.h.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "datalog/evaluate/choice_filter.h"
#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/growth_logs.h"
#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/memory_limit.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/numbered_tuples.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/round_counts.h"
#include "datalog/evaluate/rule_pass.h"
#include "datalog/evaluate/running_sums.h"
#include "datalog/evaluate/shard_update.h"
#include "datalog/evaluate/stratum_run.h"
#include "datalog/evaluate/subsumption.h"
#include "datalog/evaluate/thin_rounds.h"
#include "datalog/evaluate/value_union.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// The fullest rank may be left with so many times the mean.
constexpr double kMostOfMean = 2.5;

class RoundRun {
 public:
  RoundRun(EngineState& state, std::uint32_t stratum, const StratumHooks& hooks)
      : state_(state),
        stratum_(stratum),
        members_(state.program.strata[stratum]),
        hooks_(hooks),
        sums_(state, stratum),
        value_union_(state, stratum),
        subsumption_(state, stratum),
        mirror_(state, stratum),
        shard_update_(state, stratum),
        counts_(state, stratum),
        thin_(state) {}

  RoundRun(const RoundRun&) = delete;
  RoundRun& operator=(const RoundRun&) = delete;
  ~RoundRun() {
    if (!has_ended_ && joint_)
      state_.kept_for_peers = std::shared_ptr<JointShards>(std::move(joint_));
  }

  Result<StratumOutcome> run(StratumFacts facts, const StratumStart* start) {
    Stopwatch watch;
    if (runs_jointly(state_, stratum_)) joint_ = std::make_unique<JointShards>(state_, stratum_);
    for (const RelationId r : members_.relations)
      if (!state_.program.relations[r].choice_keys.empty())
        choices_.push_back(std::make_unique<ChoiceFilter>(state_, r));
    STRATALOG_RETURN_IF_ERROR(ensure_static_relations(
        state_, stratum_, state_.plan.strata[stratum_].rules_of_rounds(), false));
    STRATALOG_RETURN_IF_ERROR(subsumption_.ensure_relations());
    if (start != nullptr && start->from == StartFrom::kRounds) {
      if (joint_) STRATALOG_RETURN_IF_ERROR(joint_->open());
      counts_.restore(start->iteration);  // the delta is there
      outcome_.report.new_tuples_per_round = start->new_tuples_per_round;
      for (const auto& choice : choices_) STRATALOG_RETURN_IF_ERROR(choice->admit_home());
    } else {
      static const std::vector<RulePlan> kNone;
      STRATALOG_RETURN_IF_ERROR(
          seed(std::move(facts), start == nullptr ? state_.plan.strata[stratum_].once : kNone));
    }
    if (members_.is_recursive) {
      STRATALOG_RETURN_IF_ERROR(iterate());
      // .limitsize may end the recursion before they are dealt; nobody may read them as copies.
      if (is_mirrored() && mirror_.is_outgrown())
        STRATALOG_RETURN_IF_ERROR(deal_mirrored(state_, stratum_));
      if (!state_.is_single()) STRATALOG_RETURN_IF_ERROR(counts_.measure_share());
    }
    STRATALOG_RETURN_IF_ERROR(hooks_.settle());
    if (members_.is_recursive) {
      if (!outcome_.stopped) STRATALOG_RETURN_IF_ERROR(rebalance_finished());
      outcome_.report.largest_share = counts_.largest_share();
    }
    if (!outcome_.stopped) close_members(state_, stratum_);
    outcome_.report.strategy = members_.is_recursive ? Strategy::kSemiNaive : Strategy::kOnce;
    outcome_.report.iterations = counts_.iteration();
    outcome_.report.tuples = counts_.total_tuples();
    outcome_.report.seconds = watch.seconds();
    has_ended_ = true;
    return std::move(outcome_);
  }

 private:
  // Facts and rules without recursive atoms make the first delta.
  Status seed(StratumFacts facts, const std::vector<RulePlan>& once) {
    STRATALOG_RETURN_IF_ERROR(ensure_static_relations(state_, stratum_, once, false));
    STRATALOG_RETURN_IF_ERROR(expect_equivalences(facts, once));
    if (joint_) STRATALOG_RETURN_IF_ERROR(joint_->open());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const TupleColumns tuples = std::exchange(facts[i], {});
      STRATALOG_RETURN_IF_ERROR(deal_tuples(state_, members_.relations[i], tuples));
      for (const auto& choice : choices_)
        if (choice->relation() == members_.relations[i])
          STRATALOG_RETURN_IF_ERROR(choice->admit(tuples));
    }
    for (const RelationId r : members_.relations)
      if (state_.program.relations[r].numbering)
        STRATALOG_RETURN_IF_ERROR(number_tuples(state_, r));
    state_.evaluator.set_iteration(0);
    has_only_seeds_ = !state_.addition;
    STRATALOG_ASSIGN_OR_RETURN(auto pass, RulePass::bind(state_, stratum_, once, nullptr));
    return end_round(pass->run(), *pass, RoundKind::kSeed);
  }

  // Collective. Equivalence relations that may well become large are dealt before they are: that
  // they are made of much is all that is known of them.
  Status expect_equivalences(const StratumFacts& facts, const std::vector<RulePlan>& once) {
    if (state_.is_single()) return {};
    std::uint64_t rows = 0;
    bool is_any = false;
    for (std::size_t i = 0; i < members_.relations.size(); ++i) {
      if (!state_.relations[members_.relations[i]].equivalence) continue;
      is_any = true;
      if (i < facts.size()) rows += facts[i].rows;
    }
    if (!is_any) return {};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(std::span(&rows, 1), ReduceOp::kSum));
    for (const RulePlan& plan : once) {
      if (!state_.relations[state_.program.rules[plan.rule].head].equivalence) continue;
      for (const Step& step : plan.steps)
        if (step.kind == StepKind::kScan || step.kind == StepKind::kSearch)
          rows = std::max(rows, state_.relations[step.relation].global_rows);
    }
    deal_large_equivalences(state_, members_.relations, rows);
    return {};
  }

  Status iterate() {
    std::unique_ptr<RulePass> pass;
    std::unique_ptr<RulePass> alone;  // takes the whole delta on every rank
    const auto& rules = state_.plan.strata[stratum_].rules_of_rounds();
    while (counts_.new_tuples() > 0 && !has_reached_limit()) {
      const bool is_thin = counts_.new_tuples() <= kAloneTuples && !state_.meter;
      if (state_.is_single() && is_thin && thin_.go_on()) {
        STRATALOG_RETURN_IF_ERROR(run_round(*pass));
        continue;
      }
      thin_.close();
      if (state_.is_single()) thin_.note(thin_.seconds());
      STRATALOG_ASSIGN_OR_RETURN(const bool moved, move_grown());
      if (moved) {
        subsumption_.forget_bindings();
        shard_update_.forget_shards();
        if (joint_) STRATALOG_RETURN_IF_ERROR(joint_->open());
        pass.reset();
        alone.reset();
      }
      if (pass == nullptr) {
        STRATALOG_ASSIGN_OR_RETURN(pass, RulePass::bind(state_, stratum_, rules, nullptr));
      }
      STRATALOG_ASSIGN_OR_RETURN(
          const Verdict verdict,
          hooks_.safe_point({.iteration = counts_.iteration(),
                             .new_tuples = counts_.new_tuples(),
                             .total_tuples = counts_.total_tuples(),
                             .new_tuples_per_round = outcome_.report.new_tuples_per_round}));
      if (verdict == Verdict::kStop) {
        outcome_.stopped = true;
        break;
      }
      if (is_mirrored() && !pass->sends_tuples() && counts_.new_tuples() <= kAloneTuples) {
        if (alone == nullptr) {
          STRATALOG_ASSIGN_OR_RETURN(
              alone, RulePass::bind(state_, stratum_, rules, nullptr, DeltaShare::kAll));
        }
        STRATALOG_RETURN_IF_ERROR(run_alone(*alone));
        continue;
      }
      if (state_.is_single() && is_thin) {
        thin_.open(rounds_until_due());
        (void)thin_.go_on();
      }
      STRATALOG_RETURN_IF_ERROR(run_round(*pass));
    }
    thin_.close();
    // Of what came after the last safe point.
    if (hooks_.progress && state_.is_single()) report_progress(held_bytes());
    return {};
  }

  Status run_round(RulePass& pass) {
    state_.evaluator.set_iteration(counts_.iteration());
    return end_round(pass.run(), pass, RoundKind::kRecursive);
  }

  std::uint64_t rounds_until_due() const {
    return hooks_.rounds_until_due ? hooks_.rounds_until_due(counts_.iteration()) : 0;
  }

  // All relations of the stratum are, or none.
  bool is_mirrored() const {
    return std::any_of(members_.relations.begin(), members_.relations.end(),
                       [&](RelationId r) { return state_.relations[r].mirrored; });
  }

  // Rounds in which all ranks do the same and need nothing from each other, and then one reduction.
  Status run_alone(RulePass& pass) {
    std::uint64_t memory = held_bytes();
    thin_.open(rounds_until_due());
    Status mine;
    while (mine.is_ok() && counts_.new_tuples() > 0 && counts_.new_tuples() <= kAloneTuples &&
           !has_reached_limit() && thin_.go_on())
      mine = run_round_alone(pass, memory);
    thin_.close();
    std::vector<std::uint64_t> sums{mine.is_ok() ? 0U : 1U, memory,
                                    static_cast<std::uint64_t>(thin_.seconds() * 1e6)};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
    if (sums[0] > 0) return agree(state_.comm, mine);
    thin_.note(static_cast<double>(sums[2]) / (1e6 * state_.comm.size()));
    STRATALOG_RETURN_IF_ERROR(counts_.check_alike());
    note_memory(sums[1]);
    if (hooks_.progress) report_progress(sums[1]);
    return {};
  }

  // `memory`: becomes what this rank holds after the round.
  Status run_round_alone(RulePass& pass, std::uint64_t& memory) {
    state_.evaluator.set_iteration(counts_.iteration());
    STRATALOG_RETURN_IF_ERROR(pass.run());
    PhaseWatch watch(state_.times_phases);
    STRATALOG_RETURN_IF_ERROR(state_.guard([&]() -> Status {
      mirror_.unite();
      mirror_.advance();
      follow_growth(state_, members_);
      return {};
    }));
    state_.times.deduplicate += watch.lap();
    memory = held_bytes();
    STRATALOG_RETURN_IF_ERROR(check_memory(memory));
    take_round(mirror_.new_tuples(), mirror_.rows_of_members());
    if (state_.meter)
      meter_round(pass, memory, memory * static_cast<std::uint64_t>(state_.comm.size()));
    return {};
  }

  // Collective. True if relations of the stratum were dealt anew.
  Result<bool> move_grown() {
    const bool dealt = deal_large_equivalences(state_, members_.relations, 0);
    std::uint64_t rows = 0;
    for (const RelationId r : members_.relations) rows += state_.relations[r].global_rows;
    const DeltaSize delta =
        counts_.new_tuples() <= kAloneTuples ? DeltaSize::kTiny : DeltaSize::kAny;
    const bool is_first = std::exchange(has_only_seeds_, false);
    if (!is_mirrored()) {
      if (is_first && are_mirrored(state_, stratum_, rows, delta)) {
        const Stopwatch watch;
        STRATALOG_RETURN_IF_ERROR(mirror_.open());
        state_.times.exchange += watch.seconds();
        return true;
      }
      STRATALOG_ASSIGN_OR_RETURN(const bool moved, rebalance_grown());
      return moved || dealt;
    }
    if (!mirror_.is_outgrown() && !is_crowded_ && are_mirrored(state_, stratum_, rows, delta))
      return false;
    const Stopwatch watch;
    STRATALOG_RETURN_IF_ERROR(deal_mirrored(state_, stratum_));
    state_.times.exchange += watch.seconds();
    return true;
  }

  // Looks at the ranks' shares of each relation whenever it has grown by half. True if one was
  // dealt anew.
  Result<bool> rebalance_grown() {
    if (joint_) return false;  // work is divided anew in each round
    checked_rows_.resize(members_.relations.size(), 0);
    bool moved = false;
    Stopwatch watch;
    for (std::size_t i = 0; i < checked_rows_.size(); ++i) {
      const std::uint64_t rows = state_.relations[members_.relations[i]].global_rows;
      if (state_.is_single() || rows < state_.options.rebalance_min_rows ||
          rows < checked_rows_[i] + (checked_rows_[i] / 2))
        continue;
      checked_rows_[i] = rows;
      STRATALOG_ASSIGN_OR_RETURN(const bool dealt, rebalance(state_, members_.relations[i]));
      if (dealt) state_.relations[members_.relations[i]].growth.reset();
      outcome_.report.rebalances += dealt ? 1 : 0;
      moved |= dealt;
    }
    state_.times.exchange += watch.seconds();
    return moved;
  }

  // What came after the last look lies as it fell, and would stay so: for outputs, checkpoints and
  // other strata. Nothing may be reading the relations beside.
  Status rebalance_finished() {
    const double mean = 1.0 / state_.comm.size();
    if (is_mirrored() || counts_.largest_share() <= kMostOfMean * mean) return {};
    checked_rows_.clear();
    STRATALOG_ASSIGN_OR_RETURN(const bool moved, rebalance_grown());
    return moved ? counts_.measure_share() : Status::ok();
  }

  // .limitsize: Soufflé ends the recursion once some limited relation is large enough.
  bool has_reached_limit() const {
    return std::any_of(members_.relations.begin(), members_.relations.end(), [&](RelationId r) {
      const std::optional<std::uint64_t>& limit = state_.program.relations[r].size_limit;
      return limit && state_.relations[r].global_rows >= *limit;
    });
  }

  void unite_homes() {
    for (const RelationId r : members_.relations)
      if (auto& shards = state_.relations[r].shards; !shards.empty())
        unite_shard(shards.front(), state_.scratch);
  }

  enum class Members : std::uint8_t { kShrinking, kGrowing };

  void advance(Members which) {
    for (const RelationId r : members_.relations) {
      if (shrinks(state_.program.relations[r]) != (which == Members::kShrinking)) continue;
      // No rule reads the delta of a stratum without recursion; subsumption does.
      const bool reads = members_.is_recursive || subsumption_.is_needed() ||
                         state_.relations[r].growth != nullptr;
      const DeltaUse use = reads ? DeltaUse::kKept : DeltaUse::kForgotten;
      for (Shard& shard : state_.relations[r].shards) advance_shard(shard, state_.scratch, use);
      if (state_.relations[r].equivalence) state_.relations[r].equivalence->advance(use);
    }
  }

  enum class RoundKind : std::uint8_t { kSeed, kRecursive };

  // Deduplicates, advances and agrees: one reduction for errors, counts, memory and nullary
  // relations.
  Status end_round(Status mine, RulePass& pass, RoundKind kind) {
    PhaseWatch watch(state_.times_phases);
    for (const auto& choice : choices_) STRATALOG_RETURN_IF_ERROR(choice->choose());
    for (const RelationId r : members_.relations)
      if (state_.relations[r].equivalence) STRATALOG_RETURN_IF_ERROR(share_equivalence(state_, r));
    mine = unite_and_advance(std::move(mine), kind, watch);

    const std::uint64_t memory = held_bytes();
    if (mine.is_ok()) mine = check_memory(memory);
    const bool wants_shares = state_.comm.rank() == 0 && state_.meter &&
                              state_.meter->is_sample_due(state_.clock.seconds());
    std::vector<std::uint64_t> sums{mine.is_ok() ? 0U : 1U, 0, memory, state_.traffic.untold(),
                                    wants_shares ? 1U : 0U};
    const std::size_t fixed = sums.size();
    const std::uint64_t grown = counts_.append_local_rows(sums);
    sums[1] = grown;
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
    if (sums[0] > 0) return agree(state_.comm, mine);
    state_.traffic.note_told(sums[3]);
    outcome_.report.exchanged_bytes += sums[3];
    take_round(sums[1], std::span(sums).subspan(fixed));
    note_memory(sums[2]);
    if (sums[4] > 0) STRATALOG_RETURN_IF_ERROR(counts_.measure_share());
    if (state_.meter) meter_round(pass, memory, sums[2]);
    if (hooks_.progress && state_.times_phases) report_progress(sums[2]);
    return {};
  }

  // What the round has found joins the shards, all of them. This rank's own status, of which
  // `mine` is the first part.
  Status unite_and_advance(Status mine, RoundKind kind, PhaseWatch& watch) {
    const auto keep_first = [&mine](Status other) {
      if (mine.is_ok()) mine = std::move(other);
    };
    // Others may still read what this rank has if no meeting with them has come about.
    const auto change = [this, &mine, &keep_first](auto&& work) {
      if (mine.is_ok()) keep_first(state_.guard(work));
    };
    const bool mirrored = is_mirrored();
    const bool jointly = joint_ != nullptr && !mirrored;
    keep_first(jointly ? joint_->unite() : state_.guard([&]() -> Status {
      if (mirrored)
        mirror_.unite();
      else
        unite_homes();
      return {};
    }));
    keep_first(sums_.settle());
    keep_first(value_union_.settle());
    keep_first(state_.guard([&]() -> Status {
      subsumption_.note_beaten();
      return {};
    }));
    state_.times.deduplicate += watch.lap();
    keep_first(jointly    ? joint_->share(subsumption_.beaten())
               : mirrored ? mirror_.share()
                          : shard_update_.send());
    state_.times.exchange += watch.lap();
    change([&]() -> Status {
      if (mirrored)
        mirror_.advance();
      else
        advance(Members::kShrinking);
      return {};
    });
    keep_first(subsumption_.erase_beaten());
    // While tuples are compared, the other relations are as the round's rules have seen them.
    if (subsumption_.is_needed())
      keep_first(kind == RoundKind::kSeed ? subsumption_.settle_seed()
                                          : subsumption_.settle_round());
    change([&]() -> Status {
      if (!mirrored) advance(Members::kGrowing);
      follow_growth(state_, members_);
      return {};
    });
    if (joint_ && mine.is_ok()) joint_->clear();
    state_.times.deduplicate += watch.lap();
    return mine;
  }

  void take_round(std::uint64_t new_tuples, std::span<const std::uint64_t> rows) {
    counts_.take_round(new_tuples, rows);
    if (counts_.new_tuples() > 0 &&
        (state_.options.keep_round_counts || state_.options.checkpoint.store != nullptr))
      outcome_.report.new_tuples_per_round.push_back(counts_.new_tuples());
  }

  std::uint64_t held_bytes() const {
    std::uint64_t memory = state_.memory_bytes();
    for (const auto& choice : choices_) memory += choice->heap_bytes();
    return memory;
  }

  Status check_memory(std::uint64_t memory) const {
    const std::uint64_t limit = state_.options.memory_limit_bytes;
    if (limit == 0 || memory <= limit) return {};
    return over_memory_limit(
        memory, fmt::format("of tuples and indices in iteration {}", counts_.iteration() + 1),
        limit);
  }

  // What all ranks hold together. Copies on every rank are given up well before the limit.
  void note_memory(std::uint64_t bytes) {
    state_.report.peak_memory_bytes = std::max(state_.report.peak_memory_bytes, bytes);
    const std::uint64_t limit = state_.options.memory_limit_bytes;
    const auto ranks = static_cast<std::uint64_t>(state_.comm.size());
    is_crowded_ = limit > 0 && bytes / ranks > limit / 2;
  }

  void meter_round(RulePass& pass, std::uint64_t local_memory, std::uint64_t memory) {
    pass.meter_new_tuples();
    state_.meter->note_local_memory(local_memory);
    if (counts_.new_tuples() > 0)
      state_.meter->note_round(stratum_, counts_.iteration(), counts_.new_tuples(),
                               round_watch_.lap());
    const double now = state_.clock.seconds();
    if (counts_.new_tuples() > 0 && !state_.meter->is_sample_due(now)) return;
    state_.meter->note_sample({.at_seconds = now,
                               .stratum = stratum_,
                               .memory_bytes = memory,
                               .tuples = counts_.total_tuples(),
                               .sent_bytes = state_.traffic.all});
  }

  void report_progress(std::uint64_t memory) { hooks_.progress(counts_.progress(memory)); }

  EngineState& state_;
  std::uint32_t stratum_;
  const Stratum& members_;
  const StratumHooks& hooks_;
  RunningSums sums_;
  ValueUnion value_union_;
  Subsumption subsumption_;
  MirrorRound mirror_;
  ShardUpdate shard_update_;
  RoundCounts counts_;
  ThinRounds thin_;
  std::unique_ptr<JointShards> joint_;  // where ranks read each other's shards
  bool has_ended_ = false;  // without an error
  bool has_only_seeds_ = false;  // all that there is was found by rules before the first round
  StratumOutcome outcome_;
  std::vector<std::unique_ptr<ChoiceFilter>> choices_;
  std::vector<std::uint64_t> checked_rows_;  // of the members when their balance was last looked at
  bool is_crowded_ = false;  // half of the memory that ranks may use is taken
  Stopwatch round_watch_;  // laps where the run is metered
};

}  // namespace

Result<StratumOutcome> run_by_rounds(EngineState& state, std::uint32_t stratum, StratumFacts facts,
                                     const StratumStart* start, const StratumHooks& hooks) {
  return RoundRun(state, stratum, hooks).run(std::move(facts), start);
}

}  // namespace stratalog::datalog
