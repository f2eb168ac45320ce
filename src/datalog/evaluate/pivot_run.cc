// SPDX-License-Identifier: Apache-2.0
// run_by_pivot: a decomposable linear stratum as sweeps of pivot blocks. Seeds from facts and
// non-recursive rules are dealt once to the ranks that own their pivot's block; from then on no
// tuple crosses ranks. Each block is in cache while it runs: to its fixpoint, or, where a rank has
// too few blocks for checkpoints by rounds between them (pivot_pace.h), to the round at which the
// next one is due. Counts stay exact per round. See stratum_run.h.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "datalog/evaluate/pivot_pace.h"
#include "datalog/evaluate/pivot_relations.h"
#include "datalog/evaluate/pivot_seeds.h"
#include "datalog/evaluate/safe_point_poll.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {
namespace {

// Where checkpoints go by iterations, a window of rounds is to take no more CPU time than this, so
// that signals are heard. Short windows are slow: lanes cannot be delayed by more than a window.
constexpr double kWindowSeconds = 8.0;
constexpr std::uint64_t kFirstWindowRounds = 128;
constexpr std::uint64_t kBlocksBeforeCommit = 100;
constexpr double kSecondsBeforeCommit = 5.0;
// Where ranks meet in the middle of blocks, and nobody waits for the end of one.
constexpr double kSecondsBeforeQuickCommit = 1.0;
constexpr std::uint64_t kMostWindowRounds = std::uint64_t{1} << 32U;

double process_cpu_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

class PivotRun {
 public:
  PivotRun(EngineState& state, std::uint32_t stratum, const StratumHooks& hooks)
      : state_(state), stratum_(stratum), members_(state.program.strata[stratum]), hooks_(hooks) {}

  Result<StratumOutcome> run(StratumFacts facts, const StratumStart* start) {
    Stopwatch watch;
    if (start != nullptr) {
      relations_ = state_.relations[members_.relations.front()].pivot;
      iteration_ = start->iteration;
      outcome_.report.new_tuples_per_round = start->new_tuples_per_round;
      for (const std::uint64_t n : start->new_tuples_per_round) total_ += n;
      ahead_ = restored_ahead_ = start->tuples_ahead;
      STRATALOG_RETURN_IF_ERROR(
          ensure_static_relations(state_, stratum_, state_.plan.strata[stratum_].recursive, true));
      STRATALOG_RETURN_IF_ERROR(agree(state_.comm, relations_->bind_rules()));
    } else {
      STRATALOG_RETURN_IF_ERROR(seed(std::move(facts)));
      if (outcome_.for_rounds) {
        outcome_.report.seconds = watch.seconds();
        return std::move(outcome_);
      }
    }
    STRATALOG_RETURN_IF_ERROR(iterate());
    STRATALOG_RETURN_IF_ERROR(hooks_.settle());
    STRATALOG_RETURN_IF_ERROR(count_relations());
    if (!outcome_.stopped) relations_->finish();
    state_.pivot_bytes = memory();
    if (hooks_.progress) report_end();
    outcome_.report.strategy = Strategy::kPivot;
    outcome_.report.iterations = iteration_;
    outcome_.report.tuples = total_;
    outcome_.report.largest_share = largest_share_;
    outcome_.report.seconds = watch.seconds();
    return std::move(outcome_);
  }

 private:
  std::uint64_t memory() const { return relations_ ? relations_->memory_bytes() : 0; }

  Status seed(StratumFacts facts) {
    STRATALOG_RETURN_IF_ERROR(
        ensure_static_relations(state_, stratum_, state_.plan.strata[stratum_].once, false));
    STRATALOG_RETURN_IF_ERROR(
        ensure_static_relations(state_, stratum_, state_.plan.strata[stratum_].recursive, true));
    relations_ = std::make_shared<PivotRelations>(state_, stratum_);
    PivotSeeds seeds(state_, stratum_, *relations_);
    STRATALOG_RETURN_IF_ERROR(seeds.collect(std::move(facts)));
    STRATALOG_RETURN_IF_ERROR(agree(state_.comm, relations_->bind_rules()));
    STRATALOG_ASSIGN_OR_RETURN(const bool grows, seeds.promise_growth());
    PivotSeeds::Space space;
    if (grows) {
      STRATALOG_ASSIGN_OR_RETURN(space, seeds.choose_space());
    }
    if (!space) {
      relations_->leave_to_rounds();
      return agree(state_.comm, state_.guard([&]() -> Status {
        outcome_.for_rounds = seeds.take();
        return {};
      }));
    }
    relations_->open(std::move(space));
    for (std::size_t i = 0; i < members_.relations.size(); ++i) {
      RelationData& relation = state_.relations[members_.relations[i]];
      relation.pivot = relations_;
      relation.pivot_position = static_cast<std::uint32_t>(i);
    }
    STRATALOG_RETURN_IF_ERROR(seeds.deal());
    auto absorbed = relations_->closure().absorb();
    std::vector<std::uint64_t> sums{absorbed.is_ok() ? 0U : 1U,
                                    absorbed.is_ok() ? absorbed.value() : 0,
                                    state_.traffic.untold()};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
    state_.traffic.note_told(sums[2]);
    outcome_.report.exchanged_bytes += sums[2];
    if (sums[0] > 0) return agree(state_.comm, absorbed.status());
    note_round(sums[1]);
    return {};
  }

