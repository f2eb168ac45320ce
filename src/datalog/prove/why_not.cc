// SPDX-License-Identifier: Apache-2.0
// why_not: for each rule of the goal's relation, the longest part of its body that some choice of
// values satisfies, in the order in which it is written (a test that needs a value waits for it).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "datalog/plan/literal_order.h"
#include "datalog/prove/prove.h"
#include "datalog/prove/stored_query.h"
#include "datalog/prove/tuple_text.h"
#include "datalog/relation_storage.h"

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
      if (const auto record = record_equation(literal); record && bound.contains(record->variable))
        return true;
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
  // Records of the goal are taken apart before anything else.
  for (std::uint32_t l = open.written; l < used.size(); ++l) {
    if (!record_equation(open.rule.body[l]) || !is_ready(open.rule.body[l], bound)) continue;
    used[l] = true;
    order.push_back(l);
    collect_variables(open.rule.body[l], bound);
  }
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

// A choice of values that satisfies the first literals of a body.
struct Choice {
  std::vector<std::string> satisfied;
  std::string next;  // the literal after them, with the values of the choice
};

// The first choice that query `which` finds for the goal, if there is one. `next` is a literal of
// the query's rule.
Result<std::optional<Choice>> find_first(StoredQuery& search, const Program& program,
                                         std::size_t which, std::span<const Cell> goal,
                                         std::optional<std::uint32_t> next) {
  const Query& query = search.query().queries[which];
  const OpenRule& open = search.query().rules[query.open_rule];
  const TupleText text(program, search.values());
  std::optional<Choice> found;
  const Status status = search.answer(which, goal, 1, [&](const Batch& batch) -> Status {
    if (batch.rows == 0) return {};
    Bindings bindings(open.rule.variables.size());
    for (VariableId v = 0; v < bindings.size() && v < batch.columns.size(); ++v)
      if (!batch.columns[v].empty()) bindings[v] = batch.columns[v][0];
    found.emplace();
    for (const std::uint32_t l : query.literals)
      found->satisfied.push_back(text.literal(open.rule, open.rule.body[l], bindings));
    if (next) found->next = text.literal(open.rule, open.rule.body[*next], bindings);
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
  for (std::size_t k = 0; k <= order.size(); ++k) {
    const auto next = k < order.size() ? std::optional(order[k]) : std::nullopt;
    STRATALOG_ASSIGN_OR_RETURN(auto choice,
                               find_first(search, program, first_query + k, goal, next));
    if (!choice) {
      failed.head_fits = k > 0;
      break;
    }
    failed.satisfied = std::move(choice->satisfied);
    failed.fails = std::move(choice->next);
  }
  return failed;
}

// What besides rules decides over the tuples of a relation.
std::string note_on(const StoredQuery& search, const Program& program, RelationId id,
                    std::span<const Cell> tuple, const WhyNot& answer) {
  const Relation& relation = program.relations[id];
  if (is_equivalence(relation)) {
    for (const Cell cell : tuple.first(2))
      if (search.class_of(id, cell) == nullptr)
        return fmt::format("no pair of {} holds {}", relation.name,
                           TupleText(program, search.values()).value_of(id, cell));
    return fmt::format(
        "{} is an equivalence relation, and no chain of its pairs connects the two elements",
        relation.name);
  }
  const bool some_rule_holds =
      std::any_of(answer.rules.begin(), answer.rules.end(),
                  [](const FailedRule& rule) { return rule.head_fits && rule.fails.empty(); });
  if (!some_rule_holds) return "";
  if (!relation.choice_keys.empty())
    return fmt::format("another tuple was chosen for a key of {}", relation.name);
  if (shrinks(relation))
    return fmt::format("another tuple of {} subsumes it, or the run had not come to it",
                       relation.name);
  if (std::any_of(program.relations.begin(), program.relations.end(),
                  [](const Relation& each) { return each.size_limit.has_value(); }))
    return "the run had not come to it, or .limitsize ended the recursion before";
  return "the run had not come to it";
}

}  // namespace

Result<WhyNot> why_not(Store& store, const StoredState& stored, const std::string& goal,
                       const ProveOptions& options) {
  STRATALOG_ASSIGN_OR_RETURN(const StoredGoal parsed,
                             parse_goal(stored, goal, options.program_name));
  const Program& program = parsed.program;
  QueryProgram query = QueryProgram::over(program, EquivalenceGoal::kPair);
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<std::size_t> first_query;
  for (std::uint32_t r = 0; r < program.rules.size(); ++r) {
    if (!is_proof_rule(program.rules[r]) || program.rules[r].head != parsed.relation) continue;
    query.rules.push_back(open_rule(program, r, Wildcards::kKeep));
    orders.push_back(reading_order(query.rules.back()));
    first_query.push_back(query.queries.size());
    for (std::size_t k = 0; k <= orders.back().size(); ++k)
      query.add_query(
          static_cast<std::uint32_t>(query.rules.size() - 1),
          {orders.back().begin(), orders.back().begin() + static_cast<std::ptrdiff_t>(k)});
  }
  STRATALOG_ASSIGN_OR_RETURN(
      const auto search,
      StoredQuery::open(store, stored, program, std::move(query), options.externals));
  STRATALOG_ASSIGN_OR_RETURN(const std::vector<Cell> tuple,
                             search->load_for(parsed, Reach::kBodies));
  WhyNot answer;
  const Relation& relation = program.relations[parsed.relation];
  answer.tuple = TupleText(program, search->values()).tuple(parsed.relation, tuple);
  if (search->contains(parsed.relation, tuple))
    return Status::already_exists(
        fmt::format("{} is in {}; `why` shows how it is derived", answer.tuple, stored.generation));
  answer.is_input = is_read_from_files(relation);
  for (std::uint32_t r = 0; r < orders.size(); ++r) {
    STRATALOG_ASSIGN_OR_RETURN(FailedRule failed,
                               judge(*search, program, r, orders[r], first_query[r], tuple));
    answer.rules.push_back(std::move(failed));
  }
  answer.note = note_on(*search, program, parsed.relation, tuple, answer);
  return answer;
}

}  // namespace stratalog::datalog
