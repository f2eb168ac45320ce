// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/alone_run.h"

#include <algorithm>

#include "datalog/evaluate/growth_logs.h"
#include "datalog/evaluate/memory_limit.h"
#include "datalog/evaluate/mirror.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/round_counts.h"
#include "datalog/evaluate/rule_executor.h"
#include "datalog/evaluate/rule_pass.h"
#include "datalog/plan/literal_order.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Relations up to this size are copied for it, and so many tuples may be expected on the way: some
// tenths of a millisecond, which is what the calls of a stratum take.
struct Limits {
  std::uint64_t rows;
  double tuples;
};
constexpr Limits kOfProcesses{.rows = 1U << 16, .tuples = 1U << 14};
// Meetings of threads are quicker, and their copies lie in one memory.
constexpr Limits kOfThreads{.rows = 1U << 12, .tuples = 1U << 12};

// New values of a rank alone need a dictionary of its own: a copy, where ranks have one together.
// Up to so many values it takes no longer than a few calls.
constexpr std::uint64_t kMostCopiedValues = 1U << 14;

// Whoever wants no copies gets none.
Limits limits_of(const EngineState& state) {
  Limits limits = state.peers.empty() ? kOfProcesses : kOfThreads;
  limits.rows = std::min(limits.rows, state.options.replicate_limit_rows);
  if (state.options.mirror_limit_rows == 0) limits.rows = 0;
  return limits;
}

// Ranks that fill a relation together, by each value or each choice, do not do the same.
bool is_filled_alike(const Program& program, RelationId r) {
  const Relation& relation = program.relations[r];
  return !is_equivalence(relation) && relation.choice_keys.empty() && !relation.numbering &&
         !relation.sums && !shrinks(relation);
}

bool calls_library(const Program& program, const Expression& e) {
  const bool keeps_state = e.kind == ExpressionKind::kFunctor && e.functor == Functor::kExternal &&
                           program.external_functors[e.shape].is_stateful;
  return keeps_state || std::ranges::any_of(e.arguments, [&](const Expression& argument) {
           return calls_library(program, argument);
         });
}

// Whether it may be another one on each rank: what a library remembers is not of this rank alone.
bool depends_on_library(const Program& program, const std::vector<Literal>& body) {
  return std::ranges::any_of(body, [&](const Literal& literal) {
    if (literal.kind == LiteralKind::kAggregate)
      return literal.aggregate->function == AggregateFunction::kFold ||
             calls_library(program, literal.aggregate->target) ||
             depends_on_library(program, literal.aggregate->body);
    return literal.kind == LiteralKind::kComparison &&
           (calls_library(program, literal.left) || calls_library(program, literal.right));
  });
}

bool depends_on_library(const Program& program, const Rule& rule) {
  return std::ranges::any_of(rule.head_arguments,
                             [&](const Expression& e) { return calls_library(program, e); }) ||
         depends_on_library(program, rule.body);
}

// Rows of all that the steps read; false if one has too many.
bool read_little(const EngineState& state, const std::vector<Step>& steps, double& rows) {
  return std::ranges::all_of(steps, [&](const Step& step) {
    if (!read_little(state, step.aggregate_steps, rows)) return false;
    if (!reads_relation(step)) return true;
    const RelationData& relation = state.relations[step.relation];
    if (relation.equivalence) return false;
    rows += static_cast<double>(relation.global_rows);
    return relation.global_rows <= limits_of(state).rows;
  });
}

// The tuples that a rule is expected to look at.
double work_of(const EngineState& state, const RulePlan& plan, double rows,
               const std::vector<RelationStatistics>& statistics) {
  const Rule& rule = state.program.rules[plan.rule];
  std::vector<std::uint32_t> atoms;
  double made = 1;  // by ranges, and by aggregates, which look at their relations each time
  for (const Step& step : plan.steps) {
    if (rule.body[step.literal].kind == LiteralKind::kAtom) atoms.push_back(step.literal);
    if (step.kind == StepKind::kRange) return limits_of(state).tuples + 1;  // any number
    if (step.kind == StepKind::kAggregate) made = std::max(rows, 1.0);
  }
  if (atoms.size() < 2) return rows * made;
  return cost_of_order(body_of(rule, statistics), atoms, std::nullopt) * made;
}

// To all ranks, where they are not yet.
Status bring_copies(EngineState& state, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    STRATALOG_RETURN_IF_ERROR(bring_copies(state, step.aggregate_steps));
    if (!reads_relation(step) || state.relations[step.relation].arity == 0) continue;
    if (!has_copy(state.relations[step.relation])) STRATALOG_RETURN_IF_ERROR(state.meet());
    STRATALOG_RETURN_IF_ERROR(
        ensure_available(state, step.relation, step.index, Availability::kEverywhere));
  }
  return {};
}

