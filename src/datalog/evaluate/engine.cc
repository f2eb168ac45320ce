// SPDX-License-Identifier: Apache-2.0
// run_program: facts, plan, strata, checkpoints, outputs, report. See engine.h; the work is done in
// the other files of this room.
#include "datalog/evaluate/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "comm/shared_pointers.h"
#include "datalog/evaluate/added_facts.h"
#include "datalog/evaluate/alone_run.h"
#include "datalog/evaluate/checkpointing.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/fact_statistics.h"
#include "datalog/evaluate/kept_run.h"
#include "datalog/evaluate/placement.h"
#include "datalog/evaluate/program_constants.h"
#include "datalog/evaluate/program_facts.h"
#include "datalog/evaluate/refined_plan.h"
#include "datalog/evaluate/relation_images.h"
#include "datalog/evaluate/run_ending.h"
#include "datalog/evaluate/stratum_run.h"
#include "datalog/evaluate/unread_relations.h"
#include "datalog/facts/cell_class.h"
#include "datalog/relation_storage.h"
#include "model/joint_tables.h"

namespace stratalog::datalog {
namespace {

// Strata that ranks evaluate alone, one after the other, until they ask for checkpoints again.
constexpr int kMostUnasked = 64;

enum class Relations : std::uint8_t { kUnseen, kSeen };  // when the run has ended

class Engine {
 public:
  Engine(Comm& comm, const Program& program, const RunOptions& options, const RunHooks& hooks,
         Relations at_end)
      : state_(comm, program, options, hooks),
        at_end_(at_end),
        checkpointing_(state_),
        facts_(program.relations.size()) {
    state_.evaluator.set_externals(options.externals, program);
    state_.evaluator.set_is_abandoned(hooks.is_abandoned);
    state_.statistics = &position_.statistics;
    if (options.metering != Metering::kNone)
      state_.meter = std::make_unique<RunMeter>(options.metering);
  }

  Status run() {
    leaves_out_ = may_leave_out();
    STRATALOG_RETURN_IF_ERROR(meet_peers());
    // Processes that others wait for leave it to their caller to end them all.
    if (!state_.comm.can_give_up()) return run_all();
    bool has_returned = false;
    Status done = guard_memory([&] {
      Status ended = run_all();
      has_returned = true;
      return ended;
    });
    // What all have agreed on is theirs, or the words say whose it is.
    const bool is_own = !has_returned || (!state_.want_of_memory.is_ok() &&
                                          done.message() == state_.want_of_memory.message());
    if (is_own && !state_.is_single())
      done = done.with_context(fmt::format("rank {}", state_.comm.rank()));
    if (!has_returned) state_.comm.give_up(done);
    // Nobody's relations go away while others may read them.
    if (!state_.peers.empty()) state_.comm.part(done);
    state_.peers.clear();
    return done;
  }

  const EngineState& state() const { return state_; }
  RunReport& report() { return state_.report; }

 private:
  Status meet_peers() {
    if (state_.is_single() || !state_.comm.shares_memory()) return {};
    STRATALOG_ASSIGN_OR_RETURN(state_.peers, pointers_of_all(state_.comm, &std::as_const(state_)));
    return {};
  }

  // Within a node messages are copies, and nobody waits for them.
  Status settle_exchange_time() {
    const ExchangeTime wish = state_.options.exchange;
    if (state_.is_single() || !state_.comm.has_post() || wish == ExchangeTime::kAfter) return {};
    state_.exchanges_beside = wish == ExchangeTime::kBeside;
    if (wish == ExchangeTime::kAuto) {
      STRATALOG_ASSIGN_OR_RETURN(const Topology topology, state_.comm.topology());
      state_.exchanges_beside = topology.nodes > 1;
    }
    state_.report.exchanges_beside = state_.exchanges_beside;
    return {};
  }

  void open_relations() {
    for (RelationId r = 0; r < state_.relations.size(); ++r)
      state_.relations[r].arity =
          static_cast<std::uint32_t>(state_.program.relations[r].attributes.size());
    open_equivalences(state_);
  }

