// SPDX-License-Identifier: Apache-2.0
// The plan of a program: for every rule the order of its literals and how each is looked up, for
// every relation the indices that make each lookup a search by prefix, for every stratum how it is
// run and why. A pure value, computed from the checked program and relation sizes; the same on
// every rank. Nothing here knows tuples, ranks or MPI.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/plan/best_value.h"
#include "datalog/plan/column_pairs.h"
#include "datalog/plan/frequent_values.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// How one column of a body atom is used, in the column order of the chosen index.
enum class ColumnRole : std::uint8_t {
  kMatchVariable,  // part of the searched prefix or checked: equals a variable bound before
  kMatchConstant,  // equals a constant
  kMatchEarlier,  // equals a variable that an earlier column of this same atom binds
  kBind,  // binds a variable that is needed later
  kIgnore,  // wildcard, or a variable nobody needs
  kCarry,  // last column, moved as a whole set into the head; kExists and kAbsent restrict the set
};

struct ColumnUse {
  ColumnRole role = ColumnRole::kIgnore;
  VariableId variable = 0;
  std::uint32_t constant = 0;  // index into RulePlan::constants
};

enum class StepKind : std::uint8_t {
  kScanDelta,  // the new tuples of the last round; behind other atoms those under a prefix
  kScan,  // all tuples
  kSearch,  // tuples under a prefix of `prefix_length` bound columns
  kExists,  // at least one tuple under the prefix (nothing to bind); intersects a carried set
  kAbsent,  // no tuple under the prefix (negation); subtracts from a carried set
  kFilter,  // comparison
  kAssign,  // variable = expression
  kUnpack,  // variable = [fields]: takes the known record apart
  kRange,
  kAggregate,
};

struct RulePlan;

struct Step {
  StepKind kind = StepKind::kScan;
  std::uint32_t literal = 0;  // index into the rule's body
  // atoms
  RelationId relation = 0;
  std::uint32_t index = 0;  // index into RelationPlan::indices
  std::uint32_t prefix_length =
      0;  // number of leading index columns that are matched before the step
  std::vector<ColumnUse> columns;  // in index order; kUnpack: the arguments of the kPack
  // kScan, kSearch: filters right after it bound the column behind the prefix, in whose order the
  // rows of a finished relation are read.
  bool bounds_next = false;
  // kAssign
  VariableId target = 0;
  bool assign_from_left = false;  // `expression = v` instead of `v = expression`
  // `v` is a float that later atoms are searched by: 0 looks for -0 as well, NaN for nothing.
  bool pairs_zeros = false;
  bool filters_carried = false;  // kFilter: restricts the carried set (set_comparison.h)
  std::optional<Expression> solved;  // `v = e - 1` instead of `v + 1 = e`
  // kAggregate: the plan of its body, and of which variable whole sets are counted there
  std::vector<Step> aggregate_steps;
  std::optional<VariableId> counted;
  // Variables that later steps or the head still need, ascending.
  std::vector<VariableId> live_after;
};

// What a kAssign step of this literal evaluates.
inline const Expression& assigned_by(const Step& step, const Literal& literal) {
  if (step.solved) return *step.solved;
  return step.assign_from_left ? literal.left : literal.right;
}

inline bool reads_relation(const Step& step) {
  switch (step.kind) {
    case StepKind::kScanDelta:
    case StepKind::kScan:
    case StepKind::kSearch:
    case StepKind::kExists:
    case StepKind::kAbsent:
      return true;
    default:
      return false;
  }
}

// Whether carried sets are restricted by a relation of one column: wherever they are, all of it is
// needed.
inline bool restricts_by_whole(const Step& step) {
  return (step.kind == StepKind::kExists || step.kind == StepKind::kAbsent) &&
         step.columns.size() == 1 && step.columns.front().role == ColumnRole::kCarry;
}

// Whether an aggregate only counts the tuples of a relation, which all ranks know. `literal`: the
// step's.
inline bool counts_whole_relation(const Step& step, const Literal& literal) {
  if (step.kind != StepKind::kAggregate ||
      literal.aggregate->function != AggregateFunction::kCount || step.aggregate_steps.size() != 1)
    return false;
  const Step& inner = step.aggregate_steps.front();
  return inner.kind == StepKind::kScan && !inner.columns.empty() &&
         std::all_of(inner.columns.begin(), inner.columns.end(),
                     [](const ColumnUse& use) { return use.role == ColumnRole::kIgnore; });
}

// One evaluable form of a rule: as it stands, or with one recursive atom restricted to the delta.
struct RulePlan {
  std::uint32_t rule = 0;
  std::optional<std::uint32_t> delta_literal;
  std::vector<Step> steps;
  // kPivot: kExists, kAbsent and kFilter steps over the carried column, which say what pivots the
  // edges that `steps` find let through.
  std::vector<Step> masks;
  std::vector<Expression> constants;
  bool carries = false;  // set at a time: the head's last index column is moved as whole sets
  VariableId carried = 0;
  bool follows_plan = false;  // its atoms are in an order of the program's (`.plan`)
  // May begin with another atom than that of new tuples: because of a `.plan`, or as each of them
  // would meet a whole relation.
  bool begins_elsewhere = false;
  std::string reason;  // one line for `explain`
};

