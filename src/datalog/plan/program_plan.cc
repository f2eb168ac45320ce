// SPDX-License-Identifier: Apache-2.0
// plan_program: orders every rule, collects how relations are read, chooses indices and has the
// steps written (write_rule.h). See program_plan.h.
#include "datalog/plan/program_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "datalog/plan/best_value.h"
#include "datalog/plan/carry_analysis.h"
#include "datalog/plan/delta_index.h"
#include "datalog/plan/index_selection.h"
#include "datalog/plan/literal_order.h"
#include "datalog/plan/mirror_analysis.h"
#include "datalog/plan/pivot_analysis.h"
#include "datalog/plan/rule_draft.h"
#include "datalog/plan/size_estimate.h"
#include "datalog/plan/write_rule.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Recursive rules run once a round, so their wishes for an index outweigh those of rules that run
// once.
constexpr std::uint32_t kRecursiveWeight = 16;
// Carrying a set from a recursive relation moves more at once than from a relation of facts, whose
// sets tend to be small.
constexpr std::uint32_t kRecursiveSourceWeight = 4;

// Free columns of the atom at `place` whose variables the atoms after it look for.
std::vector<std::uint32_t> asked_later(const Rule& rule, std::span<const OrderedLiteral> order,
                                       std::size_t place) {
  std::set<VariableId> wanted;
  for (const OrderedLiteral& later : order.subspan(place + 1)) {
    const Literal& literal = rule.body[later.literal];
    if (!reads_atom(literal)) continue;
    for (const std::uint32_t c : later.bound)
      if (const Argument& a = literal.atom.arguments[c]; a.kind == ArgumentKind::kVariable)
        wanted.insert(a.variable);
  }
  std::vector<std::uint32_t> asked;
  const auto& arguments = rule.body[order[place].literal].atom.arguments;
  for (std::uint32_t c = 0; c < arguments.size(); ++c)
    if (arguments[c].kind == ArgumentKind::kVariable && wanted.contains(arguments[c].variable) &&
        !std::ranges::binary_search(order[place].bound, c))
      asked.push_back(c);
  return asked;
}

// How strongly the column that a relation keeps the best value of wishes to be the last.
constexpr std::uint32_t kBestValueWeight = 1U << 20;

class Planner {
 public:
  Planner(const Program& program, const PlanOptions& options)
      : program_(program),
        options_(options),
        accesses_(program.relations.size()),
        head_last_(program.relations.size()),
        best_(program.relations.size()),
        pivot_column_(program.relations.size()) {
    statistics_ = estimate_sizes(program, options.statistics);
  }

  Result<ProgramPlan> run() {
    for (const Relation& relation : program_.relations)
      if (relation.attributes.size() > kMaxArity)
        return Status::not_supported(
            fmt::format("{}:{}:{}: relation `{}` has {} columns, at most {} are supported",
                        relation.place.file, relation.place.line, relation.place.column,
                        relation.name, relation.attributes.size(), kMaxArity));
    plan_.strata.resize(program_.strata.size());
    for (std::uint32_t s = 0; s < program_.strata.size(); ++s) {
      analyse_stratum(s);
      plan_.strata[s].may_be_mirrored =
          may_be_mirrored(program_, program_.strata[s], plan_.strata[s].strategy);
      STRATALOG_RETURN_IF_ERROR(draft_stratum(s));
      STRATALOG_RETURN_IF_ERROR(draft_subsumptions(s));
    }
    vote_for_last_columns();
    collect_accesses();
    choose_all_indices();
    const PlanChoices choices{.program = program_,
                              .statistics = statistics_,
                              .pivot_column = pivot_column_,
                              .relations = plan_.relations};
    for (const RuleDraft& draft : drafts_) {
      StratumPlan& stratum = plan_.strata[draft.stratum];
      list_for(draft, stratum).push_back(write_rule(draft, choices));
    }
    choose_delta_indices(program_, plan_);
    return std::move(plan_);
  }

 private:
  const Rule& rule_of(const RuleDraft& draft) const { return program_.rules[draft.rule]; }

  std::uint32_t arity(RelationId r) const {
    return static_cast<std::uint32_t>(program_.relations[r].attributes.size());
  }

  static std::vector<RulePlan>& list_for(const RuleDraft& draft, StratumPlan& stratum) {
    switch (draft.purpose) {
      case RulePurpose::kSweep:
        return stratum.recursive;
      case RulePurpose::kReject:
        return stratum.reject;
      case RulePurpose::kRetire:
        return stratum.retire;
      case RulePurpose::kDerive:
        break;
    }
    if (!draft.recursive) return stratum.once;
    return stratum.strategy == Strategy::kPivot ? stratum.by_rounds : stratum.recursive;
  }