  void note_round(std::uint64_t new_tuples) {
    new_tuples_ = new_tuples;
    total_ += new_tuples;
    if (new_tuples == 0) return;
    ++iteration_;
    outcome_.report.new_tuples_per_round.push_back(new_tuples);
    if (state_.meter) state_.meter->note_round(stratum_, iteration_, new_tuples, std::nullopt);
  }

  // Where ranks sweep over one graph, and no checkpoint depends on how far each one's own blocks
  // are, those that have none left take blocks of the others. All have opened their closures.
  void find_others() {
    if (!relations_->shares_slots() || hooks_.rounds_between_checkpoints != 0) return;
    const auto rank = static_cast<std::size_t>(state_.comm.rank());
    for (std::size_t r = 1; r < state_.peers.size(); ++r) {
      const EngineState& peer = *state_.peers[(rank + r) % state_.peers.size()];
      others_.push_back(&peer.relations[members_.relations.front()].pivot->closure());
    }
  }

  Status iterate() {
    find_others();
    const PivotClosure& closure = relations_->closure();
    pace_ = PivotPace({.lanes = closure.space().lanes(),
                       .lanes_in_block = relations_->lanes_in_block(),
                       .ranks = static_cast<std::uint32_t>(state_.comm.size()),
                       .owned_blocks = closure.owned_blocks(),
                       .rounds = hooks_.rounds_between_checkpoints});
    for (bool fixpoint = total_ == 0; !fixpoint;) {
      STRATALOG_ASSIGN_OR_RETURN(const Verdict verdict, hooks_.safe_point(here()));
      if (verdict == Verdict::kStop) {
        outcome_.stopped = true;
        return {};
      }
      const bool in_step = pace_.kind() == PivotPace::Kind::kInStep;
      STRATALOG_ASSIGN_OR_RETURN(fixpoint,
                                 in_step ? window(hooks_.rounds_until_due(iteration_)) : slice());
      if (outcome_.stopped) return {};
    }
    return {};
  }

  SafePoint here() const {
    SafePoint point{.iteration = iteration_,
                    .new_tuples = new_tuples_,
                    .total_tuples = total_,
                    .new_tuples_per_round = outcome_.report.new_tuples_per_round,
                    .tuples_ahead = ahead_};
    if (pace_.kind() == PivotPace::Kind::kByProgress)
      point.by_rounds = is_due_ ? DueByRounds::kNow : DueByRounds::kNotYet;
    for (const std::uint64_t n : ahead_) point.total_tuples += n;
    return point;
  }

  // Every block as many rounds further, so that a checkpoint by iterations finds all of them at the
  // same round. True at the fixpoint.
  Result<bool> window(std::uint64_t due) {
    const double before = process_cpu_seconds();
    STRATALOG_ASSIGN_OR_RETURN(const bool fixpoint,
                               advance({.rounds = std::min(window_rounds_, due)}));
    std::vector<std::uint64_t> slowest{
        static_cast<std::uint64_t>((process_cpu_seconds() - before) * 1e6)};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(slowest, ReduceOp::kMax));
    const double seconds = static_cast<double>(slowest[0]) / 1e6;
    if (seconds < kWindowSeconds / 4)
      window_rounds_ = std::min(kMostWindowRounds, window_rounds_ * 4);
    else if (seconds > kWindowSeconds * 2)
      window_rounds_ = std::max<std::uint64_t>(1, window_rounds_ / 2);
    return fixpoint;
  }

