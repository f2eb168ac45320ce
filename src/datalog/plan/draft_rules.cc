// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/draft_rules.h"

#include <algorithm>
#include <utility>

#include "datalog/plan/bounded_column.h"
#include "datalog/plan/carry_analysis.h"
#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {
namespace {

// A set goes through fewer tuples as quickly as its elements find a first witness among them.
constexpr std::uint64_t kLongRelation = 64;

// Sizes are estimates, and another order may need another index: it must promise so many times less
// work. More where whole sets move, which it may not be able to.
constexpr double kWorthAnotherOrder = 1.25;
constexpr double kWorthTuplesForSets = 4;
// A search for an order takes as long as looking at so many tuples.
constexpr double kWorthASearch = 512;

class Drafter {
 public:
  Drafter(const DraftGround& ground, std::uint32_t stratum, Strategy strategy,
          std::vector<RuleDraft>& drafts)
      : program_(ground.program),
        options_(ground.options),
        statistics_(ground.statistics),
        best_(ground.best),
        pivot_column_(ground.pivot_column),
        masks_(ground.masks),
        former_(ground.former),
        relations_(ground.relations),
        number_(stratum),
        stratum_(ground.program.strata[stratum]),
        strategy_(strategy),
        drafts_(drafts) {}

  Status draft_derivations(RulesWithout idle) {
    for (const std::uint32_t r : stratum_.rules) {
      const Rule& rule = program_.rules[r];
      if (idle == RulesWithout::kLeftOut && reads_nothing(rule, stratum_, statistics_)) continue;
      std::vector<std::uint32_t> deltas;
      for (std::uint32_t l = 0; l < rule.body.size() && stratum_.is_recursive; ++l)
        if (is_member_atom(rule.body[l])) deltas.push_back(l);
      RuleDraft draft{.rule = r,
                      .stratum = number_,
                      .recursive = !deltas.empty(),
                      .purpose = RulePurpose::kDerive,
                      .delta_literal = {},
                      .order = {},
                      .candidates = {},
                      .masks = 0,
                      .follows_plan = false,
                      .begins_elsewhere = false,
                      .may_count_sets = allows_sets()};
      if (deltas.empty()) STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      for (const std::uint32_t delta : deltas) {
        draft.delta_literal = delta;
        STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      }
    }
    return {};
  }

  // Each rule that subsumes once for new dominated tuples, once for new dominating ones, and once
  // for each atom of the stratum that follows.
  Status draft_subsumptions() {
    for (const std::uint32_t r : stratum_.subsumptions) {
      const Rule& rule = program_.rules[r];
      if (best_.contains(rule.head)) continue;
      for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
        if (!is_member_atom(rule.body[l])) continue;
        RuleDraft draft{.rule = r,
                        .stratum = number_,
                        .recursive = stratum_.is_recursive,
                        .purpose = l == 0 ? RulePurpose::kReject : RulePurpose::kRetire,
                        .delta_literal = l,
                        .order = {},
                        .candidates = {},
                        .masks = 0,
                        .follows_plan = false,
                        .begins_elsewhere = false,
                        .may_count_sets = allows_sets()};
        STRATALOG_RETURN_IF_ERROR(order_body(rule, draft));
        drafts_.push_back(std::move(draft));
      }
    }
    return {};
  }

 private:
  bool allows_sets() const {
    return options_.allow_sets && (!options_.sets_in || options_.sets_in == number_);
  }

  // Whether the sets have mostly one element each, because another column has about as many values
  // as there are tuples: a tuple is compared more quickly.
  bool has_single_elements(const Rule& rule, const CarryCandidate& candidate) const {
    const RelationStatistics& size = statistics_[rule.body[candidate.literal].atom.relation];
    for (std::uint32_t column = 0; size.known && column < size.distinct.size(); ++column)
      if (column != candidate.literal_column && size.distinct[column] >= size.rows / 2) return true;
    return false;
  }

  bool is_member_atom(const Literal& literal) const {
    return literal.kind == LiteralKind::kAtom && stratum_.holds(literal.atom.relation);
  }

  Status add_draft(RuleDraft draft) {
    const Rule& rule = program_.rules[draft.rule];
    STRATALOG_RETURN_IF_ERROR(order_body(rule, draft));
    // Tuples of a relation with a choice-domain are looked at one by one.
    if (allows_sets() && program_.relations[rule.head].choice_keys.empty())
      draft.candidates = find_carry_candidates(rule, stratum_, draft.order);
    // A set as a whole bounds nothing, and has no first witness: all of a relation would be read
    // for it.
    const auto is_long = [&](RelationId relation) {
      return !statistics_[relation].known || statistics_[relation].rows >= kLongRelation;
    };
    if (strategy_ != Strategy::kPivot)
      std::erase_if(draft.candidates, [&](const CarryCandidate& candidate) {
        return takes_bounds_from(draft.order, rule.body, candidate.variable) ||
               misses_witnesses(candidate, rule, draft.order, is_long) ||
               (candidate.is_compared && has_single_elements(rule, candidate));
      });
    drafts_.push_back(draft);
    if (!draft.recursive || strategy_ != Strategy::kPivot) return {};
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
    BodyToOrder body = body_of(rule, statistics_);
    if (!draft.recursive) body.relations = relations_;
    const auto take = [&](Result<std::vector<OrderedLiteral>> order) -> Status {
      STRATALOG_ASSIGN_OR_RETURN(draft.order, std::move(order));
      return {};
    };
    if (draft.follows_plan) return take(order_as_given(body, given->atoms, draft.delta_literal));
    const auto take_best = [&]() -> Status {
      STRATALOG_RETURN_IF_ERROR(take(order_literals(body, draft.delta_literal)));
      if (!draft.delta_literal || strategy_ == Strategy::kPivot ||
          draft.purpose != RulePurpose::kDerive)
        return {};
      auto order = order_from_elsewhere(body, draft.order, *draft.delta_literal, stratum_);
      draft.begins_elsewhere = order.has_value();
      if (order) draft.order = *std::move(order);
      return {};
    };
    const FormerOrder* const former = former_of(draft);
    if (former == nullptr) return take_best();
    const auto cost = [&](const std::vector<std::uint32_t>& atoms) {
      return cost_of_order(body, atoms, draft.delta_literal);
    };
    const double before = cost(former->atoms);
    if (!sizes_are_known(rule) || before > kWorthASearch) {
      STRATALOG_RETURN_IF_ERROR(take_best());
      const std::vector<std::uint32_t> best = atoms_in_order(rule.body, draft.order);
      const double least = former->carries ? kWorthTuplesForSets : kWorthAnotherOrder;
      if (best == former->atoms || before > least * cost(best)) return {};
    }
    draft.begins_elsewhere = draft.delta_literal && former->atoms.front() != *draft.delta_literal;
    return take(order_as_given(body, former->atoms, draft.delta_literal));
  }