  void analyse_stratum(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    StratumPlan& plan = plan_.strata[s];
    for (const auto& [relation, best] : find_best_values(program_, stratum)) best_[relation] = best;
    if (!stratum.is_recursive) {
      plan.reason = "not recursive: every rule is evaluated once";
      return;
    }
    plan.strategy = Strategy::kSemiNaive;
    if (options_.continued == s) {
      plan.reason = "goes on from a finished run to which facts were added";
      return;
    }
    if (!stratum.subsumptions.empty()) {
      plan.reason = keeps_one_value(stratum) ? "only the best value of each key is kept"
                                             : "tuples are subsumed round by round";
      return;
    }
    for (const RelationId r : stratum.relations) {
      if (!is_equivalence(program_.relations[r])) continue;
      plan.reason = fmt::format("`{}` is an equivalence relation", program_.relations[r].name);
      return;
    }
    PivotFinding finding = find_pivot(program_, stratum);
    plan.pivot = finding.pivot;
    plan.reason = finding.reason;
    if (!finding.pivot || !finding.is_linear || !options_.allow_pivot) return;
    plan.strategy = Strategy::kPivot;
    plan.reason += ": dealt by it, no tuple crosses ranks";
    masks_.merge(finding.masks);
    for (std::size_t i = 0; i < stratum.relations.size(); ++i)
      pivot_column_[stratum.relations[i]] = finding.pivot->column[i];
  }

  Status draft_stratum(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    for (const std::uint32_t r : stratum.rules) {
      const Rule& rule = program_.rules[r];
      std::vector<std::uint32_t> deltas;
      for (std::uint32_t l = 0; l < rule.body.size() && stratum.is_recursive; ++l)
        if (rule.body[l].kind == LiteralKind::kAtom &&
            std::binary_search(stratum.relations.begin(), stratum.relations.end(),
                               rule.body[l].atom.relation))
          deltas.push_back(l);
      RuleDraft draft{.rule = r,
                      .stratum = s,
                      .recursive = !deltas.empty(),
                      .purpose = RulePurpose::kDerive,
                      .delta_literal = {},
                      .order = {},
                      .candidates = {},
                      .masks = 0,
                      .follows_plan = false};
      if (deltas.empty()) STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      for (const std::uint32_t delta : deltas) {
        draft.delta_literal = delta;
        STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      }
    }
    return {};
  }

  Status add_draft(RuleDraft draft) {
    const Rule& rule = program_.rules[draft.rule];
    STRATALOG_RETURN_IF_ERROR(order_body(rule, draft));
    // Tuples of a relation with a choice-domain are looked at one by one.
    const bool allow_sets =
        options_.allow_sets && (!options_.sets_in || options_.sets_in == draft.stratum);
    if (allow_sets && program_.relations[rule.head].choice_keys.empty())
      draft.candidates = find_carry_candidates(rule, program_.strata[draft.stratum], draft.order);
    drafts_.push_back(draft);
    if (!draft.recursive || plan_.strata[draft.stratum].strategy != Strategy::kPivot) return {};
    draft.purpose = RulePurpose::kSweep;
    const auto masks = masks_.find(draft.rule);
    if (masks != masks_.end() || draft.follows_plan) {
      static const std::vector<std::uint32_t> kNone;
      STRATALOG_RETURN_IF_ERROR(
          order_for_sweep(rule, masks == masks_.end() ? kNone : masks->second, draft));
    }
    drafts_.push_back(std::move(draft));
    return {};
  }

  // As the program orders it, or else as sizes do.
  Status order_body(const Rule& rule, RuleDraft& draft) const {
    const auto given = std::ranges::find_if(rule.join_orders, [&](const JoinOrder& order) {
      return order.delta_literal == draft.delta_literal;
    });
    draft.follows_plan = given != rule.join_orders.end();
    STRATALOG_ASSIGN_OR_RETURN(
        draft.order, draft.follows_plan
                         ? order_as_given(rule.body, given->atoms, draft.delta_literal, statistics_)
                         : order_literals(rule.body, {}, draft.delta_literal, statistics_));
    return {};
  }