  // With the values of the program itself.
  Status open_dictionary() {
    announce_shapes(state_.program, state_.dictionary);
    intern_constants(state_.program, state_.dictionary);
    if (!state_.comm.shares_memory() || state_.is_single()) return {};
    return join_tables(state_.comm, state_.dictionary);
  }

  Status run_all() {
    STRATALOG_RETURN_IF_ERROR(settle_exchange_time());
    open_relations();
    Stopwatch watch;
    STRATALOG_RETURN_IF_ERROR(look_for_added_facts());
    if (may_restore()) tell(Phase::kRestoring);
    STRATALOG_ASSIGN_OR_RETURN(const auto resumed, checkpointing_.resume());
    state_.is_resumed = resumed.has_value();
    if (resumed) position_ = *resumed;
    if (state_.addition && state_.comm.rank() == 0 && state_.hooks.notice)
      for (const std::string& line : describe_addition(state_, added_)) state_.hooks.notice(line);
    STRATALOG_RETURN_IF_ERROR(open_dictionary());
    state_.times.restore = watch.lap();

    tell(Phase::kLoading);
    const auto has_its_facts = [this](std::uint32_t s) { return is_settled(s) || is_left_out(s); };
    STRATALOG_ASSIGN_OR_RETURN(facts_,
                               load_program_facts(state_, has_its_facts, position_.supplied));
    if (state_.addition) STRATALOG_RETURN_IF_ERROR(load_added_facts());
    STRATALOG_RETURN_IF_ERROR(count_facts());
    state_.times.load = watch.lap();
    begin(Phase::kEvaluating);
    if (!resumed) STRATALOG_RETURN_IF_ERROR(make_plan());
    begin(Phase::kCheckpointing);
    STRATALOG_RETURN_IF_ERROR(checkpointing_.open_writer());
    begin(Phase::kEvaluating);
    STRATALOG_RETURN_IF_ERROR(run_strata());
    if (!state_.report.stopped_early) {
      tell(Phase::kOutput);
      Stopwatch output;
      STRATALOG_RETURN_IF_ERROR(write_outputs(state_));
      state_.times.output = output.seconds();
    }
    // Before all ranks meet for the last time: whoever returns finds the folder free.
    checkpointing_.close_writer();
    return report_all();
  }

  Status report_all() {
    STRATALOG_RETURN_IF_ERROR(finish_report(state_, position_.reports));
    report_left_out();
    return {};
  }

  // Whether nobody will ever see what the stratum would hold: no output depends on it, and neither
  // a checkpoint nor the caller keeps relations. Where tuples are numbered, numbers would be
  // others.
  bool is_left_out(std::uint32_t s) const {
    const auto is_needed = [&](RelationId r) { return state_.program.relations[r].is_needed; };
    return leaves_out_ && std::ranges::none_of(state_.program.strata[s].relations, is_needed);
  }

  bool may_leave_out() const {
    return at_end_ == Relations::kUnseen && !checkpointing_.is_on() &&
           std::ranges::all_of(state_.program.relations, [](const Relation& relation) {
             return relation.is_needed || !relation.numbering;
           });
  }

  void report_left_out() {
    std::set<std::string> names;
    for (std::uint32_t s = 0; s < state_.program.strata.size(); ++s)
      if (is_left_out(s))
        for (const RelationId r : state_.program.strata[s].relations) {
          state_.report.relations[r].is_computed = false;
          names.insert(state_.program.relations[r].name);
        }
    if (state_.report.profile)
      std::erase_if(state_.report.profile->relations,
                    [&](const ProfileRelation& relation) { return names.contains(relation.name); });
  }

  // An error is the phase's from now on.
  void begin(Phase phase) const {
    if (state_.comm.rank() == 0 && state_.hooks.at_work) state_.hooks.at_work(phase);
  }

