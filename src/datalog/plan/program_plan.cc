// SPDX-License-Identifier: Apache-2.0
// plan_program: orders every rule, collects how relations are read, chooses indices and has the
// steps written (write_rule.h). See program_plan.h.
#include "datalog/plan/program_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <utility>

#include "datalog/plan/best_value.h"
#include "datalog/plan/carry_analysis.h"
#include "datalog/plan/delta_index.h"
#include "datalog/plan/draft_rules.h"
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
// An index is worth it for so many questions for each tuple that it takes.
constexpr double kQuestionsForATuple = 4;
// Sizes are estimates: another order of an aggregate's body must promise so many times less work.
constexpr double kWorthAnotherBody = 1.25;
// Carrying a set from a recursive relation moves more at once than from a relation of facts, whose
// sets tend to be small.
constexpr std::uint32_t kRecursiveSourceWeight = 4;
// The rows of a sweep are sets of its pivots: others would have to be made of all its tuples.
constexpr std::uint32_t kSweptSourceWeight = 4;
// Sets that are not compared on their way stay as they are.
constexpr std::uint32_t kUncomparedWeight = 2;
// Of the sets that one rule could move, those with many more tuples than the others: so many fewer
// of them pass. Sizes are guessed, so that it takes a multiple to count.
constexpr std::uint32_t kLargerSetsWeight = 2;
constexpr double kMuchLarger = 4;

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

// Of all steps, also of those within aggregates.
template <typename Visit>
void for_each_index(const std::vector<Step>& steps, const Visit& visit, ProgramPlan& plan) {
  for (const Step& step : steps) {
    for_each_index(step.aggregate_steps, visit, plan);
    if (reads_relation(step) && !step.columns.empty())
      visit(step, plan.relations[step.relation].indices[step.index]);
  }
}

// How strongly the column that a relation keeps the best value of wishes to be the last.
constexpr std::uint32_t kBestValueWeight = 1U << 20;

class Planner {
 public:
  // `statistics` of all relations, estimates where they are not known.
  Planner(const Program& program, const PlanOptions& options,
          const std::vector<RelationStatistics>& statistics, ProgramPlan& plan)
      : program_(program), options_(options), statistics_(statistics), plan_(plan) {}

