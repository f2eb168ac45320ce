// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/write_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "datalog/plan/index_selection.h"

namespace stratalog::datalog {
namespace {

// What a delta scan reads: an index, or the rows of a pivot relation (keys, then pivot).
enum class DeltaLayout : std::uint8_t { kIndex, kPivotRows };

class StepWriter {
 public:
  explicit StepWriter(const PlanChoices& choices)
      : program_(choices.program),
        statistics_(choices.statistics),
        pivot_column_(choices.pivot_column),
        relations_(choices.relations),
        changing_(choices.changing) {}

  RulePlan write(const RuleDraft& draft) {
    layout_ = draft.purpose == RulePurpose::kSweep ? DeltaLayout::kPivotRows : DeltaLayout::kIndex;
    members_ = &program_.strata[draft.stratum];
    reads_growing_in_order_ = reads_growing_in_order(draft);
    const Rule& rule = program_.rules[draft.rule];
    RulePlan plan{.rule = draft.rule,
                  .delta_literal = draft.delta_literal,
                  .steps = {},
                  .masks = {},
                  .constants = {},
                  .carries = false,
                  .carried = 0,
                  .follows_plan = draft.follows_plan,
                  .begins_elsewhere = draft.follows_plan || draft.begins_elsewhere,
                  .reason = {}};
    may_count_sets_ = draft.may_count_sets;
    choose_carry(draft, plan);
    if (draft.follows_plan)
      plan.reason += "; in the order of `.plan`";
    else if (draft.begins_elsewhere)
      plan.reason += "; each new tuple would meet a whole relation";
    else if (draft.purpose == RulePurpose::kSweep && !rule.join_orders.empty())
      plan.reason += "; a sweep begins with new tuples, so `.plan` would order rounds only";
    std::set<VariableId> needed;
    for (const Expression& e : rule.head_arguments) collect_variables(e, needed);
    if (plan.carries) needed.erase(plan.carried);
    plan.steps = write_steps(draft.order, rule.body, needed, plan);
    const auto first_mask = plan.steps.end() - static_cast<std::ptrdiff_t>(draft.masks);
    plan.masks.assign(first_mask, plan.steps.end());
    plan.steps.erase(first_mask, plan.steps.end());
    return plan;
  }

 private:
  std::uint32_t arity(RelationId r) const {
    return static_cast<std::uint32_t>(program_.relations[r].attributes.size());
  }

  // The index that serves a search, preferring one that ends in `last`, then one in which the
  // bounded column comes next.
  std::uint32_t index_for(RelationId relation, const OrderedLiteral& placed,
                          std::optional<std::uint32_t> last) const {
    const RelationPlan& plan = relations_[relation];
    std::optional<std::uint32_t> best;
    int best_merit = 0;
    for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
      const IndexPlan& index = plan.indices[i];
      if (!serves_search(plan, index, placed.bound)) continue;
      const int merit =
          (index.order.back() == last ? 2 : 0) + (bounds_next(relation, placed, index) ? 1 : 0);
      // Scans and membership tests are served by any index; the primary is the one that surely is
      // complete.
      if (best && merit <= best_merit && (merit > 0 || best_merit > 0 || i != plan.primary))
        continue;
      best = i;
      best_merit = merit;
    }
    return best.value_or(plan.primary);
  }

  bool bounds_next(RelationId relation, const OrderedLiteral& placed,
                   const IndexPlan& index) const {
    return placed.bounded && (!members_->holds(relation) || reads_growing_in_order_) &&
           has_next(index, placed.bound, *placed.bounded);
  }

  // The index whose sets, under all other columns, are those of `column`; if possible one in which
  // the rest of `bound` finds rows as it is.
  std::optional<std::uint32_t> filter_index(RelationId relation, std::uint32_t column,
                                            std::vector<std::uint32_t> bound) const {
    std::erase(bound, column);
    const RelationPlan& plan = relations_[relation];
    const bool may_change = changing_ == nullptr || changing_->holds(relation);
    std::optional<std::uint32_t> found;
    for (std::uint32_t i = 0; i < plan.indices.size(); ++i) {
      if (plan.indices[i].order.back() != column) continue;
      if (serves_search(plan, plan.indices[i], bound)) return i;
      if (!found && may_change) found = i;
    }
    return found;
  }

  // Column order in which a head is filled: keys then pivot for pivot relations, the primary index
  // otherwise.
  std::vector<std::uint32_t> head_order(RelationId r) const {
    if (arity(r) == 0) return {};
    if (pivot_column_.contains(r)) return pivot_order(r);
    return relations_[r].indices[relations_[r].primary].order;
  }

  std::vector<std::uint32_t> pivot_order(RelationId r) const {
    const std::uint32_t pivot = pivot_column_.at(r);
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < arity(r); ++c)
      if (c != pivot) order.push_back(c);
    order.push_back(pivot);
    return order;
  }

  static std::vector<std::uint32_t> bound_of(const std::vector<OrderedLiteral>& order,
                                             std::uint32_t literal) {
    const auto placed = std::ranges::find(order, literal, &OrderedLiteral::literal);
    return placed == order.end() ? std::vector<std::uint32_t>() : placed->bound;
  }