  void tell(Phase phase) const {
    begin(phase);
    if (state_.comm.rank() != 0 || !state_.hooks.progress) return;
    Progress progress;
    progress.phase = phase;
    progress.memory_bytes = state_.report.peak_memory_bytes;
    note_job(progress);
    state_.hooks.progress(progress);
  }

  // What does not belong to a stratum.
  void note_job(Progress& progress) const {
    progress.strata = static_cast<std::uint32_t>(state_.program.strata.size());
    for (const SaveReport& saved : state_.report.checkpoints)
      progress.checkpoint_seconds += saved.held_seconds;
    progress.checkpoints = state_.report.checkpoints.size();
    progress.elapsed_seconds = state_.clock.seconds();
    progress.exchanged_bytes = state_.traffic.all;
  }

  bool may_restore() const {
    const ResumePolicy policy = state_.options.checkpoint.resume;
    return checkpointing_.is_on() &&
           (policy == ResumePolicy::kResume || policy == ResumePolicy::kResumeOrFresh);
  }

  // Which relations get facts from the folder, if there is one.
  Status look_for_added_facts() {
    if (state_.options.added_facts == nullptr) return {};
    tell(Phase::kLoading);
    STRATALOG_ASSIGN_OR_RETURN(
        added_, find_added_files(state_.comm, *state_.options.added_facts, state_.program));
    begin(Phase::kRestoring);
    if (!checkpointing_.is_on() || state_.options.checkpoint.resume != ResumePolicy::kResume)
      return Status::invalid_argument("facts are added to a checkpoint of a finished run only");
    state_.changed = relations_of(added_);
    return {};
  }

  Status load_added_facts() {
    STRATALOG_ASSIGN_OR_RETURN(facts_,
                               load_added_files(state_, *state_.options.added_facts, added_));
    std::vector<std::uint64_t> rows;
    rows.reserve(facts_.size());
    for (const TupleColumns& facts : facts_) rows.push_back(facts.rows);
    STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(rows, ReduceOp::kSum));
    for (const RelationId r : state_.changed)
      position_.additions.back().facts.push_back(
          {.relation = state_.program.relations[r].name, .rows = rows[r]});
    return {};
  }

  // Whether a checkpoint holds the stratum with all facts that it began with.
  bool is_settled(std::uint32_t s) const {
    return position_.finished.contains(s) || position_.stratum == s;
  }

  Status make_plan() {
    STRATALOG_ASSIGN_OR_RETURN(position_.statistics,
                               gather_statistics(state_.comm, state_.program, facts_));
    STRATALOG_ASSIGN_OR_RETURN(
        state_.plan, plan_program(state_.program, {.statistics = position_.statistics,
                                                   .allow_pivot = state_.options.allow_pivot,
                                                   .allow_sets = state_.options.allow_sets}));
    state_.placements = plan_placements(state_.program, state_.plan);
    return {};
  }

  // Into another stratum, because facts are added.
  bool is_merged(std::uint32_t s) const { return state_.program.strata[s].relations.empty(); }

  bool is_read(std::uint32_t s) const {
    return is_only_read(state_.program, state_.program.strata[s]);
  }

  // The stratum of a checkpoint first, then relations that are only read from files, so that from
  // then on every checkpoint holds all that was read; then the rest in order.
  std::vector<std::uint32_t> stratum_order() const {
    std::vector<std::uint32_t> order;
    const auto count = static_cast<std::uint32_t>(state_.program.strata.size());
    for (std::uint32_t s = 0; s < count; ++s)
      if (!is_merged(s) && is_read(s)) order.push_back(s);
    for (std::uint32_t s = 0; s < count; ++s)
      if (!is_merged(s) && !is_read(s)) order.push_back(s);
    return order;
  }