struct IndexPlan {
  std::vector<std::uint32_t> order;  // declared columns in index order
  std::vector<std::uint32_t> searched_lengths;  // prefix lengths of searches, ascending
  std::uint32_t readers = 0;  // steps that search in it
  bool is_there = false;  // beside the primary one: a stratum that has begun reads it
};

struct RelationPlan {
  std::vector<IndexPlan> indices;  // at least one if the arity is >= 1
  std::uint32_t primary = 0;  // the index in which derived tuples are deduplicated
  bool needs_indices = true;  // not of classes, which are found by any element
  // Its stratum keeps the least or greatest value of the primary index's last column, and no value
  // decides where a tuple lies.
  std::optional<BestValue> best;
  // All rules of its stratum carry a column: indices that nobody searched when the relation was
  // dealt may lie by it, whatever they begin with.
  bool may_lie_by_pivot = false;
  // Where sums and their terms must meet: the home is dealt by so many of the first columns.
  std::optional<std::uint32_t> dealt_by_first;
};

enum class Strategy : std::uint8_t {
  kOnce,  // not recursive: every rule is evaluated once
  kSemiNaive,  // rounds with one exchange each
  kPivot,  // decomposable and linear: blocks of pivot values, no exchange at all
};

// Which column of each recursive relation is carried unchanged through the stratum.
struct PivotPlan {
  std::vector<std::uint32_t> column;  // by position in Stratum::relations
};

struct StratumPlan {
  Strategy strategy = Strategy::kOnce;
  std::vector<RulePlan> once;  // evaluated before the first round
  std::vector<RulePlan>
      recursive;  // evaluated in each round (kSemiNaive), or compiled to a slot graph (kPivot)
  // Rules that subsume, evaluated after each round in this order: which new tuples are dominated by
  // any tuple, then which older ones are by a tuple that is new (or because of another relation).
  // None where all that they do is to keep a best value (RelationPlan::best).
  std::vector<RulePlan> reject;
  std::vector<RulePlan> retire;
  // kPivot: the recursive rules as rounds evaluate them, for the case that a relation is too large
  // for every rank.
  std::vector<RulePlan> by_rounds;
  std::optional<PivotPlan> pivot;  // also set for kSemiNaive if the stratum is decomposable
  bool may_be_mirrored = false;  // kSemiNaive: its relations may lie on every rank while small
  std::string reason;

  const std::vector<RulePlan>& rules_of_rounds() const {
    return strategy == Strategy::kPivot ? by_rounds : recursive;
  }
};

struct ProgramPlan {
  std::vector<RelationPlan> relations;  // by RelationId
  std::vector<StratumPlan> strata;  // as Program::strata
};

// What is known of a relation before the run.
struct RelationStatistics {
  bool known = false;  // all there will be: no rule fills it
  std::uint64_t rows = 0;  // where it is not known: at least, and so is `distinct`
  std::vector<std::uint64_t> distinct;  // by declared column, an estimate
  std::vector<std::vector<FrequentValue>> frequent;  // by declared column; shorter: none are known
  std::vector<ColumnPair> pairs;  // of columns that depend on each other
};

struct PlanOptions {
  std::vector<RelationStatistics> statistics;  // by RelationId; may be shorter or empty
  bool allow_pivot = true;
  // A stratum that a checkpoint was written in the middle of, by pivot: it goes on so.
  std::optional<std::uint32_t> swept;
  bool allow_sets = true;
  std::optional<std::uint32_t> sets_in;  // with allow_sets: in this stratum only
  // A stratum that goes on from an old fixpoint (plan/addition_plan.h): by rounds.
  std::optional<std::uint32_t> continued;
};

// Pure. Fails only on programs that break the guarantees of program.h (Internal).
Result<ProgramPlan> plan_program(const Program& program, const PlanOptions& options);

// Plans a stratum once more when it is about to begin and all below it is finished, of which
// `statistics` (of all relations) now knows the sizes; of its own relations it gets estimates.
// Rules that read something empty are left out, and atoms get another order where that promises
// much less work; an index that there is not yet costs as much as it takes to make. Indices that
// are planned keep their numbers, and those of finished relations all else; what is missing is
// added. The strategy stays, save that nothing is swept without recursive rules. True if the plan
// has changed. Pure.
Result<bool> replan_stratum(const Program& program, const PlanOptions& options,
                            std::uint32_t stratum, std::vector<RelationStatistics>& statistics,
                            ProgramPlan& plan);

// The stratum begins: whatever indices it reads will be there.
void note_indices_read(std::uint32_t stratum, ProgramPlan& plan);

// What `stratalog explain` prints: strata, indices, join orders, set-at-a-time rules and the
// reasons.
std::string explain(const Program& program, const ProgramPlan& plan);
// Of one form of a rule: "scan e -> search f by (x)".
std::string explain_order(const Program& program, const ProgramPlan& plan, const RulePlan& rule);

}  // namespace stratalog::datalog
