// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/subsumption.h"

#include <algorithm>
#include <utility>

#include "datalog/evaluate/joint_shards.h"
#include "datalog/evaluate/redistribute.h"
#include "datalog/evaluate/stratum_run.h"

namespace stratalog::datalog {
namespace {

// Whether more than the home's primary index holds what that keeps one value of.
bool lies_beside_home(const RelationData& relation) {
  if (!relation.keeps_one_value()) return false;
  const auto indices =
      std::ranges::count_if(relation.shards.front().indices,
                            [](const std::unique_ptr<Index>& index) { return index != nullptr; });
  return indices > 1 || relation.shards.size() > 1;
}

// The second atom; what was lifted out of the first may stand between them.
std::uint32_t dominating_literal(const Rule& rule) {
  const auto is_atom = [](const Literal& literal) { return literal.kind == LiteralKind::kAtom; };
  const auto first = std::ranges::find_if(rule.body, is_atom);
  const auto second = std::find_if(first + 1, rule.body.end(), is_atom);
  return static_cast<std::uint32_t>(second - rule.body.begin());
}

}  // namespace

Subsumption::Subsumption(EngineState& state, std::uint32_t stratum)
    : state_(state), stratum_(stratum) {
  // The same relations on every rank, whether it finds dominated tuples or not.
  for (const RulePlan& rule : plan().reject) doomed_[state.program.rules[rule.rule].head];
}

Status Subsumption::ensure_relations() {
  STRATALOG_RETURN_IF_ERROR(ensure_static_relations(state_, stratum_, plan().reject, false));
  return ensure_static_relations(state_, stratum_, plan().retire, false);
}

void Subsumption::forget_bindings() {
  reject_.reset();
  retire_.reset();
}

Status Subsumption::settle_seed() { return run(plan().reject, Whose::kNew, reject_); }

Status Subsumption::settle_round() {
  const Status rejected = run(plan().reject, Whose::kNew, reject_);
  const Status retired = run(plan().retire, Whose::kOld, retire_);
  return rejected.is_ok() ? retired : rejected;
}

Status Subsumption::run(const std::vector<RulePlan>& rules, Whose whose,
                        std::unique_ptr<RulePass>& pass) {
  if (pass == nullptr) {
    STRATALOG_ASSIGN_OR_RETURN(
        pass, RulePass::bind(state_, stratum_, rules,
                             [&](const RulePlan& rule) { return doom(rule, whose); }));
  }
  const Status mine = pass->run();
  const Status erased = erase_doomed();
  return mine.is_ok() ? erased : mine;
}

// Notes the dominated tuples of bindings whose two tuples differ. Of a new tuple any other one that
// dominates it is enough.
RulePass::RuleSink Subsumption::doom(const RulePlan& plan, Whose whose) {
  const Rule& rule = state_.program.rules[plan.rule];
  const std::size_t arity = rule.head_arguments.size() / 2;
  RulePass::RuleSink sink(
      [this, &rule, arity, &doomed = doomed_.at(rule.head),
       tuple = std::vector<Cell>(2 * arity)](const Batch& batch) mutable -> Status {
        for (std::uint32_t r = 0; r < batch.rows; ++r) {
          for (std::size_t i = 0; i < tuple.size(); ++i)
            tuple[i] = state_.evaluator.evaluate(rule.head_arguments[i], batch, r);
          const auto middle = tuple.begin() + static_cast<std::ptrdiff_t>(arity);
          if (std::equal(tuple.begin(), middle, middle)) continue;
          is_doomed_ = true;
          // A tuple that many dominate comes in a row.
          const bool is_known =
              doomed.size() >= arity &&
              std::equal(tuple.begin(), middle, doomed.end() - static_cast<std::ptrdiff_t>(arity));
          if (!is_known) doomed.insert(doomed.end(), tuple.begin(), middle);
        }
        return state_.evaluator.status();
      });
  if (whose == Whose::kNew)
    sink.witness = {.literal = dominating_literal(rule), .is_found = &is_doomed_};
  return sink;
}

void Subsumption::note_beaten() {
  for (const RelationId r : state_.program.strata[stratum_].relations) {
    const RelationData& relation = state_.relations[r];
    if (lies_beside_home(relation))
      relation.shards.front().primary_index().append_beaten(beaten_[r]);
  }
}

Status Subsumption::erase_beaten() {
  for (const RelationId relation : state_.program.strata[stratum_].relations) {
    // The same relations on every rank, also after an error.
    if (!lies_beside_home(state_.relations[relation])) continue;
    const std::vector<Cell> gone = std::exchange(beaten_[relation], {});
    if (state_.joint != nullptr)
      erase_beside_primary(state_.relations[relation].shards.front(), gone);
    else
      STRATALOG_RETURN_IF_ERROR(erase_beside_home(state_, relation, gone));
  }
  if (state_.joint != nullptr) state_.joint->erase_beaten();
  return {};
}

Status Subsumption::erase_doomed() {
  for (auto& [relation, tuples] : doomed_)
    STRATALOG_RETURN_IF_ERROR(erase_tuples(state_, relation, std::exchange(tuples, {})));
  return {};
}

}  // namespace stratalog::datalog