  Status run_strata() {
    STRATALOG_RETURN_IF_ERROR(checkpointing_.learn_who_may_ask());
    std::vector<std::uint32_t> order = stratum_order();
    std::erase_if(order, [this](std::uint32_t s) { return is_left_out(s); });
    // Who looks at relations when the run has ended needs all of them, and so does a checkpoint.
    std::optional<UnreadRelations> unread;
    if (at_end_ == Relations::kUnseen && !checkpointing_.is_on())
      unread.emplace(state_.program, order);
    for (const std::uint32_t s : order) {
      if (position_.finished.contains(s)) continue;
      something_ran_ = true;
      STRATALOG_RETURN_IF_ERROR(run_stratum(s));
      if (state_.report.stopped_early) return {};
      if (unread) unread->forget_after(s, state_);
      // Between strata a checkpoint may be due as well; those that take no time do not ask.
      if (is_read(s) || (state_.is_apart && !is_asking_due())) continue;
      unasked_strata_ = 0;
      STRATALOG_RETURN_IF_ERROR(state_.meet());
      STRATALOG_ASSIGN_OR_RETURN(const Verdict verdict, checkpointing_.safe_point(position_, {}));
      state_.report.stopped_early = verdict == Verdict::kStop;
      if (state_.report.stopped_early) return {};
    }
    STRATALOG_RETURN_IF_ERROR(state_.meet());
    // The answer itself is the last checkpoint, unless it was there before.
    if (!checkpointing_.is_on() || !something_ran_) return {};
    if (state_.options.checkpoint.at_end == AtEnd::kSkip) return checkpointing_.settle();
    return checkpointing_.save(position_, last_iteration_, SaveTime::kAtEnd);
  }

  // While ranks are apart. The same on all of them.
  bool is_asking_due() {
    return checkpointing_.may_be_asked() && ++unasked_strata_ >= kMostUnasked;
  }

  Status run_stratum(std::uint32_t s) {
    const Stratum& members = state_.program.strata[s];
    state_.stratum = s;
    stratum_began_ = state_.clock.seconds();
    std::string names;
    for (const RelationId r : members.relations)
      names += (names.empty() ? "" : ", ") + state_.program.relations[r].name;

    const bool restored = position_.stratum == s;
    if (!restored) STRATALOG_RETURN_IF_ERROR(refine_plan(state_, s, position_.statistics));
    const StratumStart start = position_.start;
    if (!restored && has_no_seeds(state_, s)) {
      if (state_.comm.rank() == 0 && state_.hooks.progress) tell_empty(names);
      return end_stratum(s, names, leave_empty(state_, s));
    }
    note_indices_read(s, state_.plan);
    const bool is_alone = !restored && may_run_alone(state_, s, position_.statistics);
    if (!is_alone) STRATALOG_RETURN_IF_ERROR(state_.meet());
    const bool by_pivot = restored ? position_.by_pivot : can_run_by_pivot(state_, s);
    std::uint64_t fact_rows = 0;
    StratumFacts facts;
    for (const RelationId r : members.relations) {
      facts.push_back(std::move(facts_[r]));
      facts_[r] = {};
      if (facts.back().columns.empty()) facts.back().columns.resize(state_.relations[r].arity);
      fact_rows += std::exchange(state_.fact_rows[r], 0);
    }
    if (!restored && !by_pivot && !is_alone)
      open_stratum_shards(state_, s, std::max(fact_rows, most_read(s)));
    position_.stratum = s;
    position_.by_pivot = by_pivot;

    // What a checkpoint in this stratum says about it.
    StratumHooks hooks;
    hooks.seconds_between_safe_points = checkpointing_.seconds_between_safe_points();
    hooks.wish = [this] { return checkpointing_.wish(); };
    hooks.may_be_asked = [this] { return checkpointing_.may_be_asked(); };
    hooks.settle = [this] { return checkpointing_.settle(); };
    hooks.rounds_until_due = [this](std::uint64_t iteration) {
      return checkpointing_.rounds_until_due(iteration);
    };
    hooks.rounds_between_checkpoints = checkpointing_.rounds_between_checkpoints();
    position_.start = {.iteration = 0,
                       .new_tuples_per_round =
                           restored ? start.new_tuples_per_round : std::vector<std::uint64_t>{},
                       .tuples_ahead = {}};
    hooks.safe_point = [&](const SafePoint& point) {
      position_.start.iteration = point.iteration;
      position_.start.tuples_ahead.assign(point.tuples_ahead.begin(), point.tuples_ahead.end());
      if (checkpointing_.is_on()) keep_counts(point, position_.start.new_tuples_per_round);
      return checkpointing_.safe_point(position_, point);
    };
    if (state_.comm.rank() == 0 && state_.hooks.progress)
      hooks.progress = [&](const Progress& progress) { pass_on(progress, names); };

    const StratumStart* from = restored ? &start : nullptr;
    STRATALOG_ASSIGN_OR_RETURN(StratumOutcome outcome,
                               is_alone ? run_alone(state_, s, hooks)
                               : by_pivot
                                   ? run_by_pivot(state_, s, std::move(facts), from, hooks)
                                   : run_by_rounds(state_, s, std::move(facts), from, hooks));
    if (outcome.for_rounds) {
      STRATALOG_ASSIGN_OR_RETURN(outcome, run_seeds(s, std::move(outcome), hooks));
    }
    return end_stratum(s, names, std::move(outcome));
  }