  // Block after block to its fixpoint, for as long as safe points may be apart, or until this rank
  // has done the rounds after which a checkpoint is due; it then waits for the others. Between two
  // blocks total and delta are fit for a checkpoint as well: finished blocks have no delta left,
  // the others stand where they stood. Lanes then keep the delays that let many of them move at
  // once, and each block is written by one checkpoint only. True at the fixpoint.
  // Whether to meet is asked while the ranks work, and none waits for an answer: ranks end their
  // blocks at different times, and whoever came to a safe point first would wait for the last. Nor
  // does it wait until the last has ended its block: that one meets in the middle of it, as if it
  // had not begun it.
  Result<bool> slice() {
    if (!hooks_.may_be_asked()) return advance({});
    begin_slice();
    const auto word = [&](bool has_blocks) {
      return SafePointPoll::Word{.wish = wish(since_met_.seconds()),
                                 .is_reached = pace_.is_reached() || !has_blocks,
                                 .has_blocks = has_blocks};
    };
    const auto mine = [word] { return word(true); };
    Advance work;
    work.stop = [&] {
      if (blocks_in_slice_ == 0) return false;
      if (!pace_.is_far_ahead()) return poll_->ask(mine);
      (void)poll_->wait(mine);  // which says it again below
      return true;
    };
    if (meets_within_blocks())
      work.pause = [&] { return poll_->ask(mine) ? meet_within_block() : Status(); };
    work.meet = [&](const Status& swept) {
      return poll_->wait([&] {
        SafePointPoll::Word last = word(false);
        last.wish.is_needed |= !swept.is_ok();
        return last;
      });
    };
    return advance(std::move(work));
  }

  // A block that another thread sweeps is not here to be looked at, and where memory is short,
  // advance() looks at it.
  bool meets_within_blocks() const {
    return others_.empty() && state_.options.memory_limit_bytes == 0;
  }

  void begin_slice() {
    blocks_in_slice_ = 0;
    if (is_due_) pace_.go_on();
    since_met_.lap();
    poll_.emplace(state_.comm, hooks_.seconds_between_safe_points);
  }

  // Collective with what ends a slice on the other ranks, and the safe point after it. All ranks go
  // on, or this one's run ends with an error: then all end theirs.
  Status meet_within_block() {
    Stopwatch watch;
    sweeping_.reset();
    state_.pivot_bytes = memory();
    const auto meet = [&]() -> Status {
      STRATALOG_RETURN_IF_ERROR(tell_found(Status(), Sweep::kCut).status());
      STRATALOG_ASSIGN_OR_RETURN(const Verdict verdict, hooks_.safe_point(here()));
      outcome_.stopped = verdict == Verdict::kStop;
      return outcome_.stopped ? Status::cancelled("stopped within a block") : Status();
    };
    Status met = meet();
    if (met.is_ok())
      begin_slice();
    else
      ended_ = outcome_.stopped ? Status() : met;
    sweeping_.emplace(meter());
    met_seconds_ += watch.seconds();
    return met;
  }

  // A meeting costs a millisecond, and half a block where ranks meet between blocks only: a
  // checkpoint that is written is committed when ranks meet anyway, or when that is little of what
  // they did since it began. Where memory is short, what fills it is looked at as often as always
  // (advance()).
  SafePointWish wish(double seconds) const {
    SafePointWish wish = hooks_.wish();
    wish.is_writing |=
        blocks_in_slice_ < kBlocksBeforeCommit &&
        seconds < (meets_within_blocks() ? kSecondsBeforeQuickCommit : kSecondsBeforeCommit);
    wish.is_needed |=
        state_.options.memory_limit_bytes > 0 && seconds >= hooks_.seconds_between_safe_points;
    return wish;
  }

  // How blocks are to be run.
  struct Advance {
    std::uint64_t rounds = ~std::uint64_t{0};
    std::function<bool()> stop = [] { return false; };
    std::function<Status()> pause = {};
    // Waits for the other ranks, with what this one's run came to.
    std::function<Status(const Status&)> meet = [](const Status&) { return Status(); };
  };
  // What came of it on this rank.
  enum class Sweep : std::uint8_t {
    kFixpoint,
    kAllRounds,  // and there are more
    kCut,  // blocks stand at different rounds
  };

