// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/addition_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "datalog/counted_passes.h"
#include "datalog/plan/relations_read.h"
#include "datalog/plan/value_trend.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

std::string line_of(const SourcePlace& place) {
  return fmt::format("{}:{}", place.file, place.line);
}

// Relations made by the language stage have "#" in their names.
std::string shown_name(const Relation& relation) {
  return relation.name.substr(0, relation.name.find('#'));
}

class AdditionPlanner {
 public:
  AdditionPlanner(const Program& program, const std::set<RelationId>& changed,
                  const std::set<std::uint32_t>& sweepable)
      : program_(program),
        changed_(changed),
        effects_(program.relations.size()),
        reasons_(program.relations.size()) {
    for (const std::uint32_t s : sweepable)
      if (may_start_over(s, sweepable)) swept_.insert(s);
  }

  Result<AdditionPlan> run() {
    AdditionPlan plan;
    for (std::uint32_t s = 0; s < program_.strata.size(); ++s) {
      const Stratum& stratum = program_.strata[s];
      StratumAddition addition = look_at(s);
      if (addition.effect == AdditionEffect::kStartsOver)
        STRATALOG_RETURN_IF_ERROR(refuse_inputs(stratum, addition.reason));
      if (addition.effect == AdditionEffect::kGoesOn)
        improving_.merge(find_best_values(program_, stratum));
      for (const RelationId r : stratum.relations) {
        effects_[r] = addition.effect;
        reasons_[r] = addition.reason;
        if (program_.relations[r].numbering)
          has_renumbered_ |= addition.effect == AdditionEffect::kStartsOver;
      }
      plan.strata.push_back(std::move(addition));
    }
    return plan;
  }

 private:
  // Whether nothing is lost if the stratum and all that reads it start over.
  bool may_start_over(std::uint32_t first, const std::set<std::uint32_t>& sweepable) const {
    std::set<RelationId> gone;
    for (std::uint32_t s = first; s < program_.strata.size(); ++s) {
      const Stratum& stratum = program_.strata[s];
      const std::set<RelationId> read = relations_read(program_, stratum);
      const bool is_above =
          std::any_of(read.begin(), read.end(), [&](RelationId r) { return gone.contains(r); });
      if (s != first && !is_above) continue;
      if (stratum.is_recursive && !sweepable.contains(s)) return false;
      for (const RelationId r : stratum.relations) {
        if (is_read_from_files(program_.relations[r])) return false;
        gone.insert(r);
      }
    }
    return true;
  }

  StratumAddition look_at(std::uint32_t s) const {
    const Stratum& stratum = program_.strata[s];
    bool is_reached = std::any_of(stratum.relations.begin(), stratum.relations.end(),
                                  [&](RelationId r) { return changed_.contains(r); });
    std::string reason = numbering_reason(stratum);
    for (const std::uint32_t r : stratum.rules)
      for (const Literal& literal : program_.rules[r].body) look_at(literal, is_reached, reason);
    if (is_reached && reason.empty()) reason = own_reason(stratum);
    if (is_reached && reason.empty()) reason = value_reason(stratum);
    if (is_reached && reason.empty() && swept_.contains(s))
      reason = "to sweep its pivots takes less time than to load them";
    if (!reason.empty())
      return {.effect = AdditionEffect::kStartsOver, .reason = std::move(reason)};
    return {.effect = is_reached ? AdditionEffect::kGoesOn : AdditionEffect::kNone, .reason = {}};
  }

  void look_at(const Literal& literal, bool& is_reached, std::string& reason) const {
    if (literal.kind == LiteralKind::kAggregate) {
      look_inside(*literal.aggregate, literal.place, reason);
      return;
    }
    if (!reads_atom(literal)) return;
    const AdditionEffect effect = effects_[literal.atom.relation];
    if (effect == AdditionEffect::kNone) return;
    is_reached = true;
    if (!reason.empty()) return;
    const std::string name = shown_name(program_.relations[literal.atom.relation]);
    if (literal.kind == LiteralKind::kNegatedAtom)
      reason = fmt::format("`{}` is negated at {}", name, line_of(literal.place));
    else if (effect == AdditionEffect::kStartsOver)
      reason =
          is_made(literal.atom.relation)
              ? reasons_[literal.atom.relation]
              : fmt::format("`{}`, which starts over, is read at {}", name, line_of(literal.place));
  }

  void look_inside(const Aggregate& aggregate, const SourcePlace& place,
                   std::string& reason) const {
    for (const Literal& literal : aggregate.body) {
      if (literal.kind == LiteralKind::kAggregate)
        look_inside(*literal.aggregate, literal.place, reason);
      if (!reads_atom(literal) || effects_[literal.atom.relation] == AdditionEffect::kNone ||
          !reason.empty())
        continue;
      reason = fmt::format("`{}` is aggregated at {}",
                           shown_name(program_.relations[literal.atom.relation]), line_of(place));
    }
  }