  // The largest relation that a rule without recursive atoms reads: what it may well make of it is
  // too much for copies on all ranks, which can still be made afterwards.
  std::uint64_t most_read(std::uint32_t s) const {
    std::uint64_t rows = 0;
    for (const RulePlan& plan : state_.plan.strata[s].once)
      for (const Literal& literal : state_.program.rules[plan.rule].body)
        if (literal.kind == LiteralKind::kAtom)
          rows = std::max(rows, state_.relations[literal.atom.relation].global_rows);
    return rows;
  }

  // Of a stratum that was looked at as one to run by pivot.
  Result<StratumOutcome> run_seeds(std::uint32_t s, StratumOutcome looked_at,
                                   const StratumHooks& hooks) {
    open_stratum_shards(state_, s, looked_at.for_rounds->rows);
    position_.by_pivot = false;
    const StratumStart start{.from = StartFrom::kSeeds, .new_tuples_per_round = {}};
    STRATALOG_ASSIGN_OR_RETURN(
        StratumOutcome outcome,
        run_by_rounds(state_, s, std::move(looked_at.for_rounds->tuples), &start, hooks));
    outcome.report.seconds += looked_at.report.seconds;
    return outcome;
  }

  Status end_stratum(std::uint32_t s, const std::string& names, StratumOutcome outcome) {
    const Stratum& members = state_.program.strata[s];
    for (const RelationId r : state_.read_swept) {
      state_.relations[r].swept.reset();
      state_.relations[r].swept_everywhere.reset();
    }
    state_.read_swept.clear();
    state_.pivot_bytes = 0;  // counted with the relations from now on
    for (const RelationId r : members.relations) state_.recount(r);
    outcome.report.relations = names;
    if (outcome.stopped) {
      state_.report.stopped_early = true;
      return {};
    }
    position_.stratum.reset();
    position_.start = {};
    note_finished(s);
    last_iteration_ = outcome.report.iterations;
    if (!state_.options.keep_round_counts && !checkpointing_.is_on())
      outcome.report.new_tuples_per_round.clear();
    position_.reports.push_back(std::move(outcome.report));
    return {};
  }

  void note_finished(std::uint32_t s) {
    position_.finished.insert(s);
    if (continued_stratum(position_) == s)
      position_.finished.insert(position_.additions.back().continued.begin(),
                                position_.additions.back().continued.end());
    if (position_.finished.size() == state_.program.strata.size()) position_.is_adding = false;
  }

  // There may be as many safe points as rounds, and a million rounds: only what is new is copied.
  // Blocks of pivots add to rounds that others have run before.
  void keep_counts(const SafePoint& point, std::vector<std::uint64_t>& counts) const {
    const auto given = point.new_tuples_per_round;
    if (given.empty()) {
      if (point.iteration > counts.size()) counts.resize(point.iteration, 0);
    } else if (position_.by_pivot || given.size() < counts.size()) {
      counts.assign(given.begin(), given.end());
    } else {
      counts.insert(counts.end(), given.begin() + static_cast<std::ptrdiff_t>(counts.size()),
                    given.end());
    }
  }

