// SPDX-License-Identifier: Apache-2.0
// plan_program: orders every rule, collects how relations are read, chooses indices, decides which
// rules move whole sets, and writes the steps down. See program_plan.h.
#include "datalog/plan/program_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "datalog/plan/carry_analysis.h"
#include "datalog/plan/delta_index.h"
#include "datalog/plan/index_selection.h"
#include "datalog/plan/literal_order.h"
#include "datalog/plan/mirror_analysis.h"
#include "datalog/plan/pivot_analysis.h"
#include "datalog/plan/size_estimate.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Recursive rules run once a round, so their wishes for an index outweigh those of rules that run
// once.
constexpr std::uint32_t kRecursiveWeight = 16;
// Carrying a set from a recursive relation moves more at once than from a relation of facts, whose
// sets tend to be small.
constexpr std::uint32_t kRecursiveSourceWeight = 4;

// What a delta scan reads: an index, or the rows of a pivot relation (keys, then pivot).
enum class DeltaLayout : std::uint8_t { kIndex, kPivotRows };

// Which list of the stratum's plan a rule goes to.
enum class Purpose : std::uint8_t { kDerive, kSweep, kReject, kRetire };

struct DraftRule {
  std::uint32_t rule = 0;
  std::uint32_t stratum = 0;
  bool recursive = false;
  Purpose purpose = Purpose::kDerive;
  std::optional<std::uint32_t> delta_literal;
  std::vector<OrderedLiteral> order;
  std::vector<CarryCandidate> candidates;
  std::size_t masks = 0;  // kSweep: so many literals at the end of the order test the pivot
};