  // Runs the blocks until all have done so many rounds or somebody says so, then meets the other
  // ranks. True at the fixpoint.
  Result<bool> advance(Advance work) {
    Stopwatch watch;
    PivotClosure& closure = relations_->closure();
    const std::uint64_t limit = state_.options.memory_limit_bytes;
    if (limit > 0 && memory() > limit - limit / 8) closure.forget_growth();
    stratalog::RunOptions options;
    options.max_rounds = work.rounds;
    options.stop = std::move(work.stop);
    options.pause = std::move(work.pause);
    options.pause_operations = state_.options.sweep_pause_operations;
    options.others = others_;
    options.progress = [&](const BlockProgress& p) {
      ++blocks_in_slice_;
      pace_.note(p.block_rounds);
      if (hooks_.progress || state_.meter) report_progress(p);
    };
    std::optional<stratalog::RunReport> report;
    met_seconds_ = 0;
    const Status swept = state_.guard([&]() -> Status {
      sweeping_.emplace(meter());
      STRATALOG_ASSIGN_OR_RETURN(report, closure.run(options));
      return {};
    });
    sweeping_.reset();
    state_.times.join += watch.lap() - met_seconds_;
    state_.pivot_bytes = memory();
    // The ranks have met, and all end here.
    if (outcome_.stopped || !ended_.is_ok()) {
      STRATALOG_RETURN_IF_ERROR(ended_);
      return false;
    }
    const bool is_cut = swept.code() == StatusCode::kCancelled;
    const Status mine = is_cut ? Status() : swept;
    if (report) take_in(*report);
    STRATALOG_RETURN_IF_ERROR(work.meet(mine));
    const Sweep whole = report && !report->is_fixpoint ? Sweep::kAllRounds : Sweep::kFixpoint;
    return tell_found(mine, is_cut ? Sweep::kCut : whole);
  }