  // Collective. How many facts each relation begins with.
  Status count_facts() {
    state_.fact_rows.clear();
    for (const TupleColumns& facts : facts_) state_.fact_rows.push_back(facts.rows);
    return state_.comm.allreduce(state_.fact_rows, ReduceOp::kSum);
  }

  void tell_empty(const std::string& names) const {
    Progress progress;
    progress.phase = Phase::kEvaluating;
    progress.memory_bytes = state_.report.peak_memory_bytes;
    pass_on(std::move(progress), names);
  }

  void pass_on(Progress progress, const std::string& names) const {
    progress.stratum = state_.stratum;
    progress.relations = names;
    note_job(progress);
    progress.stratum_seconds = progress.elapsed_seconds - stratum_began_;
    if (state_.meter) name_busiest_rule(progress);
    state_.hooks.progress(progress);
  }

  void name_busiest_rule(Progress& progress) const {
    const RunMeter::Busiest busiest = state_.meter->busiest(state_.stratum);
    if (busiest.meter == nullptr || busiest.meter->work != ProfileWork::kRule) return;
    progress.busiest_rule = state_.program.rules[busiest.meter->rule].text;
    progress.busiest_share = busiest.share;
  }

  EngineState state_;
  Relations at_end_;
  Checkpointing checkpointing_;
  EnginePosition position_;
  AddedFiles added_;
  std::vector<TupleColumns> facts_;
  std::uint64_t last_iteration_ = 0;
  bool something_ran_ = false;
  bool leaves_out_ = false;
  double stratum_began_ = 0;  // by the run's clock
  int unasked_strata_ = 0;  // after which nobody was asked for a checkpoint
};

// Never destroyed, and known to those who look for lost memory.
void leave(std::unique_ptr<Engine> engine) {
  static std::mutex mutex;
  static auto& left = *new std::vector<Engine*>;
  const std::lock_guard lock(mutex);
  left.push_back(engine.release());
}

}  // namespace

Result<RunReport> run_program(Comm& comm, const Program& program, const RunOptions& options,
                              const RunHooks& hooks) {
  auto engine = std::make_unique<Engine>(comm, program, options, hooks, Relations::kUnseen);
  const Status ran = engine->run();
  RunReport report = std::move(engine->report());
  if (options.relations_at_end == RelationsAtEnd::kLeft && options.checkpoint.store == nullptr)
    leave(std::move(engine));
  STRATALOG_RETURN_IF_ERROR(ran);
  return report;
}

struct KeptRun::Parts {
  Parts(Comm& comm, std::shared_ptr<const Program> shared_program, RunOptions run_options,
        RunHooks run_hooks)
      : program(std::move(shared_program)),
        options(std::move(run_options)),
        hooks(std::move(run_hooks)),
        engine(comm, *program, options, hooks, Relations::kSeen) {}

  std::shared_ptr<const Program> program;
  RunOptions options;
  RunHooks hooks;
  Engine engine;
};

KeptRun::KeptRun(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KeptRun::~KeptRun() = default;

Result<std::unique_ptr<KeptRun>> KeptRun::run(Comm& comm, std::shared_ptr<const Program> program,
                                              RunOptions options, RunHooks hooks) {
  auto parts =
      std::make_unique<Parts>(comm, std::move(program), std::move(options), std::move(hooks));
  STRATALOG_RETURN_IF_ERROR(parts->engine.run());
  return std::unique_ptr<KeptRun>(new KeptRun(std::move(parts)));
}

const RunReport& KeptRun::report() const { return parts_->engine.report(); }

RelationImage KeptRun::image(RelationId relation) const {
  return relation_image(parts_->engine.state(), relation, RelationVersion::kTotal);
}

const ValueDictionary& KeptRun::dictionary() const { return parts_->engine.state().dictionary; }

}  // namespace stratalog::datalog