class Planner {
 public:
  Planner(const Program& program, const PlanOptions& options)
      : program_(program),
        options_(options),
        accesses_(program.relations.size()),
        head_last_(program.relations.size()),
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
    for (const DraftRule& draft : drafts_) {
      StratumPlan& stratum = plan_.strata[draft.stratum];
      const DeltaLayout layout =
          draft.purpose == Purpose::kSweep ? DeltaLayout::kPivotRows : DeltaLayout::kIndex;
      list_for(draft, stratum).push_back(write_rule(draft, layout));
    }
    choose_delta_indices(program_, plan_);
    return std::move(plan_);
  }

 private:
  std::uint32_t arity(RelationId r) const {
    return static_cast<std::uint32_t>(program_.relations[r].attributes.size());
  }

  static std::vector<RulePlan>& list_for(const DraftRule& draft, StratumPlan& stratum) {
    switch (draft.purpose) {
      case Purpose::kSweep:
        return stratum.recursive;
      case Purpose::kReject:
        return stratum.reject;
      case Purpose::kRetire:
        return stratum.retire;
      case Purpose::kDerive:
        break;
    }
    if (!draft.recursive) return stratum.once;
    return stratum.strategy == Strategy::kPivot ? stratum.by_rounds : stratum.recursive;
  }

  void analyse_stratum(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    StratumPlan& plan = plan_.strata[s];
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
      plan.reason = "tuples are subsumed round by round";
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
      DraftRule draft{.rule = r,
                      .stratum = s,
                      .recursive = !deltas.empty(),
                      .purpose = Purpose::kDerive,
                      .delta_literal = {},
                      .order = {},
                      .candidates = {},
                      .masks = 0};
      if (deltas.empty()) STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      for (const std::uint32_t delta : deltas) {
        draft.delta_literal = delta;
        STRATALOG_RETURN_IF_ERROR(add_draft(draft));
      }
    }
    return {};
  }

  Status add_draft(DraftRule draft) {
    const Rule& rule = program_.rules[draft.rule];
    STRATALOG_ASSIGN_OR_RETURN(draft.order,
                               order_literals(rule.body, {}, draft.delta_literal, statistics_));
    // Tuples of a relation with a choice-domain are looked at one by one.
    const bool allow_sets =
        options_.allow_sets && (!options_.sets_in || options_.sets_in == draft.stratum);
    if (allow_sets && program_.relations[rule.head].choice_keys.empty())
      draft.candidates = find_carry_candidates(rule, program_.strata[draft.stratum], draft.order);
    drafts_.push_back(draft);
    if (!draft.recursive || plan_.strata[draft.stratum].strategy != Strategy::kPivot) return {};
    draft.purpose = Purpose::kSweep;
    const auto masks = masks_.find(draft.rule);
    if (masks != masks_.end())
      STRATALOG_RETURN_IF_ERROR(order_masks_last(rule, masks->second, draft));
    drafts_.push_back(std::move(draft));
    return {};
  }

  // What finds the edges of the slot graph does not know the pivot; what tests it comes after.
  Status order_masks_last(const Rule& rule, const std::vector<std::uint32_t>& masks,
                          DraftRule& draft) const {
    std::vector<Literal> body;
    std::vector<std::uint32_t> place;  // in the rule's body
    std::optional<std::uint32_t> delta;
    for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
      if (std::find(masks.begin(), masks.end(), l) != masks.end()) continue;
      if (l == draft.delta_literal) delta = static_cast<std::uint32_t>(body.size());
      body.push_back(rule.body[l]);
      place.push_back(l);
    }
    STRATALOG_ASSIGN_OR_RETURN(draft.order, order_literals(body, {}, delta, statistics_));
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

  // Each rule that subsumes once for new dominated tuples, once for new dominating ones, and once
  // for each atom of the stratum that follows.
  Status draft_subsumptions(std::uint32_t s) {
    const Stratum& stratum = program_.strata[s];
    for (const std::uint32_t r : stratum.subsumptions) {
      const Rule& rule = program_.rules[r];
      for (std::uint32_t l = 0; l < rule.body.size(); ++l) {
        if (rule.body[l].kind != LiteralKind::kAtom ||
            !std::binary_search(stratum.relations.begin(), stratum.relations.end(),
                                rule.body[l].atom.relation))
          continue;
        DraftRule draft{.rule = r,
                        .stratum = s,
                        .recursive = stratum.is_recursive,
                        .purpose = l == 0 ? Purpose::kReject : Purpose::kRetire,
                        .delta_literal = l,
                        .order = {},
                        .candidates = {},
                        .masks = 0};
        STRATALOG_ASSIGN_OR_RETURN(draft.order, order_literals(rule.body, {}, l, statistics_));
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
    for (const DraftRule& draft : drafts_)
      for (const CarryCandidate& c : draft.candidates) {
        if (draft.purpose == Purpose::kSweep || !is_favourite(c, draft.candidates)) continue;
        std::uint64_t weight = draft.recursive ? kRecursiveWeight : 1;
        if (c.from_growing) weight *= kRecursiveSourceWeight;
        votes[program_.rules[draft.rule].head][c.head_column] += weight;
      }
    for (RelationId r = 0; r < votes.size(); ++r) {
      if (pivot_column_[r]) {
        head_last_[r] = pivot_column_[r];
        continue;
      }
      const auto best = std::max_element(votes[r].begin(), votes[r].end());
      if (*best > 0) head_last_[r] = static_cast<std::uint32_t>(best - votes[r].begin());
    }
  }

  void collect_accesses() {
    for (RelationId r = 0; r < program_.relations.size(); ++r)
      if (head_last_[r])
        accesses_[r].push_back({.bound = {}, .last_wish = head_last_[r], .weight = 4});
    for (const DraftRule& draft : drafts_)
      if (draft.purpose != Purpose::kSweep || draft.masks > 0) collect_rule(draft);
  }

  void collect_rule(const DraftRule& draft) {
    const Rule& rule = program_.rules[draft.rule];
    for (const OrderedLiteral& placed : draft.order) {
      const Literal& literal = rule.body[placed.literal];
      if (literal.kind == LiteralKind::kAggregate) collect_aggregate(*literal.aggregate);
      if (literal.kind != LiteralKind::kAtom && literal.kind != LiteralKind::kNegatedAtom) continue;
      Access access{
          .bound = placed.bound, .last_wish = {}, .weight = draft.recursive ? kRecursiveWeight : 1};
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
      if (literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom)
        add_access(literal.atom.relation, {.bound = placed.bound, .last_wish = {}, .weight = 1});
    }
  }

  void add_access(RelationId relation, const Access& access) {
    if (arity(relation) > 0) accesses_[relation].push_back(access);
  }

  void choose_all_indices() {
    for (RelationId r = 0; r < program_.relations.size(); ++r) {
      RelationPlan relation;
      if (arity(r) > 0) {
        IndexChoice choice = choose_indices(arity(r), accesses_[r]);
        relation.indices = std::move(choice.indices);
        for (std::uint32_t i = 0; i < relation.indices.size(); ++i)
          if (head_last_[r] && relation.indices[i].order.back() == *head_last_[r]) {
            relation.primary = i;
            break;
          }
      }
      plan_.relations.push_back(std::move(relation));
    }
  }

  // Whether the index has a directory for prefixes of this length, where it needs one. The choice
  // of indices gives it to one of the indices that could serve a search.
  static bool finds_rows(const IndexPlan& index, std::size_t length) {
    if (length == 0 || length + 1 >= index.order.size()) return true;
    return std::binary_search(index.searched_lengths.begin(), index.searched_lengths.end(), length);
  }

  // The index that serves a search on `bound`, preferring one that ends in `last`.
  std::uint32_t index_for(RelationId relation, const std::vector<std::uint32_t>& bound,
                          std::optional<std::uint32_t> last) const {
    const RelationPlan& plan = plan_.relations[relation];
    std::optional<std::uint32_t> best;
    for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
      const auto& order = plan.indices[i].order;
      std::vector<std::uint32_t> prefix(order.begin(),
                                        order.begin() + static_cast<std::ptrdiff_t>(bound.size()));
      std::sort(prefix.begin(), prefix.end());
      if (prefix != bound || !finds_rows(plan.indices[i], bound.size())) continue;
      if (last && order.back() == *last) return i;
      // Scans and membership tests are served by any index; the primary is the one that surely is
      // complete.
      if (!best || i == plan.primary) best = i;
    }
    return best.value_or(plan.primary);
  }

  // The index whose sets, under all other columns, are those of `column`.
  std::optional<std::uint32_t> filter_index(RelationId relation, std::uint32_t column) const {
    const RelationPlan& plan = plan_.relations[relation];
    for (std::uint32_t i = 0; i < plan.indices.size(); ++i)
      if (plan.indices[i].order.back() == column) return i;
    return std::nullopt;
  }

  // Column order in which a head is filled: keys then pivot for pivot relations, the primary index
  // otherwise.
  std::vector<std::uint32_t> head_order(RelationId r) const {
    if (arity(r) == 0) return {};
    if (!pivot_column_[r]) return plan_.relations[r].indices[plan_.relations[r].primary].order;
    return pivot_order(r);
  }

  std::vector<std::uint32_t> pivot_order(RelationId r) const {
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < arity(r); ++c)
      if (c != *pivot_column_[r]) order.push_back(c);
    order.push_back(*pivot_column_[r]);
    return order;
  }

  RulePlan write_rule(const DraftRule& draft, DeltaLayout layout) {
    layout_ = layout;
    const Rule& rule = program_.rules[draft.rule];
    RulePlan plan{.rule = draft.rule,
                  .delta_literal = draft.delta_literal,
                  .steps = {},
                  .masks = {},
                  .constants = {},
                  .carries = false,
                  .carried = 0,
                  .reason = {}};
    choose_carry(draft, plan);
    std::set<VariableId> needed;
    for (const Expression& e : rule.head_arguments) collect_variables(e, needed);
    if (plan.carries) needed.erase(plan.carried);
    plan.steps = write_steps(draft.order, rule.body, needed, plan);
    const auto first_mask = plan.steps.end() - static_cast<std::ptrdiff_t>(draft.masks);
    plan.masks.assign(first_mask, plan.steps.end());
    plan.steps.erase(first_mask, plan.steps.end());
    return plan;
  }

  void choose_carry(const DraftRule& draft, RulePlan& plan) const {
    const Rule& rule = program_.rules[draft.rule];
    plan.reason = "tuple at a time";
    const auto head_columns = head_order(rule.head);
    for (const CarryCandidate& c : draft.candidates) {
      if (head_columns.empty() || head_columns.back() != c.head_column) continue;
      for (const OrderedLiteral& placed : draft.order) {
        if (placed.literal != c.literal) continue;
        const RelationId relation = rule.body[c.literal].atom.relation;
        const bool from_pivot = layout_ == DeltaLayout::kPivotRows &&
                                placed.kind == StepKind::kScanDelta &&
                                pivot_column_[relation] == c.literal_column;
        const auto& index =
            plan_.relations[relation].indices[index_for(relation, placed.bound, c.literal_column)];
        if (!from_pivot && index.order.back() != c.literal_column) continue;
        const bool is_filtered =
            std::all_of(c.filters.begin(), c.filters.end(), [&](const CarryFilter& filter) {
              return filter_index(rule.body[filter.literal].atom.relation, filter.column);
            });
        if (!is_filtered) continue;
        plan.carries = true;
        plan.carried = c.variable;
        plan.reason =
            fmt::format("set at a time: `{}` moves as whole sets from `{}` to `{}`",
                        rule.variables[c.variable].name, program_.relations[relation].name,
                        program_.relations[rule.head].name);
        return;
      }
    }
  }

  std::vector<Step> write_steps(const std::vector<OrderedLiteral>& order,
                                const std::vector<Literal>& body, std::set<VariableId> needed,
                                RulePlan& plan) {
    std::vector<Step> steps(order.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      const OrderedLiteral& placed = order[i];
      const Literal& literal = body[placed.literal];
      Step& step = steps[i];
      step.kind = placed.kind;
      step.literal = placed.literal;
      step.target = placed.target;
      step.assign_from_left = placed.assign_from_left;
      step.live_after.assign(needed.begin(), needed.end());
      if (literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom)
        write_atom(placed, literal.atom, needed, plan, step);
      if (literal.kind == LiteralKind::kAggregate) write_aggregate(literal, plan, step);
      if (placed.kind == StepKind::kUnpack) write_unpack(placed, literal, needed, plan, step);
      if (placed.kind == StepKind::kAssign || placed.kind == StepKind::kAggregate ||
          placed.kind == StepKind::kRange)
        needed.erase(placed.target);
      std::set<VariableId> read;
      collect_variables(literal, read);
      if (placed.kind == StepKind::kAssign || placed.kind == StepKind::kAggregate ||
          placed.kind == StepKind::kRange)
        read.erase(placed.target);
      if (literal.kind == LiteralKind::kAtom || literal.kind == LiteralKind::kNegatedAtom ||
          placed.kind == StepKind::kUnpack) {
        // What the atom itself binds is not needed before it.
        for (const ColumnUse& use : step.columns)
          if (use.role == ColumnRole::kBind || use.role == ColumnRole::kCarry)
            needed.erase(use.variable);
        read.clear();
        for (const ColumnUse& use : step.columns)
          if (use.role == ColumnRole::kMatchVariable) read.insert(use.variable);
        if (placed.kind == StepKind::kUnpack) read.insert(record_equation(literal)->variable);
      }
      needed.insert(read.begin(), read.end());
    }
    return steps;
  }

  void write_aggregate(const Literal& literal, RulePlan& plan, Step& step) {
    const Aggregate& aggregate = *literal.aggregate;
    const auto order =
        order_literals(aggregate.body, {aggregate.outer.begin(), aggregate.outer.end()},
                       std::nullopt, statistics_);
    if (!order.is_ok()) return;
    std::set<VariableId> needed;
    if (aggregate.function != AggregateFunction::kCount)
      collect_variables(aggregate.target, needed);
    // Counting is over combinations of body tuples, so inner columns matter even if nobody reads
    // them; ignored columns are walked nevertheless by scans and searches.
    const bool carries = plan.carries;
    plan.carries = false;
    step.aggregate_steps = write_steps(order.value(), aggregate.body, needed, plan);
    for (Step& inner : step.aggregate_steps)
      if (inner.kind == StepKind::kExists && inner.prefix_length < arity(inner.relation))
        inner.kind = inner.prefix_length == 0 ? StepKind::kScan : StepKind::kSearch;
    plan.carries = carries;
  }

  static void write_unpack(const OrderedLiteral& placed, const Literal& literal,
                           const std::set<VariableId>& needed, RulePlan& plan, Step& step) {
    const std::vector<Expression>& fields = record_equation(literal)->record->arguments;
    std::map<VariableId, std::size_t> uses;
    for (const Expression& field : fields)
      if (field.kind == ExpressionKind::kVariable) ++uses[field.variable];
    std::set<VariableId> bound_here;
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
      ColumnUse use;
      use.variable = fields[f].variable;
      if (fields[f].kind == ExpressionKind::kConstant) {
        use.role = ColumnRole::kMatchConstant;
        use.constant = static_cast<std::uint32_t>(plan.constants.size());
        plan.constants.push_back(fields[f]);
      } else if (std::binary_search(placed.bound.begin(), placed.bound.end(), f)) {
        use.role = ColumnRole::kMatchVariable;
      } else if (bound_here.contains(use.variable)) {
        use.role = ColumnRole::kMatchEarlier;
      } else if (needed.contains(use.variable) || uses[use.variable] > 1) {
        use.role = ColumnRole::kBind;
        bound_here.insert(use.variable);
      }
      step.columns.push_back(use);
    }
  }

  void write_atom(const OrderedLiteral& placed, const Atom& atom,
                  const std::set<VariableId>& needed, RulePlan& plan, Step& step) {
    const RelationId relation = atom.relation;
    step.relation = relation;
    if (arity(relation) == 0) {
      if (placed.kind == StepKind::kScan) step.kind = StepKind::kExists;
      return;
    }
    const bool pivot_scan =
        placed.kind == StepKind::kScanDelta && layout_ == DeltaLayout::kPivotRows;
    std::optional<std::uint32_t> carried_column;
    if (plan.carries)
      for (std::uint32_t c = 0; c < arity(relation); ++c)
        if (is_variable(atom.arguments[c], plan.carried)) carried_column = c;
    step.index = index_for(relation, placed.bound, carried_column);
    step.prefix_length = static_cast<std::uint32_t>(placed.bound.size());
    const bool filters = carried_column && std::binary_search(placed.bound.begin(),
                                                              placed.bound.end(), *carried_column);
    if (filters) {
      step.index = filter_index(relation, *carried_column).value_or(step.index);
      --step.prefix_length;
      // The index must be dealt by columns that the search binds.
      auto& lengths = plan_.relations[relation].indices[step.index].searched_lengths;
      if (!std::binary_search(lengths.begin(), lengths.end(), step.prefix_length))
        lengths.insert(std::upper_bound(lengths.begin(), lengths.end(), step.prefix_length),
                       step.prefix_length);
    }
    const std::vector<std::uint32_t> order =
        pivot_scan ? pivot_order(relation) : plan_.relations[relation].indices[step.index].order;

    std::set<VariableId> bound_here;
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      const Argument& a = atom.arguments[order[i]];
      ColumnUse use;
      if (a.kind == ArgumentKind::kConstant) {
        use.role = ColumnRole::kMatchConstant;
        use.constant = static_cast<std::uint32_t>(plan.constants.size());
        plan.constants.push_back(a.constant);
      } else if (a.kind == ArgumentKind::kVariable) {
        use.variable = a.variable;
        if (filters && order[i] == *carried_column) {
          use.role = ColumnRole::kCarry;
        } else if (std::binary_search(placed.bound.begin(), placed.bound.end(), order[i])) {
          use.role = ColumnRole::kMatchVariable;
        } else if (bound_here.contains(a.variable)) {
          use.role = ColumnRole::kMatchEarlier;
        } else if (plan.carries && a.variable == plan.carried) {
          use.role = ColumnRole::kCarry;
        } else if (needed.contains(a.variable) || occurrences(atom, a.variable) > 1) {
          use.role = ColumnRole::kBind;
          bound_here.insert(a.variable);
        }
      }
      step.columns.push_back(use);
    }
    const bool binds =
        std::any_of(step.columns.begin(), step.columns.end(), [](const ColumnUse& u) {
          return u.role == ColumnRole::kBind || u.role == ColumnRole::kCarry;
        });
    if (placed.kind == StepKind::kScan) {
      const bool full = step.prefix_length == order.size();
      if (!binds || filters)
        step.kind = StepKind::kExists;
      else if (step.prefix_length > 0 && !full)
        step.kind = StepKind::kSearch;
    }
  }

  static bool is_variable(const Argument& a, VariableId v) {
    return a.kind == ArgumentKind::kVariable && a.variable == v;
  }
  static std::size_t occurrences(const Atom& atom, VariableId v) {
    return static_cast<std::size_t>(
        std::count_if(atom.arguments.begin(), atom.arguments.end(),
                      [&](const Argument& a) { return is_variable(a, v); }));
  }

  const Program& program_;
  const PlanOptions& options_;
  std::vector<RelationStatistics> statistics_;
  std::vector<std::vector<Access>> accesses_;
  std::vector<std::optional<std::uint32_t>> head_last_;
  std::vector<std::optional<std::uint32_t>> pivot_column_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> masks_;  // PivotFinding::masks of all strata
  std::vector<DraftRule> drafts_;
  DeltaLayout layout_ = DeltaLayout::kIndex;  // of the rule that is being written
  ProgramPlan plan_;
};

}  // namespace

Result<ProgramPlan> plan_program(const Program& program, const PlanOptions& options) {
  return Planner(program, options).run();
}

}  // namespace stratalog::datalog