  // Collective: `mine` is what this rank's run came to, an error or not. What all ranks found. True
  // at the fixpoint.
  Result<bool> tell_found(const Status& mine, Sweep sweep) {
    const PivotClosure& closure = relations_->closure();
    const bool is_cut = sweep == Sweep::kCut;
    std::vector<std::uint64_t> found = found_;  // by this rank's blocks, the open run's included
    if (is_cut) add_counts(closure.unfinished_rows(), found);
    std::vector<std::uint64_t> sums{mine.is_ok() ? 0U : 1U,
                                    is_cut ? 1U : 0U,
                                    sweep == Sweep::kAllRounds ? 1U : 0U,
                                    state_.memory_bytes(),
                                    std::exchange(untold_derivations_, 0),
                                    is_cut && !pace_.is_reached() ? 1U : 0U};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(sums, ReduceOp::kSum));
    state_.report.peak_memory_bytes = std::max(state_.report.peak_memory_bytes, sums[3]);
    if (sums[0] > 0) return agree(state_.comm, mine);
    outcome_.report.derivations += sums[4];
    std::vector<std::uint64_t> most{found.size(), closure.row_count()};
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(most, ReduceOp::kMax));
    found.resize(most[0], 0);
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(found, ReduceOp::kSum));
    const bool fixpoint = sums[1] == 0 && sums[2] == 0;
    is_due_ = sums[1] > 0 && sums[5] == 0;  // whoever has no blocks left is ahead
    note_found(std::move(found), sums[1] > 0, fixpoint);
    const std::uint64_t total = here().total_tuples;
    if (total > 0) largest_share_ = static_cast<double>(most[1]) / static_cast<double>(total);
    if (meter() != nullptr) sample_memory(sums[3]);
    return fixpoint;
  }

  RuleMeter* meter() const { return state_.meter ? state_.meter->sweep(stratum_) : nullptr; }

  static void add_counts(std::span<const std::uint64_t> counts, std::vector<std::uint64_t>& sum) {
    if (sum.size() < counts.size()) sum.resize(counts.size(), 0);
    for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
  }

  // A run of this rank's blocks is complete; other ranks may still be at theirs.
  void take_in(const stratalog::RunReport& report) {
    add_counts(report.new_rows, found_);
    untold_derivations_ += report.derivations;
    RuleMeter* const rule = meter();
    if (rule == nullptr) return;
    ++rule->evaluations;
    rule->derivations += report.derivations;
    for (const std::uint64_t n : report.new_rows) rule->new_tuples += n;
  }

  // What all ranks found in the rounds after iteration_. While blocks stand at different rounds it
  // is ahead of the count.
  void note_found(std::vector<std::uint64_t> found, bool is_cut, bool fixpoint) {
    if (is_cut) {
      ahead_ = restored_ahead_;
      add_counts(found, ahead_);
      return;
    }
    if (fixpoint) found.resize(std::max(found.size(), restored_ahead_.size()), 0);
    const std::size_t known = std::min(found.size(), restored_ahead_.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      note_round(found[i] + (i < known ? restored_ahead_[i] : 0));
    restored_ahead_.erase(restored_ahead_.begin(),
                          restored_ahead_.begin() + static_cast<std::ptrdiff_t>(known));
    ahead_ = restored_ahead_;
    found_.clear();
  }

  void sample_memory(std::uint64_t memory) {
    state_.meter->note_local_memory(state_.memory_bytes());
    state_.meter->note_sample({.at_seconds = state_.clock.seconds(),
                               .stratum = stratum_,
                               .memory_bytes = memory,
                               .tuples = here().total_tuples,
                               .sent_bytes = state_.traffic.all});
  }

  void report_progress(const BlockProgress& blocks) {
    const auto ranks = static_cast<std::uint64_t>(state_.comm.size());
    if (state_.meter && state_.meter->is_sample_due(state_.clock.seconds()))
      state_.meter->note_sample({.at_seconds = state_.clock.seconds(),
                                 .stratum = stratum_,
                                 .memory_bytes = blocks.memory_bytes * ranks,
                                 .tuples = total_ + blocks.new_rows * ranks,
                                 .sent_bytes = state_.traffic.all,
                                 .is_estimate = ranks > 1});
    if (!hooks_.progress) return;
    Progress progress;
    progress.phase = Phase::kEvaluating;
    progress.iteration = iteration_;
    progress.new_tuples = new_tuples_;
    // Only this rank's part of the sweep is known; the ranks' shares are alike.
    progress.total_tuples = total_ + blocks.new_rows * ranks;
    progress.largest_share = largest_share_;
    progress.fraction =
        blocks.blocks == 0 ? 1.0 : static_cast<double>(blocks.blocks_done) / blocks.blocks;
    progress.memory_bytes = blocks.memory_bytes * ranks;
    hooks_.progress(progress);
  }

  // The ranks have met: what they found is known of all, and nothing is left of the sweep.
  void report_end() {
    Progress progress;
    progress.phase = Phase::kEvaluating;
    progress.iteration = iteration_;
    progress.new_tuples = new_tuples_;
    progress.total_tuples = here().total_tuples;
    progress.largest_share = largest_share_;
    progress.memory_bytes = state_.pivot_bytes * static_cast<std::uint64_t>(state_.comm.size());
    hooks_.progress(progress);
  }

  Status count_relations() {
    const std::size_t n = members_.relations.size();
    std::vector<std::uint64_t> rows(n, 0);
    if (n == 1) {
      rows[0] = relations_->closure().row_count();
    } else {
      for (std::size_t i = 0; i < n; ++i)
        STRATALOG_RETURN_IF_ERROR(
            relations_->for_each_group(static_cast<std::uint32_t>(i), RelationVersion::kTotal,
                                       [&](const TupleGroup& group) -> Status {
                                         rows[i] += group.set.count;
                                         return {};
                                       }));
    }
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(rows, ReduceOp::kSum));
    for (std::size_t i = 0; i < n; ++i)
      state_.relations[members_.relations[i]].global_rows = rows[i];
    return {};
  }

  EngineState& state_;
  std::uint32_t stratum_;
  const Stratum& members_;
  const StratumHooks& hooks_;
  std::shared_ptr<PivotRelations> relations_;
  std::vector<PivotClosure*> others_;  // of other threads, from the next rank on
  StratumOutcome outcome_;
  std::uint64_t iteration_ = 0;
  std::uint64_t new_tuples_ = 0;
  std::uint64_t total_ = 0;
  double largest_share_ = -1;
  std::uint64_t window_rounds_ = kFirstWindowRounds;
  std::uint64_t blocks_in_slice_ = 0;
  // From one safe point to the next.
  std::optional<SafePointPoll> poll_;
  Stopwatch since_met_;
  // While blocks are swept.
  std::optional<MeteredTime> sweeping_;
  double met_seconds_ = 0;  // that were spent at safe points within blocks
  Status ended_;  // what all ranks came to at such a one, if they do not go on
  PivotPace pace_;
  bool is_due_ = false;  // a checkpoint by rounds, at the next safe point, as pace_ has it
  // Tuples by round after iteration_: of this rank's completed runs; of all ranks, as far as blocks
  // are ahead of iteration_; the part of the latter that was there at the restart.
  std::vector<std::uint64_t> found_;
  std::vector<std::uint64_t> ahead_;
  std::vector<std::uint64_t> restored_ahead_;
  std::uint64_t untold_derivations_ = 0;
};

}  // namespace

Result<StratumOutcome> run_by_pivot(EngineState& state, std::uint32_t stratum, StratumFacts facts,
                                    const StratumStart* start, const StratumHooks& hooks) {
  return PivotRun(state, stratum, hooks).run(std::move(facts), start);
}

}  // namespace stratalog::datalog
