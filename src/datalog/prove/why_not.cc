// SPDX-License-Identifier: Apache-2.0
// why_not: for each rule of the goal's relation, the longest part of its body that some choice of
// values satisfies, in the order in which it is written (a test that needs a value waits for it).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "datalog/plan/literal_order.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"

namespace stratalog::datalog {
namespace {

bool is_bound(const Expression& e, const std::set<VariableId>& bound) {
  std::set<VariableId> variables;
  collect_variables(e, variables);
  return std::includes(bound.begin(), bound.end(), variables.begin(), variables.end());
}

bool gives(const Expression& variable, const Expression& value, const std::set<VariableId>& bound) {
  return variable.kind == ExpressionKind::kVariable && is_bound(value, bound);
}

// Whether a literal can be decided once `bound` have values.
bool is_ready(const Literal& literal, const std::set<VariableId>& bound) {
  std::set<VariableId> read;
  switch (literal.kind) {
    case LiteralKind::kAtom:
      return true;
    case LiteralKind::kNegatedAtom:
      collect_variables(literal, read);
      return std::includes(bound.begin(), bound.end(), read.begin(), read.end());
    case LiteralKind::kComparison:
      if (is_bound(literal.left, bound) && is_bound(literal.right, bound)) return true;
      return literal.comparison == Comparison::kEqual &&
             (gives(literal.left, literal.right, bound) ||
              gives(literal.right, literal.left, bound));
    case LiteralKind::kAggregate:
      return std::all_of(literal.aggregate->outer.begin(), literal.aggregate->outer.end(),
                         [&](VariableId v) { return bound.contains(v); });
    case LiteralKind::kRange:
      return is_bound(literal.range->from, bound) && is_bound(literal.range->to, bound) &&
             (!literal.range->has_step || is_bound(literal.range->step, bound));
  }
  return false;
}

// The body in the order in which a reader would check it.
std::vector<std::uint32_t> reading_order(const OpenRule& open) {
  std::set<VariableId> bound;
  for (const Argument& a : open.goal)
    if (a.kind == ArgumentKind::kVariable) bound.insert(a.variable);
  std::vector<std::uint32_t> order;
  std::vector<bool> used(open.rule.body.size(), false);
  for (bool found = true; found;) {
    found = false;
    for (std::uint32_t l = 0; l < used.size() && !found; ++l) {
      if (used[l] || !is_ready(open.rule.body[l], bound)) continue;
      used[l] = found = true;
      order.push_back(l);
      collect_variables(open.rule.body[l], bound);
    }
  }
  return order;
}

// Whether the query has a binding for the goal; the first one, as text by literal.
Result<bool> find_first(StoredQuery& search, const Program& program, std::size_t which,
                        std::span<const Cell> goal, std::vector<std::string>& satisfied) {
  const Query& query = search.query().queries[which];
  const OpenRule& open = search.query().rules[query.open_rule];
  bool found = false;
  const Status status = search.answer(which, goal, 1, [&](const Batch& batch) -> Status {
    if (batch.rows == 0) return {};
    Bindings bindings(open.rule.variables.size());
    for (VariableId v = 0; v < bindings.size() && v < batch.columns.size(); ++v)
      if (!batch.columns[v].empty()) bindings[v] = batch.columns[v][0];
    satisfied.clear();
    for (const std::uint32_t l : query.literals)
      satisfied.push_back(
          literal_text(search.values(), program, open.rule, open.rule.body[l], bindings));
    found = true;
    return Status::cancelled("one is enough");
  });
  if (!found && !status.is_ok()) return status;
  return found;
}

Result<FailedRule> judge(StoredQuery& search, const Program& program, std::uint32_t which,
                         std::span<const std::uint32_t> order, std::size_t first_query,
                         std::span<const Cell> goal) {
  const OpenRule& open = search.query().rules[which];
  FailedRule failed;
  failed.rule = {
      .text = open.rule.text, .file = open.rule.place.file, .line = open.rule.place.line};
  // Query first_query + k has the first k literals.
  std::size_t longest = 0;
  for (std::size_t k = 0; k <= order.size(); ++k) {
    std::vector<std::string> satisfied;
    STRATALOG_ASSIGN_OR_RETURN(const bool fits,
                               find_first(search, program, first_query + k, goal, satisfied));
    if (!fits && k == 0) {
      failed.head_fits = false;
      return failed;
    }
    if (!fits) break;
    longest = k;
    failed.satisfied = std::move(satisfied);
  }
  if (longest == order.size())
    return Status::not_supported(fmt::format(
        "all of `{}` holds, and yet the tuple is not there: the run had not come to it, or a rule "
        "that chooses, limits or replaces tuples kept it out",
        open.rule.text));
  Bindings bindings(open.rule.variables.size());
  for (std::size_t c = 0; c < open.goal.size(); ++c)
    if (open.goal[c].kind == ArgumentKind::kVariable) bindings[open.goal[c].variable] = goal[c];
  failed.fails =
      literal_text(search.values(), program, open.rule, open.rule.body[order[longest]], bindings);
  return failed;
}

}  // namespace

Result<WhyNot> why_not(Store& store, const StoredState& stored, const std::string& goal,
                       const ProveOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredGoal parsed,
                             parse_goal(stored, goal, options.program_name));
  const Program& program = parsed.program;
  QueryProgram query = QueryProgram::over(program);
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<std::size_t> first_query;
  for (std::uint32_t r = 0; r < program.rules.size(); ++r) {
    if (program.rules[r].body.empty() || program.rules[r].head != parsed.relation) continue;
    query.rules.push_back(open_rule(program, r, Wildcards::kKeep));
    orders.push_back(reading_order(query.rules.back()));
    first_query.push_back(query.queries.size());
    for (std::size_t k = 0; k <= orders.back().size(); ++k)
      query.add_query(
          static_cast<std::uint32_t>(query.rules.size() - 1),
          {orders.back().begin(), orders.back().begin() + static_cast<std::ptrdiff_t>(k)});
  }
  STRATALOG_ASSIGN_OR_RETURN(const auto search,
                             StoredQuery::open(store, stored, program, std::move(query)));
  std::vector<Cell> tuple;
  for (const Expression& e : parsed.arguments) {
    STRATALOG_ASSIGN_OR_RETURN(const Cell cell, search->cell_of(e));
    tuple.push_back(cell);
  }
  const auto cell_of = [&](const Expression& e) {
    const auto cell = search->cell_of(e);
    return cell.is_ok() ? cell.value() : 0;
  };
  STRATALOG_RETURN_IF_ERROR(
      search->load(demand_of(search->query(), parsed.relation, tuple, Reach::kBodies, cell_of)));
  WhyNot answer;
  const Relation& relation = program.relations[parsed.relation];
  answer.tuple = tuple_text(search->values(), relation, tuple);
  if (search->contains(parsed.relation, tuple))
    return Status::already_exists(
        fmt::format("{} is in {}; `why` shows how it is derived", answer.tuple, stored.generation));
  answer.is_input = std::any_of(relation.io.begin(), relation.io.end(), [](const IoDirective& io) {
    return io.action == IoAction::kInput;
  });
  for (std::uint32_t r = 0; r < orders.size(); ++r) {
    STRATALOG_ASSIGN_OR_RETURN(FailedRule failed,
                               judge(*search, program, r, orders[r], first_query[r], tuple));
    answer.rules.push_back(std::move(failed));
  }
  return answer;
}

}  // namespace stratalog::datalog