  bool are_filters_served(const CarryCandidate& candidate, const std::vector<Literal>& body,
                          const std::vector<OrderedLiteral>& order) const {
    return std::ranges::all_of(candidate.filters, [&](const CarryFilter& filter) {
      return filter_index(body[filter.literal].atom.relation, filter.column,
                          bound_of(order, filter.literal))
          .has_value();
    });
  }

  void choose_carry(const RuleDraft& draft, RulePlan& plan) const {
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
                                pivot_column_.at(relation) == c.literal_column;
        const auto& index =
            relations_[relation].indices[index_for(relation, placed, c.literal_column)];
        if (!from_pivot && index.order.back() != c.literal_column) continue;
        if (!are_filters_served(c, rule.body, draft.order)) continue;
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
      step.pairs_zeros = placed.pairs_zeros;
      step.solved = placed.solved;
      step.live_after.assign(needed.begin(), needed.end());
      if (reads_atom(literal)) write_atom(placed, literal.atom, needed, plan, step);
      if (literal.kind == LiteralKind::kAggregate) write_aggregate(literal, plan, step);
      if (placed.kind == StepKind::kUnpack) write_unpack(placed, literal, needed, plan, step);
      if (placed.kind == StepKind::kAssign || placed.kind == StepKind::kAggregate ||
          placed.kind == StepKind::kRange)
        needed.erase(placed.target);
      std::set<VariableId> read;
      collect_variables(literal, read);
      if (plan.carries && placed.kind == StepKind::kFilter)
        step.filters_carried = read.erase(plan.carried) > 0;
      if (placed.kind == StepKind::kAssign || placed.kind == StepKind::kAggregate ||
          placed.kind == StepKind::kRange)
        read.erase(placed.target);
      if (reads_atom(literal) || placed.kind == StepKind::kUnpack) {
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
    const auto order = order_literals(body_of(aggregate, statistics_), std::nullopt);
    if (!order.is_ok()) return;
    std::set<VariableId> needed;
    if (aggregate.function != AggregateFunction::kCount)
      collect_variables(aggregate.target, needed);
    // Counting is over combinations of body tuples, so inner columns matter even if nobody reads
    // them; ignored columns are walked nevertheless by scans and searches.
    const bool carries = plan.carries;
    const VariableId carried = plan.carried;
    step.counted = counted_in(aggregate, order.value());
    plan.carries = step.counted.has_value();
    plan.carried = step.counted.value_or(carried);
    step.aggregate_steps = write_steps(order.value(), aggregate.body, needed, plan);
    for (Step& inner : step.aggregate_steps)
      if (inner.kind == StepKind::kExists && inner.prefix_length < arity(inner.relation) &&
          inner.columns.back().role != ColumnRole::kCarry)
        inner.kind = inner.prefix_length == 0 ? StepKind::kScan : StepKind::kSearch;
    plan.carries = carries;
    plan.carried = carried;
  }

  // The variable of which whole sets are counted, where indices happen to have them.
  std::optional<VariableId> counted_in(const Aggregate& aggregate,
                                       const std::vector<OrderedLiteral>& order) const {
    if (!may_count_sets_) return {};
    const auto candidate = find_counted_sets(aggregate, *members_, order);
    if (!candidate || !are_filters_served(*candidate, aggregate.body, order)) return {};
    const OrderedLiteral& source = order[candidate->bound_at];
    const RelationId relation = aggregate.body[source.literal].atom.relation;
    const auto& index =
        relations_[relation].indices[index_for(relation, source, candidate->literal_column)];
    if (index.order.back() != candidate->literal_column) return {};
    return candidate->variable;
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
    step.index = index_for(relation, placed, carried_column);
    step.prefix_length = static_cast<std::uint32_t>(placed.bound.size());
    const bool filters = carried_column && std::binary_search(placed.bound.begin(),
                                                              placed.bound.end(), *carried_column);
    if (filters) {
      step.index = filter_index(relation, *carried_column, placed.bound).value_or(step.index);
      --step.prefix_length;
      // The index must be dealt by columns that the search binds.
      if (step.prefix_length > 0)
        add_searched_length(relations_[relation].indices[step.index], step.prefix_length);
    }
    const std::vector<std::uint32_t> order =
        pivot_scan ? pivot_order(relation) : relations_[relation].indices[step.index].order;

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
      step.bounds_next = step.kind != StepKind::kExists &&
                         bounds_next(relation, placed, relations_[relation].indices[step.index]);
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
  const std::vector<RelationStatistics>& statistics_;
  const PivotColumns& pivot_column_;
  std::vector<RelationPlan>& relations_;
  const Stratum* changing_;
  const Stratum* members_ = nullptr;  // the stratum of the rule that is being written
  bool reads_growing_in_order_ = false;
  bool may_count_sets_ = false;
  DeltaLayout layout_ = DeltaLayout::kIndex;  // of the rule that is being written
};

}  // namespace

RulePlan write_rule(const RuleDraft& draft, const PlanChoices& choices) {
  return StepWriter(choices).write(draft);
}

}  // namespace stratalog::datalog