  // The set that a sweep moves along its edges, and the atoms that restrict it, which find_pivot()
  // has looked at.
  CarryCandidate moved_pivot(const Rule& rule, const std::vector<std::uint32_t>& masks,
                             const RuleDraft& draft) const {
    const std::uint32_t head_column = pivot_column_.at(rule.head);
    const std::uint32_t from = *draft.delta_literal;
    CarryCandidate moved{.variable = rule.head_arguments[head_column].variable,
                         .head_column = head_column,
                         .literal = from,
                         .literal_column = pivot_column_.at(rule.body[from].atom.relation),
                         .bound_at = 0,
                         .is_compared = false,
                         .from_growing = true,
                         .filters = {}};
    for (const std::uint32_t l : masks) {
      const auto& arguments = rule.body[l].atom.arguments;
      for (std::uint32_t c = 0; c < arguments.size(); ++c)
        if (arguments[c].kind == ArgumentKind::kVariable && arguments[c].variable == moved.variable)
          moved.filters.push_back({.literal = l, .column = c});
    }
    return moved;
  }

  // Of a literal all of whose variables are known.
  static StepKind kind_of_test(const Literal& literal) {
    if (literal.kind == LiteralKind::kComparison) return StepKind::kFilter;
    return literal.kind == LiteralKind::kAtom ? StepKind::kScan : StepKind::kAbsent;
  }

  const FormerOrder* former_of(const RuleDraft& draft) const {
    if (former_ == nullptr) return nullptr;
    const auto former = former_->of.find({draft.rule, draft.delta_literal});
    return former == former_->of.end() ? nullptr : &former->second;
  }

  bool sizes_are_known(const Rule& rule) const {
    return std::ranges::all_of(rule.body, [&](const Literal& literal) {
      return literal.kind != LiteralKind::kAtom ||
             (statistics_[literal.atom.relation].known && !is_member_atom(literal));
    });
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
    const BodyToOrder unmasked{.literals = body,
                               .statistics = statistics_,
                               .bound = {},
                               .read_after = std::nullopt};  // masks read, too
    STRATALOG_ASSIGN_OR_RETURN(draft.order, draft.follows_plan
                                                ? order_as_given(unmasked, given, delta)
                                                : order_literals(unmasked, delta));
    for (OrderedLiteral& placed : draft.order) placed.literal = place[placed.literal];
    draft.masks = masks.size();
    for (const std::uint32_t l : masks) {
      OrderedLiteral placed{.literal = l,
                            .kind = kind_of_test(rule.body[l]),
                            .bound = {},
                            .target = 0,
                            .assign_from_left = false};
      for (std::uint32_t c = 0; c < rule.body[l].atom.arguments.size(); ++c)
        placed.bound.push_back(c);
      draft.order.push_back(std::move(placed));
    }
    draft.candidates = {moved_pivot(rule, masks, draft)};
    return {};
  }

  const Program& program_;
  const PlanOptions& options_;
  const std::vector<RelationStatistics>& statistics_;
  const BestValues& best_;
  const PivotColumns& pivot_column_;
  const std::map<std::uint32_t, std::vector<std::uint32_t>>& masks_;
  const FormerOrders* former_;
  const std::vector<RelationPlan>* relations_;
  std::uint32_t number_;
  const Stratum& stratum_;
  Strategy strategy_;
  std::vector<RuleDraft>& drafts_;
};

}  // namespace

bool reads_nothing(const Rule& rule, const Stratum& stratum,
                   const std::vector<RelationStatistics>& statistics) {
  return std::ranges::any_of(rule.body, [&](const Literal& literal) {
    if (literal.kind != LiteralKind::kAtom) return false;
    const RelationStatistics& size = statistics[literal.atom.relation];
    return size.known && size.rows == 0 && !stratum.holds(literal.atom.relation);
  });
}

Status draft_rules(const DraftGround& ground, std::uint32_t stratum, Strategy strategy,
                   RulesWithout idle, std::vector<RuleDraft>& drafts) {
  Drafter drafter(ground, stratum, strategy, drafts);
  STRATALOG_RETURN_IF_ERROR(drafter.draft_derivations(idle));
  return drafter.draft_subsumptions();
}

}  // namespace stratalog::datalog