  // Numbers are given in order of the values, and behind those of earlier numbered relations.
  std::string numbering_reason(const Stratum& stratum) const {
    for (const RelationId r : stratum.relations) {
      const Relation& relation = program_.relations[r];
      if (!relation.numbering) continue;
      const RelationId source = relation.numbering->source;
      if (effects_[source] != AdditionEffect::kNone)
        return fmt::format("`autoinc()` counts over `{}`, which changes", changing_in(source));
      if (has_renumbered_) return "`autoinc()` goes on from numbers that change";
    }
    return {};
  }

  bool is_made(RelationId r) const {
    return program_.relations[r].name.find('#') != std::string::npos;
  }

  // What a person knows of that makes a relation of the language stage change.
  std::string changing_in(RelationId made) const {
    for (const Rule& rule : program_.rules) {
      if (rule.head != made) continue;
      for (const Literal& literal : rule.body)
        if (reads_atom(literal) && effects_[literal.atom.relation] != AdditionEffect::kNone)
          return shown_name(program_.relations[literal.atom.relation]);
    }
    return shown_name(program_.relations[made]);
  }

  // What in the stratum itself depends on more than which tuples there are.
  std::string own_reason(const Stratum& stratum) const {
    const auto kept = find_best_values(program_, stratum);
    for (const std::uint32_t r : stratum.subsumptions)
      if (!kept.contains(program_.rules[r].head))
        return fmt::format("tuples of `{}` are subsumed at {}",
                           shown_name(program_.relations[program_.rules[r].head]),
                           line_of(program_.rules[r].place));
    for (const RelationId r : stratum.relations) {
      const Relation& relation = program_.relations[r];
      if (!relation.choice_keys.empty())
        return fmt::format("`{}` has a choice-domain at {}", shown_name(relation),
                           line_of(relation.place));
      if (relation.size_limit) return fmt::format("`{}` has a .limitsize", shown_name(relation));
    }
    for (const std::uint32_t r : stratum.rules)
      if (counts_passes(program_.rules[r]))
        return fmt::format("`{}` depends on the pass over the rules at {}",
                           shown_name(program_.relations[program_.rules[r].head]),
                           line_of(program_.rules[r].place));
    return {};
  }

  // Where relations keep the best value of each key, the strata that go on together are rules that
  // only grow in the order of these values: their old fixpoint lies below the new one and follows
  // from the rules, so that going on from it ends at the new one. Rules that could take something
  // back are none of that kind, and neither are sums of floats, which are rounded in each round.
  std::string value_reason(const Stratum& stratum) const {
    ImprovingRelations improving = improving_;
    improving.merge(find_best_values(program_, stratum));
    for (const RelationId r : stratum.relations) {
      const Relation& relation = program_.relations[r];
      if (relation.sums && relation.attributes.back().kind == ValueKind::kFloat)
        return fmt::format("floats are summed up in a recursion at {}", line_of(relation.place));
    }
    for (const std::uint32_t r : stratum.rules)
      if (const auto taken = may_take_back(program_, program_.rules[r], improving))
        return fmt::format("a better value in `{}` may take back what follows from it at {}",
                           shown_name(program_.relations[taken->relation]), line_of(taken->place));
    return {};
  }

  Status refuse_inputs(const Stratum& stratum, const std::string& reason) const {
    for (const RelationId r : stratum.relations) {
      const Relation& relation = program_.relations[r];
      if (!is_read_from_files(relation)) continue;
      return Status::not_supported(fmt::format(
          "{}: facts cannot be added: `{}` would have to start over ({}), and what its .input read "
          "is kept in no checkpoint; run the program from nothing with all facts",
          line_of(relation.place), shown_name(relation), reason));
    }
    return {};
  }

  const Program& program_;
  const std::set<RelationId>& changed_;
  std::set<std::uint32_t> swept_;
  std::vector<AdditionEffect> effects_;  // by relation, as far as known
  std::vector<std::string> reasons_;  // likewise, of those that start over
  ImprovingRelations improving_;  // of strata that go on
  bool has_renumbered_ = false;
};

void append_numbers(std::vector<std::uint32_t>& all, const std::vector<std::uint32_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Result<AdditionPlan> plan_addition(const Program& program, const std::set<RelationId>& changed,
                                   const std::set<std::uint32_t>& sweepable) {
  return AdditionPlanner(program, changed, sweepable).run();
}

std::set<std::uint32_t> strata_with(const AdditionPlan& plan, AdditionEffect effect) {
  std::set<std::uint32_t> found;
  for (std::uint32_t s = 0; s < plan.strata.size(); ++s)
    if (plan.strata[s].effect == effect) found.insert(s);
  return found;
}

std::vector<Stratum> merge_strata(const Program& program, const std::set<std::uint32_t>& merged) {
  std::vector<Stratum> strata = program.strata;
  if (merged.empty()) return strata;
  Stratum all;
  all.is_recursive = true;
  for (const std::uint32_t s : merged) {
    append_numbers(all.relations, strata[s].relations);
    append_numbers(all.rules, strata[s].rules);
    append_numbers(all.subsumptions, strata[s].subsumptions);
    strata[s] = {};
  }
  std::sort(all.relations.begin(), all.relations.end());
  std::sort(all.rules.begin(), all.rules.end());
  std::sort(all.subsumptions.begin(), all.subsumptions.end());
  strata[*merged.begin()] = std::move(all);
  return strata;
}

}  // namespace stratalog::datalog