  // What finds the edges of the slot graph does not know the pivot; what tests it comes after. An
  // edge starts from a new tuple: orders that begin elsewhere are for rounds only.
  Status order_for_sweep(const Rule& rule, const std::vector<std::uint32_t>& masks,
                         RuleDraft& draft) const {
    draft.follows_plan &= draft.order.front().kind == StepKind::kScanDelta;
    std::vector<std::uint32_t> given;  // places in `body`

    std::vector<Literal> body;
    std::vector<std::uint32_t> place;  // in the rule's body
    std::optional<std::uint32_t> delta;
    for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
      if (std::find(masks.begin(), masks.end(), l) != masks.end()) continue;
      if (l == draft.delta_literal) delta = static_cast<std::uint32_t>(body.size());
      body.push_back(rule.body[l]);
      place.push_back(l);
    }
    for (const OrderedLiteral& former : draft.order) {
      const auto at = std::ranges::find(place, former.literal);
      if (at != place.end() && rule.body[former.literal].kind == LiteralKind::kAtom)
        given.push_back(static_cast<std::uint32_t>(at - place.begin()));
    }
    STRATALOG_ASSIGN_OR_RETURN(draft.order, draft.follows_plan
                                                ? order_as_given(body, given, delta, statistics_)
                                                : order_literals(body, {}, delta, statistics_));
    for (OrderedLiteral& placed : draft.order) placed.literal = place[placed.literal];
    draft.masks = masks.size();
    for (const std::uint32_t l : masks) {
      OrderedLiteral placed{
          .literal = l,
          .kind = rule.body[l].kind == LiteralKind::kAtom ? StepKind::kScan : StepKind::kAbsent,
          .bound = {},
          .target = 0,
          .assign_from_left = false};
      for (std::uint32_t c = 0; c < rule.body[l].atom.arguments.size(); ++c)
        placed.bound.push_back(c);
      draft.order.push_back(std::move(placed));
    }
    draft.candidates = find_carry_candidates(rule, program_.strata[draft.stratum], draft.order);
    std::erase_if(draft.candidates, [&](const CarryCandidate& c) {
      return c.head_column != pivot_column_[rule.head];
    });
    return {};
  }

  bool keeps_one_value(const Stratum& stratum) const {
    return std::ranges::all_of(stratum.subsumptions, [&](std::uint32_t r) {
      return best_[program_.rules[r].head].has_value();
    });
  }

  // Each rule that subsumes once for new dominated tuples, once for new dominating ones, and once
  // for each atom of the stratum that follows.
  Status draft_subsumptions(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    for (const std::uint32_t r : stratum.subsumptions) {
      const Rule& rule = program_.rules[r];
      if (best_[rule.head]) continue;
      for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
        if (rule.body[l].kind != LiteralKind::kAtom ||
            !std::binary_search(stratum.relations.begin(), stratum.relations.end(),
                                rule.body[l].atom.relation))
          continue;
        RuleDraft draft{.rule = r,
                        .stratum = s,
                        .recursive = stratum.is_recursive,
                        .purpose = l == 0 ? RulePurpose::kReject : RulePurpose::kRetire,
                        .delta_literal = l,
                        .order = {},
                        .candidates = {},
                        .masks = 0,
                        .follows_plan = false};
        STRATALOG_RETURN_IF_ERROR(order_body(rule, draft));
        drafts_.push_back(std::move(draft));
      }
    }
    return {};
  }

  // The last index column of a head is the one that most (recursive) rules could fill with whole
  // sets.
  void vote_for_last_columns() {
    std::vector<std::vector<std::uint64_t>> votes(program_.relations.size());
    for (RelationId r = 0; r < votes.size(); ++r) votes[r].assign(arity(r) + 1, 0);
    for (const RuleDraft& draft : drafts_)
      for (const CarryCandidate& c : draft.candidates) {
        if (draft.purpose == RulePurpose::kSweep || !is_favourite(c, draft.candidates)) continue;
        std::uint64_t weight = draft.recursive ? kRecursiveWeight : 1;
        if (c.from_growing) weight *= kRecursiveSourceWeight;
        votes[program_.rules[draft.rule].head][c.head_column] += weight;
      }
    for (RelationId r = 0; r < votes.size(); ++r) {
      if (pivot_column_[r] || best_[r]) {
        head_last_[r] = best_[r] ? best_[r]->column : pivot_column_[r];
        continue;
      }
      const auto best = std::max_element(votes[r].begin(), votes[r].end());
      if (*best > 0) head_last_[r] = static_cast<std::uint32_t>(best - votes[r].begin());
    }
  }

  void collect_accesses() {
    for (RelationId r = 0; r < program_.relations.size(); ++r)
      if (head_last_[r])
        accesses_[r].push_back({.bound = {},
                                .last_wish = head_last_[r],
                                .asked = {},
                                .weight = best_[r] ? kBestValueWeight : 4});
    for (const RuleDraft& draft : drafts_)
      if (draft.purpose != RulePurpose::kSweep || draft.masks > 0 ||
          !rule_of(draft).join_orders.empty())
        collect_rule(draft);
  }

  void collect_rule(const RuleDraft& draft) {
    const Rule& rule = program_.rules[draft.rule];
    for (std::size_t place = 0; place < draft.order.size(); ++place) {
      const OrderedLiteral& placed = draft.order[place];
      const Literal& literal = rule.body[placed.literal];
      if (literal.kind == LiteralKind::kAggregate) collect_aggregate(*literal.aggregate);
      if (!reads_atom(literal)) continue;
      Access access{.bound = placed.bound,
                    .last_wish = {},
                    .asked = placed.bound.empty() ? std::vector<std::uint32_t>()
                                                  : asked_later(rule, draft.order, place),
                    .weight = draft.recursive ? kRecursiveWeight : 1};
      for (const CarryCandidate& c : draft.candidates) {
        if (head_last_[rule.head] != c.head_column) continue;
        if (c.literal == placed.literal) access.last_wish = c.literal_column;
        for (const CarryFilter& filter : c.filters)
          if (filter.literal == placed.literal)
            wish_filter(draft.stratum, literal.atom.relation, filter, access);
      }
      add_access(literal.atom.relation, access);
    }
  }

  // A filter is best served by an index that ends in the carried column. For a finished relation
  // that is worth an index of its own; one of a growing relation would cost in every round.
  void wish_filter(std::uint32_t stratum, RelationId relation, const CarryFilter& filter,
                   Access& access) const {
    access.last_wish = filter.column;
    const auto& members = program_.strata[stratum].relations;
    if (!std::binary_search(members.begin(), members.end(), relation))
      std::erase(access.bound, filter.column);
  }

  void collect_aggregate(const Aggregate& aggregate) {
    const auto order =
        order_literals(aggregate.body, {aggregate.outer.begin(), aggregate.outer.end()},
                       std::nullopt, statistics_);
    if (!order.is_ok()) return;  // reported when the steps are written
    for (const OrderedLiteral& placed : order.value()) {
      const Literal& literal = aggregate.body[placed.literal];
      if (literal.kind == LiteralKind::kAggregate) collect_aggregate(*literal.aggregate);
      if (reads_atom(literal))
        add_access(literal.atom.relation,
                   {.bound = placed.bound, .last_wish = {}, .asked = {}, .weight = 1});
    }
  }

  void add_access(RelationId relation, const Access& access) {
    if (arity(relation) > 0) accesses_[relation].push_back(access);
  }

  void choose_all_indices() {
    for (RelationId r = 0; r < program_.relations.size(); ++r) {
      RelationPlan relation;
      relation.best = best_[r];
      relation.dealt_by_first = first_columns(r);
      if (arity(r) > 0) {
        IndexChoice choice = choose_indices(arity(r), accesses_[r]);
        relation.indices = std::move(choice.indices);
        for (std::uint32_t i = 0; i < relation.indices.size(); ++i)
          if (head_last_[r] && relation.indices[i].order.back() == *head_last_[r]) {
            relation.primary = i;
            break;
          }
        if (relation.best || relation.dealt_by_first)
          place_values_together(relation, relation.best ? relation.best->column : arity(r) - 1);
      }
      plan_.relations.push_back(std::move(relation));
    }
  }

  // The key of sums, of themselves and of their terms.
  std::optional<std::uint32_t> first_columns(RelationId relation) const {
    for (RelationId r = 0; r < program_.relations.size(); ++r)
      if (const auto& sums = program_.relations[r].sums;
          sums && (relation == r || relation == sums->terms))
        return arity(r) - 1;
    return std::nullopt;
  }

  // The values of a key lie in one row of the primary index, on one rank.
  static void place_values_together(RelationPlan& relation, std::uint32_t value) {
    const IndexPlan& home = relation.indices[relation.primary];
    const std::vector<std::uint32_t> searched = columns_of_all_searches(home);
    bool holds_all = true;
    for (std::uint32_t c = 0; c < relation.dealt_by_first.value_or(0); ++c)
      holds_all &= std::ranges::binary_search(searched, c);
    if (holds_all && home.order.back() == value && !std::ranges::binary_search(searched, value))
      return;
    IndexPlan added;
    for (std::uint32_t c = 0; c < home.order.size(); ++c)
      if (c != value) added.order.push_back(c);
    added.order.push_back(value);
    relation.primary = static_cast<std::uint32_t>(relation.indices.size());
    relation.indices.push_back(std::move(added));
  }

  const Program& program_;
  const PlanOptions& options_;
  std::vector<RelationStatistics> statistics_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::optional<std::uint32_t>> head_last_;
  std::vector<std::optional<BestValue>> best_;
  std::vector<std::optional<std::uint32_t>> pivot_column_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> masks_;  // PivotFinding::masks of all strata
  std::vector<RuleDraft> drafts_;
  ProgramPlan plan_;
};

}  // namespace

Result<ProgramPlan> plan_program(const Program& program, const PlanOptions& options) {
  return Planner(program, options).run();
}

}  // namespace stratalog::datalog