void open_members(EngineState& state, const Stratum& members) {
  for (const RelationId r : members.relations) {
    if (state.relations[r].arity == 0) continue;
    open_shard(state, r, state.plan.relations[r].primary);
    open_mirror(state, r, state.plan.relations[r].primary);
  }
}

}  // namespace

bool may_run_alone(const EngineState& state, std::uint32_t s,
                   const std::vector<RelationStatistics>& statistics) {
  const Stratum& stratum = state.program.strata[s];
  if (state.is_single() || stratum.is_recursive || state.addition || limits_of(state).rows == 0 ||
      !stratum.subsumptions.empty() || state.has_facts(stratum))
    return false;
  for (const RelationId r : stratum.relations)
    if (!is_filled_alike(state.program, r)) return false;
  const DictionarySize values = state.dictionary.size();
  const bool may_create =
      !state.dictionary.is_joint() || values.symbols + values.wides <= kMostCopiedValues;
  double work = 0;
  for (const RulePlan& plan : state.plan.strata[s].once) {
    const Rule& rule = state.program.rules[plan.rule];
    double rows = 0;
    if (depends_on_library(state.program, rule) || (!may_create && may_create_values(rule, plan)) ||
        !read_little(state, plan.steps, rows))
      return false;
    work += work_of(state, plan, rows, statistics);
    if (work > limits_of(state).tuples) return false;
  }
  return true;
}

Result<StratumOutcome> run_alone(EngineState& state, std::uint32_t s, const StratumHooks& hooks) {
  const Stopwatch watch;
  const Stratum& members = state.program.strata[s];
  const std::vector<RulePlan>& rules = state.plan.strata[s].once;
  for (const RulePlan& plan : rules) STRATALOG_RETURN_IF_ERROR(bring_copies(state, plan.steps));

  if (state.meter)
    for (const RulePlan& plan : rules)
      if (!state.program.rules[plan.rule].body.empty()) (void)state.meter->rule(s, plan);
  state.evaluator.set_iteration(0);
  RoundCounts counts(state, s);
  MirrorRound mirror(state, s);
  std::uint64_t memory = 0;
  state.keep_for_meeting(state.guard([&]() -> Status {
    open_members(state, members);
    STRATALOG_ASSIGN_OR_RETURN(const auto pass,
                               RulePass::bind(state, s, rules, nullptr, DeltaShare::kAll));
    if (pass->sends_tuples())
      return Status::internal("a stratum that ranks evaluate alone sends tuples");
    STRATALOG_RETURN_IF_ERROR(pass->run());
    PhaseWatch phase(true);
    mirror.unite();
    mirror.advance();
    follow_growth(state, members);
    state.times.deduplicate += phase.lap();
    memory = state.memory_bytes();
    counts.take_round(mirror.new_tuples(), mirror.rows_of_members());
    if (state.meter) {
      pass->meter_new_tuples();
      state.meter->note_local_memory(memory);
      if (counts.new_tuples() > 0)
        state.meter->note_round(s, counts.iteration(), counts.new_tuples(), watch.seconds());
    }
    const std::uint64_t limit = state.options.memory_limit_bytes;
    if (limit > 0 && memory > limit)
      return over_memory_limit(memory, "of tuples and indices", limit);
    return {};
  }));
  close_members(state, s);
  const std::uint64_t all = memory * static_cast<std::uint64_t>(state.comm.size());
  state.report.peak_memory_bytes = std::max(state.report.peak_memory_bytes, all);

  StratumOutcome outcome;
  outcome.report.strategy = Strategy::kOnce;
  outcome.report.iterations = counts.iteration();
  outcome.report.tuples = counts.total_tuples();
  if (counts.new_tuples() > 0 &&
      (state.options.keep_round_counts || state.options.checkpoint.store != nullptr))
    outcome.report.new_tuples_per_round.push_back(counts.new_tuples());
  outcome.report.seconds = watch.seconds();
  if (hooks.progress) hooks.progress(counts.progress(all));
  return outcome;
}

bool has_no_seeds(const EngineState& state, std::uint32_t s) {
  const Stratum& stratum = state.program.strata[s];
  return !state.addition && state.plan.strata[s].once.empty() && !state.has_facts(stratum) &&
         std::ranges::none_of(stratum.relations, [&](RelationId r) {
           return state.program.relations[r].numbering || state.program.relations[r].sums;
         });
}

StratumOutcome leave_empty(EngineState& state, std::uint32_t s) {
  const Stratum& stratum = state.program.strata[s];
  for (const RelationId r : stratum.relations) {
    if (state.relations[r].arity == 0 || state.relations[r].equivalence) continue;
    open_shard(state, r, state.plan.relations[r].primary);
    if (!state.is_single()) open_mirror(state, r, state.plan.relations[r].primary);
    state.relations[r].mirrored = false;
  }
  StratumOutcome outcome;
  outcome.report.strategy = stratum.is_recursive ? Strategy::kSemiNaive : Strategy::kOnce;
  return outcome;
}

}  // namespace stratalog::datalog