  Status run() {
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
      STRATALOG_RETURN_IF_ERROR(
          draft_rules(ground(nullptr), s, plan_.strata[s].strategy, RulesWithout::kKept, drafts_));
    }
    std::vector<RelationId> all(program_.relations.size());
    std::iota(all.begin(), all.end(), RelationId{0});
    vote_for_last_columns(all);
    collect_accesses(all);
    choose_all_indices();
    write_rules(nullptr);
    for (std::uint32_t s = 0; s < program_.strata.size(); ++s)
      choose_delta_indices(program_, s, plan_);
    return {};
  }

  // One stratum of a plan that there is. True if it is another one now.
  Result<bool> run_again(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    StratumPlan& plan = plan_.strata[s];
    for (const RelationId r : stratum.relations)
      if (const auto& best = plan_.relations[r].best) best_.emplace(r, *best);
    if (plan.strategy == Strategy::kPivot) {
      masks_ = find_pivot(program_, stratum).masks;
      note_pivots(stratum, *plan.pivot);
    }
    const FormerOrders former = former_orders(plan);
    STRATALOG_RETURN_IF_ERROR(
        draft_rules(ground(&former), s, plan.strategy, RulesWithout::kLeftOut, drafts_));
    if (has_same_orders(former)) return false;
    vote_for_last_columns(stratum.relations);
    collect_accesses(stratum.relations);
    for (const auto& [r, accesses] : accesses_) add_indices(r, accesses, stratum.holds(r));
    for (const RelationId r : stratum.relations) choose_primary(r);
    for (auto* list : {&plan.once, &plan.recursive, &plan.by_rounds, &plan.reject, &plan.retire})
      list->clear();
    write_rules(&stratum);
    // A sweep without edges would only number slots.
    if (plan.strategy == Strategy::kPivot && plan.recursive.empty())
      plan.strategy = Strategy::kSemiNaive;
    choose_delta_indices(program_, s, plan_);
    return true;
  }

 private:
  const Rule& rule_of(const RuleDraft& draft) const { return program_.rules[draft.rule]; }

  std::uint32_t arity(RelationId r) const {
    return static_cast<std::uint32_t>(program_.relations[r].attributes.size());
  }

  DraftGround ground(const FormerOrders* former) const {
    return {.program = program_,
            .options = options_,
            .statistics = statistics_,
            .best = best_,
            .pivot_column = pivot_column_,
            .masks = masks_,
            .former = former,
            .relations = former == nullptr ? nullptr : &plan_.relations};
  }

  // `changing`: as in PlanChoices.
  void write_rules(const Stratum* changing) {
    const PlanChoices choices{.program = program_,
                              .statistics = statistics_,
                              .pivot_column = pivot_column_,
                              .relations = plan_.relations,
                              .changing = changing};
    for (const RuleDraft& draft : drafts_) {
      const RulePlan& rule =
          list_for(draft, plan_.strata[draft.stratum]).emplace_back(write_rule(draft, choices));
      for_each_index(
          rule.steps,
          [](const Step& step, IndexPlan& index) {
            index.readers += step.prefix_length > 0 ? 1 : 0;
          },
          plan_);
    }
  }

  void note_pivots(const Stratum& stratum, const PivotPlan& pivot) {
    for (std::size_t i = 0; i < stratum.relations.size(); ++i)
      pivot_column_[stratum.relations[i]] = pivot.column[i];
  }

  std::optional<std::uint32_t> last_of_head(RelationId r) const {
    const auto last = head_last_.find(r);
    return last == head_last_.end() ? std::nullopt : std::optional(last->second);
  }

  FormerOrder::Body former_body(std::uint32_t rule, const Step& step) const {
    FormerOrder::Body former{.atoms = {}, .counts_sets = step.counted.has_value()};
    const auto& body = program_.rules[rule].body[step.literal].aggregate->body;
    for (const Step& inner : step.aggregate_steps)
      if (body[inner.literal].kind == LiteralKind::kAtom) former.atoms.push_back(inner.literal);
    return former;
  }

  FormerOrders former_orders(const StratumPlan& plan) const {
    FormerOrders former;
    for (const auto* list : {&plan.once, &plan.rules_of_rounds(), &plan.reject, &plan.retire})
      for (const RulePlan& rule : *list) {
        FormerOrder& order = former.of[{rule.rule, rule.delta_literal}];
        order.carries = rule.carries;
        for (const Step& step : rule.steps) {
          if (program_.rules[rule.rule].body[step.literal].kind == LiteralKind::kAtom)
            order.atoms.push_back(step.literal);
          if (step.bounds_next) order.bounded.insert(step.literal);
          if (step.kind == StepKind::kAggregate)
            order.aggregates[step.literal] = former_body(rule.rule, step);
        }
      }
    return former;
  }

  // Whether indices that were planned for bounds are still worth it.
  static bool still_bounds(const RuleDraft& draft, const FormerOrder& former) {
    return std::ranges::all_of(draft.order, [&](const OrderedLiteral& placed) {
      return placed.bounded || !former.bounded.contains(placed.literal);
    });
  }

  // Whether bodies of aggregates are better evaluated in other ways than they were to be.
  bool has_better_bodies(const RuleDraft& draft, const FormerOrder& former) const {
    return std::ranges::any_of(draft.order, [&](const OrderedLiteral& placed) {
      const auto body = former.aggregates.find(placed.literal);
      return body != former.aggregates.end() &&
             has_better_body(draft, *rule_of(draft).body[placed.literal].aggregate, body->second);
    });
  }

  bool has_better_body(const RuleDraft& draft, const Aggregate& aggregate,
                       const FormerOrder::Body& former) const {
    const BodyToOrder body = body_of(aggregate, statistics_);
    const auto order = order_literals(body, std::nullopt);
    if (!order.is_ok()) return false;
    const std::vector<std::uint32_t> atoms = atoms_in_order(aggregate.body, order.value());
    const auto cost = [&](const std::vector<std::uint32_t>& given) {
      return cost_of_order(body, given, std::nullopt);
    };
    if (atoms != former.atoms && cost(former.atoms) > kWorthAnotherBody * cost(atoms)) return true;
    const auto counted = counted_sets(draft, aggregate, order.value());
    return counted && !former.counts_sets &&
           std::ranges::all_of(counted->filters, [&](const CarryFilter& filter) {
             const auto placed =
                 std::ranges::find(order.value(), filter.literal, &OrderedLiteral::literal);
             return has_sets(aggregate.body[filter.literal].atom.relation, filter.column) ||
                    is_worth_index(most_bindings(draft) * placed->bindings,
                                   aggregate.body[filter.literal].atom.relation);
           });
  }

  bool has_sets(RelationId relation, std::uint32_t column) const {
    return std::ranges::any_of(plan_.relations[relation].indices, [&](const IndexPlan& index) {
      return index.order.back() == column;
    });
  }

  std::optional<CarryCandidate> counted_sets(const RuleDraft& draft, const Aggregate& aggregate,
                                             const std::vector<OrderedLiteral>& order) const {
    if (!draft.may_count_sets) return {};
    return find_counted_sets(aggregate, program_.strata[draft.stratum], order);
  }

  // Of all rules that there were.
  bool has_same_orders(const FormerOrders& former) const {
    std::size_t same = 0;
    for (const RuleDraft& draft : drafts_) {
      if (draft.purpose == RulePurpose::kSweep) continue;
      const auto before = former.of.find({draft.rule, draft.delta_literal});
      if (before == former.of.end() ||
          before->second.atoms != atoms_in_order(rule_of(draft).body, draft.order) ||
          !still_bounds(draft, before->second) || has_better_bodies(draft, before->second))
        return false;
      ++same;
    }
    return same == former.of.size();
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
    best_.merge(find_best_values(program_, stratum));
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
    if (!finding.pivot || !finding.is_linear || !(options_.allow_pivot || options_.swept == s))
      return;
    plan.strategy = Strategy::kPivot;
    plan.reason += ": dealt by it, no tuple crosses ranks";
    masks_.merge(finding.masks);
    note_pivots(stratum, *finding.pivot);
  }

  bool keeps_one_value(const Stratum& stratum) const {
    return std::ranges::all_of(stratum.subsumptions, [&](std::uint32_t r) {
      return best_.contains(program_.rules[r].head);
    });
  }

  // By relation: the columns of each search of a part of it.
  std::map<RelationId, std::set<std::vector<std::uint32_t>>> searched_columns() const {
    std::map<RelationId, std::set<std::vector<std::uint32_t>>> searches;
    for (const RuleDraft& draft : drafts_)
      for (const OrderedLiteral& placed : draft.order) {
        const Literal& literal = rule_of(draft).body[placed.literal];
        if (reads_atom(literal) && !placed.bound.empty() &&
            placed.bound.size() < literal.atom.arguments.size())
          searches[literal.atom.relation].insert(placed.bound);
      }
    return searches;
  }

  // The last index column of a head is the one that most (recursive) rules could fill with whole
  // sets.
  void vote_for_last_columns(const std::vector<RelationId>& heads) {
    std::map<RelationId, std::vector<std::uint64_t>> votes;
    for (const RelationId r : heads) votes[r].assign(arity(r) + 1, 0);
    const PivotColumns swept = swept_columns();
    const auto searches = searched_columns();
    // No index is made for a scan, so that the sets which it finds are those of the searches.
    const auto is_there = [&](const RuleDraft& draft, const CarryCandidate& c) {
      const OrderedLiteral& source = draft.order[c.bound_at];
      if (source.kind == StepKind::kScanDelta || !source.bound.empty()) return true;
      const RelationId relation = rule_of(draft).body[c.literal].atom.relation;
      if (!plan_.relations.empty())
        return std::ranges::any_of(plan_.relations[relation].indices, [&](const IndexPlan& index) {
          return index.order.back() == c.literal_column;
        });
      const auto of_relation = searches.find(relation);
      return of_relation == searches.end() ||
             std::ranges::any_of(of_relation->second, [&](const auto& bound) {
               return !std::ranges::binary_search(bound, c.literal_column);
             });
    };
    for (const RuleDraft& draft : drafts_) {
      if (draft.purpose == RulePurpose::kSweep) continue;
      std::vector<CarryCandidate> there;
      std::ranges::copy_if(draft.candidates, std::back_inserter(there),
                           [&](const CarryCandidate& c) {
                             return is_favourite(c, draft.candidates) && is_there(draft, c);
                           });
      double smallest = std::numeric_limits<double>::infinity();
      for (const CarryCandidate& c : there) smallest = std::min(smallest, tuples_of_set(draft, c));
      for (const CarryCandidate& c : there) {
        std::uint64_t weight = draft.recursive ? kRecursiveWeight : 1;
        if (tuples_of_set(draft, c) >= kMuchLarger * smallest) weight *= kLargerSetsWeight;
        if (c.from_growing) weight *= kRecursiveSourceWeight;
        if (!c.is_compared) weight *= kUncomparedWeight;
        const auto pivot = swept.find(program_.rules[draft.rule].body[c.literal].atom.relation);
        if (!c.from_growing && pivot != swept.end() && pivot->second == c.literal_column)
          weight *= kSweptSourceWeight;
        votes[program_.rules[draft.rule].head][c.head_column] += weight;
      }
    }
    for (const auto& [r, of_columns] : votes) {
      if (const auto kept = best_.find(r); kept != best_.end()) {
        head_last_[r] = kept->second.column;
        continue;
      }
      if (const auto pivot = pivot_column_.find(r); pivot != pivot_column_.end()) {
        head_last_[r] = pivot->second;
        continue;
      }
      const auto best = std::ranges::max_element(of_columns);
      if (*best > 0) head_last_[r] = static_cast<std::uint32_t>(best - of_columns.begin());
    }
  }

  // Expected: whatever else the atom reads is known where the set is read.
  double tuples_of_set(const RuleDraft& draft, const CarryCandidate& c) const {
    const Atom& atom = rule_of(draft).body[c.literal].atom;
    const RelationStatistics& size = statistics_[atom.relation];
    const auto rows = static_cast<double>(size.rows);
    double sets = 1;
    for (std::uint32_t column = 0; column < size.distinct.size(); ++column)
      if (column != c.literal_column) sets *= static_cast<double>(size.distinct[column]);
    return rows / std::clamp(sets, 1.0, std::max(rows, 1.0));
  }

  // By which columns strata are swept.
  PivotColumns swept_columns() const {
    PivotColumns columns;
    for (std::size_t s = 0; s < plan_.strata.size(); ++s) {
      if (plan_.strata[s].strategy != Strategy::kPivot) continue;
      const std::vector<RelationId>& members = program_.strata[s].relations;
      for (std::size_t i = 0; i < members.size(); ++i)
        columns[members[i]] = plan_.strata[s].pivot->column[i];
    }
    return columns;
  }

  void collect_accesses(const std::vector<RelationId>& heads) {
    for (const RelationId r : heads)
      if (const auto last = last_of_head(r))
        accesses_[r].push_back({.bound = {},
                                .last_wish = last,
                                .asked = {},
                                .bounded = {},
                                .weight = best_.contains(r) ? kBestValueWeight : 4});
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
      if (literal.kind == LiteralKind::kAggregate) collect_aggregate(*literal.aggregate, draft);
      if (!reads_atom(literal)) continue;
      Access access{.bound = placed.bound,
                    .last_wish = {},
                    .asked = placed.bound.empty() ? std::vector<std::uint32_t>()
                                                  : asked_later(rule, draft.order, place),
                    .bounded = {},
                    .weight = draft.recursive ? kRecursiveWeight : 1};
      // Of what grows, a look at all rows under a key costs less than one more index in every
      // round.
      const bool grows = program_.strata[draft.stratum].holds(literal.atom.relation);
      if (!grows || (placed.bound.empty() && reads_growing_in_order(draft)))
        access.bounded = placed.bounded;
      else if (placed.bounded)
        access.asked.push_back(*placed.bounded);
      for (const CarryCandidate& c : draft.candidates) {
        if (last_of_head(rule.head) != c.head_column) continue;
        if (c.literal == placed.literal) access.last_wish = c.literal_column;
        for (const CarryFilter& filter : c.filters)
          if (filter.literal == placed.literal)
            wish_filter(draft.stratum, literal.atom.relation, filter, access);
      }
      // Sets of such a column are compared as a whole.
      if (access.bounded == access.last_wish) access.bounded.reset();
      add_access(literal.atom.relation, access);
    }
  }

  // A filter is best served by an index that ends in the carried column. For a finished relation
  // that is worth an index of its own; one of a growing relation would cost in every round.
  void wish_filter(std::uint32_t stratum, RelationId relation, const CarryFilter& filter,
                   Access& access) const {
    access.last_wish = filter.column;
    if (program_.strata[stratum].holds(relation)) return;
    access.is_filter = true;
    std::erase(access.bound, filter.column);
  }

  void collect_aggregate(const Aggregate& aggregate, const RuleDraft& draft) {
    const auto order = order_literals(body_of(aggregate, statistics_), std::nullopt);
    if (!order.is_ok()) return;  // reported when the steps are written
    const auto counted = counted_sets(draft, aggregate, order.value());
    const double outer = most_bindings(draft);
    for (const OrderedLiteral& placed : order.value()) {
      const Literal& literal = aggregate.body[placed.literal];
      if (literal.kind == LiteralKind::kAggregate) collect_aggregate(*literal.aggregate, draft);
      if (!reads_atom(literal)) continue;
      Access access{.bound = placed.bound,
                    .last_wish = {},
                    .asked = {},
                    .bounded = placed.bounded,
                    .weight = 1};
      if (counted && counted->literal == placed.literal) access.last_wish = counted->literal_column;
      for (const CarryFilter& filter : counted ? counted->filters : std::vector<CarryFilter>())
        if (filter.literal == placed.literal)
          wish_counted(outer * placed.bindings, literal.atom.relation, filter, access);
      add_access(literal.atom.relation, access);
    }
  }

  // Where fewer bindings ask than an index takes to make, whatever index is there has to do.
  void wish_counted(double bindings, RelationId relation, const CarryFilter& filter,
                    Access& access) const {
    access.last_wish = filter.column;
    if (!is_worth_index(bindings, relation)) return;
    access.is_filter = true;
    std::erase(access.bound, filter.column);
  }

  bool is_worth_index(double bindings, RelationId relation) const {
    const RelationStatistics& size = statistics_[relation];
    return size.known && bindings >= kQuestionsForATuple * static_cast<double>(size.rows);
  }

  // That the atoms of a rule make, as far as they are known.
  double most_bindings(const RuleDraft& draft) const {
    double most = 1;
    for (const OrderedLiteral& placed : draft.order) {
      const Literal& literal = rule_of(draft).body[placed.literal];
      if (literal.kind != LiteralKind::kAtom) continue;
      most = std::max(most, placed.bindings);
      if (placed.bound.empty())
        most = std::max(most, static_cast<double>(statistics_[literal.atom.relation].rows));
    }
    return most;
  }

  void add_access(RelationId relation, const Access& access) {
    if (arity(relation) > 0) accesses_[relation].push_back(access);
  }

  // What searches need and the relation does not have. Nothing changes about indices of finished
  // relations, which lie as they were dealt; those of a stratum that has not begun may find more.
  void add_indices(RelationId r, const std::vector<Access>& accesses, bool is_open_to_change) {
    std::vector<IndexPlan>& indices = plan_.relations[r].indices;
    std::vector<Access> missing;
    for (const Access& access : accesses) {
      const auto fulfils = [&](const IndexPlan& index) {
        return (!access.is_filter || index.order.back() == access.last_wish) &&
               (!access.bounded || has_next(index, access.bound, *access.bounded));
      };
      const auto served = std::ranges::any_of(indices, [&](const IndexPlan& index) {
        return serves_search(plan_.relations[r], index, access.bound) && fulfils(index);
      });
      if (served) continue;
      const auto grows = std::ranges::find_if(indices, [&](const IndexPlan& index) {
        return begins_with(index, access.bound) && fulfils(index);
      });
      if (is_open_to_change && grows != indices.end())
        add_searched_length(*grows, static_cast<std::uint32_t>(access.bound.size()));
      else
        missing.push_back(access);
    }
    if (missing.empty()) return;
    for (IndexPlan& index : choose_indices(arity(r), missing).indices)
      indices.push_back(std::move(index));
  }

  // Of a relation of a stratum that has not begun: ends in the column that most rules could fill
  // with whole sets.
  void choose_primary(RelationId r) {
    RelationPlan& relation = plan_.relations[r];
    const auto last = last_of_head(r);
    if (arity(r) == 0 || relation.best || relation.dealt_by_first || pivot_column_.contains(r) ||
        !last || relation.indices[relation.primary].order.back() == *last)
      return;
    const auto fits = std::ranges::find_if(
        relation.indices, [&](const IndexPlan& index) { return index.order.back() == *last; });
    relation.primary = static_cast<std::uint32_t>(fits - relation.indices.begin());
    if (fits == relation.indices.end())
      relation.indices.push_back(
          choose_indices(
              arity(r), {{.bound = {}, .last_wish = last, .asked = {}, .bounded = {}, .weight = 1}})
              .indices.front());
  }

  void choose_all_indices() {
    const auto first_columns = keys_of_sums();
    std::vector<bool> lies_by_pivot(program_.relations.size());
    for (std::size_t s = 0; s < program_.strata.size(); ++s)
      for (const RelationId r : program_.strata[s].relations)
        lies_by_pivot[r] = plan_.strata[s].pivot.has_value();
    for (RelationId r = 0; r < program_.relations.size(); ++r) {
      RelationPlan relation;
      if (const auto kept = best_.find(r); kept != best_.end()) relation.best = kept->second;
      relation.dealt_by_first = first_columns[r];
      relation.may_lie_by_pivot = lies_by_pivot[r];
      relation.needs_indices = !is_equivalence(program_.relations[r]);
      if (arity(r) > 0) {
        IndexChoice choice = choose_indices(arity(r), accesses_[r]);
        relation.indices = std::move(choice.indices);
        for (std::uint32_t i = 0; i < relation.indices.size(); ++i)
          if (last_of_head(r) == relation.indices[i].order.back()) {
            relation.primary = i;
            break;
          }
        if (relation.best || relation.dealt_by_first)
          place_values_together(relation, relation.best ? relation.best->column : arity(r) - 1);
      }
      plan_.relations.push_back(std::move(relation));
    }
  }

  // Of sums, of themselves and of their terms, the first columns.
  std::vector<std::optional<std::uint32_t>> keys_of_sums() const {
    std::vector<std::optional<std::uint32_t>> columns(program_.relations.size());
    for (RelationId r = 0; r < program_.relations.size(); ++r)
      if (const auto& sums = program_.relations[r].sums)
        columns[r] = columns[sums->terms] = arity(r) - 1;
    return columns;
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
  const std::vector<RelationStatistics>& statistics_;
  std::map<RelationId, std::vector<Access>> accesses_;
  std::map<RelationId, std::uint32_t> head_last_;  // of those that wish for one
  BestValues best_;
  PivotColumns pivot_column_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> masks_;  // PivotFinding::masks of all strata
  std::vector<RuleDraft> drafts_;
  ProgramPlan& plan_;
};

}  // namespace

Result<ProgramPlan> plan_program(const Program& program, const PlanOptions& options) {
  const auto statistics = estimate_sizes(program, options.statistics);
  ProgramPlan plan;
  STRATALOG_RETURN_IF_ERROR(Planner(program, options, statistics, plan).run());
  return plan;
}

Result<bool> replan_stratum(const Program& program, const PlanOptions& options,
                            std::uint32_t stratum, std::vector<RelationStatistics>& statistics,
                            ProgramPlan& plan) {
  estimate_members(program, program.strata[stratum], statistics);
  return Planner(program, options, statistics, plan).run_again(stratum);
}

void note_indices_read(std::uint32_t stratum, ProgramPlan& plan) {
  StratumPlan& rules = plan.strata[stratum];
  for (const auto* list : {&rules.once, &rules.recursive, &rules.reject, &rules.retire})
    for (const RulePlan& rule : *list)
      for (const auto* steps : {&rule.steps, &rule.masks})
        for_each_index(*steps, [](const Step&, IndexPlan& index) { index.is_there = true; }, plan);
}

}  // namespace stratalog::datalog
