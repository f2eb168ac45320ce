// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/query_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "datalog/counted_passes.h"
#include "datalog/plan/literal_order.h"
#include "datalog/prove/written_body.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

VariableId fresh(Rule& rule, ValueKind kind) {
  rule.variables.push_back({.name = fmt::format("_{}", rule.variables.size()), .kind = kind});
  return static_cast<VariableId>(rule.variables.size() - 1);
}

Literal equation(Expression left, Expression right, const SourcePlace& place) {
  Literal result;
  result.kind = LiteralKind::kComparison;
  result.comparison = Comparison::kEqual;
  result.left = std::move(left);
  result.right = std::move(right);
  result.place = place;
  return result;
}

// Variables that the head has as they are, and that a goal gives a value.
std::set<VariableId> head_variables(const Rule& rule) {
  std::set<VariableId> variables;
  for (const Expression& e : rule.head_arguments)
    if (e.kind == ExpressionKind::kVariable) variables.insert(e.variable);
  return variables;
}

void set_result(Literal& literal, VariableId variable) {
  if (literal.kind == LiteralKind::kAggregate) {
    auto aggregate = std::make_shared<Aggregate>(*literal.aggregate);
    aggregate->result = variable;
    literal.aggregate = std::move(aggregate);
  } else {
    auto range = std::make_shared<Range>(*literal.range);
    range->variable = variable;
    literal.range = std::move(range);
  }
}

// An aggregate or a range cannot have a result that is known beforehand.
void free_results(Rule& rule) {
  const std::set<VariableId> known = head_variables(rule);
  for (std::size_t l = 0; l < rule.body.size(); ++l) {
    const auto result = result_of(rule.body[l]);
    if (!result || !known.contains(*result)) continue;
    const ValueKind kind = rule.variables[*result].kind;
    const VariableId own = fresh(rule, kind);
    set_result(rule.body[l], own);
    const SourcePlace place = rule.body[l].place;
    ++l;
    rule.body.insert(
        rule.body.begin() + static_cast<std::ptrdiff_t>(l),
        equation(variable_expression(*result, kind), variable_expression(own, kind), place));
  }
}

void name_wildcards(const Program& program, Rule& rule) {
  for (Literal& literal : rule.body) {
    if (literal.kind != LiteralKind::kAtom) continue;
    const auto& attributes = program.relations[literal.atom.relation].attributes;
    for (std::size_t c = 0; c < literal.atom.arguments.size(); ++c) {
      Argument& a = literal.atom.arguments[c];
      if (a.kind != ArgumentKind::kWildcard) continue;
      a.kind = ArgumentKind::kVariable;
      a.variable = fresh(rule, attributes[c].kind);
    }
  }
}

// A variable that equals `e`. Records inside get variables for their fields, because the planner
// takes only those apart.
Expression name_expression(Rule& rule, Expression e) {
  if (e.kind == ExpressionKind::kFunctor && e.functor == Functor::kPack)
    for (Expression& field : e.arguments)
      if (field.kind == ExpressionKind::kFunctor) field = name_expression(rule, std::move(field));
  Expression named = variable_expression(fresh(rule, e.value_kind), e.value_kind);
  rule.body.push_back(equation(named, std::move(e), rule.place));
  return named;
}

// The variables that a query hands out: those of the goal and of its literals.
std::set<VariableId> variables_of(const OpenRule& open, std::span<const std::uint32_t> literals) {
  std::set<VariableId> variables;
  for (const Argument& a : open.goal)
    if (a.kind == ArgumentKind::kVariable) variables.insert(a.variable);
  for (const std::uint32_t l : literals) collect_variables(open.rule.body[l], variables);
  return variables;
}

// Whether anything became wider.
bool widen(const Program& program, Demand& demand, RelationId relation, ColumnDemand asked) {
  if (is_equivalence(program.relations[relation])) asked.assign(asked.size(), std::nullopt);
  std::optional<ColumnDemand>& known = demand[relation];
  if (!known) {
    known = asked;
    return true;
  }
  bool changed = false;
  for (std::size_t c = 0; c < asked.size(); ++c) {
    if (!(*known)[c] || (*known)[c] == asked[c]) continue;
    (*known)[c].reset();
    changed = true;
  }
  return changed;
}

bool widen_aggregate(const Program& program, const Aggregate& aggregate, Demand& demand) {
  bool changed = false;
  for (const Literal& inner : aggregate.body) {
    if (reads_atom(inner))
      changed |=
          widen(program, demand, inner.atom.relation, ColumnDemand(inner.atom.arguments.size()));
    if (inner.kind == LiteralKind::kAggregate)
      changed |= widen_aggregate(program, *inner.aggregate, demand);
  }
  return changed;
}

// Takes what the body of one rule asks for into `demand`, given what is asked of its head.
bool widen_by_rule(const Program& program, const OpenRule& open, const ColumnDemand& head,
                   Demand& demand, const std::function<Cell(const Expression&)>& cell_of) {
  std::vector<std::optional<Cell>> value(open.rule.variables.size());
  for (std::size_t c = 0; c < head.size(); ++c)
    if (open.goal[c].kind == ArgumentKind::kVariable && head[c])
      value[open.goal[c].variable] = head[c];
  bool changed = false;
  for (const Literal& literal : open.rule.body) {
    if (literal.kind == LiteralKind::kAggregate)
      changed |= widen_aggregate(program, *literal.aggregate, demand);
    if (literal.kind != LiteralKind::kAtom && literal.kind != LiteralKind::kNegatedAtom) continue;
    ColumnDemand asked;
    for (const Argument& a : literal.atom.arguments) {
      asked.emplace_back();
      if (a.kind == ArgumentKind::kVariable) asked.back() = value[a.variable];
      if (a.kind == ArgumentKind::kConstant) asked.back() = cell_of(a.constant);
    }
    changed |= widen(program, demand, literal.atom.relation, std::move(asked));
  }
  return changed;
}

}  // namespace

OpenRule open_rule(const Program& program, std::uint32_t number, Wildcards wildcards) {
  OpenRule open;
  open.number = number;
  open.rule = program.rules[number];
  open.rule.join_orders.clear();  // they speak of the body as it is
  free_results(open.rule);
  if (wildcards == Wildcards::kName) name_wildcards(program, open.rule);
  open.written = static_cast<std::uint32_t>(open.rule.body.size());
  for (const Expression& e : program.rules[number].head_arguments) {
    Argument argument;
    if (e.kind == ExpressionKind::kConstant) {
      argument.kind = ArgumentKind::kConstant;
      argument.constant = e;
    } else {
      argument.kind = ArgumentKind::kVariable;
      argument.variable = e.variable;
    }
    if (e.kind == ExpressionKind::kFunctor) {
      const Expression named = name_expression(open.rule, e);
      argument.variable = named.variable;
      open.rule.head_arguments[open.goal.size()] = named;
      open.columns.resize(open.rule.body.size() - open.written,
                          static_cast<std::uint32_t>(open.goal.size()));
    }
    open.goal.push_back(std::move(argument));
  }
  return open;
}

QueryProgram QueryProgram::over(const Program& original, EquivalenceGoal equivalence_goal) {
  QueryProgram query;
  const auto count = static_cast<RelationId>(original.relations.size());
  query.program.relations = original.relations;
  query.program.structures = original.structures;
  query.program.shapes = original.shapes;
  query.program.external_functors = original.external_functors;
  for (Relation& relation : query.program.relations) {
    relation.io.clear();
    relation.choice_keys.clear();
    relation.size_limit.reset();
  }
  for (RelationId r = 0; r < count; ++r) {
    Relation goals = query.program.relations[r];
    goals.name = "goal of " + goals.name;
    if (is_equivalence(goals) && equivalence_goal == EquivalenceGoal::kElement)
      goals.attributes.resize(1);
    goals.qualifiers.clear();
    query.goals.push_back(static_cast<RelationId>(query.program.relations.size()));
    query.program.relations.push_back(std::move(goals));
  }
  for (RelationId r = 0; r < 2 * count; ++r)
    query.program.strata.push_back(
        {.relations = {r}, .rules = {}, .subsumptions = {}, .is_recursive = false});
  return query;
}

void QueryProgram::add_query(std::uint32_t which, std::vector<std::uint32_t> literals) {
  const OpenRule& open = rules[which];
  Rule rule = open.rule;
  rule.body.clear();
  Literal goal;
  goal.kind = LiteralKind::kAtom;
  goal.atom = {.relation = goals[open.rule.head], .arguments = open.goal, .place = rule.place};
  goal.atom.arguments.resize(program.relations[goal.atom.relation].attributes.size());
  goal.place = rule.place;
  rule.body.push_back(std::move(goal));
  for (const std::uint32_t l : literals) rule.body.push_back(open.rule.body[l]);
  rule.head_arguments.clear();
  Relation answers;
  answers.name = fmt::format("answers {}", queries.size());
  for (const VariableId v : variables_of(open, literals)) {
    rule.head_arguments.push_back(variable_expression(v, rule.variables[v].kind));
    answers.attributes.push_back(
        {.name = rule.variables[v].name, .type_name = "", .kind = rule.variables[v].kind});
  }
  const auto relation = static_cast<RelationId>(program.relations.size());
  rule.head = relation;
  program.relations.push_back(std::move(answers));
  program.strata.push_back({.relations = {relation},
                            .rules = {static_cast<std::uint32_t>(program.rules.size())},
                            .subsumptions = {},
                            .is_recursive = false});
  program.rules.push_back(std::move(rule));
  queries.push_back({.open_rule = which,
                     .stratum = static_cast<std::uint32_t>(program.strata.size() - 1),
                     .literals = std::move(literals)});
}

Demand demand_of(const QueryProgram& query, RelationId relation, std::span<const Cell> tuple,
                 Reach reach, const std::function<Cell(const Expression&)>& cell_of) {
  Demand demand(query.program.relations.size());
  const ColumnDemand goal(tuple.begin(), tuple.end());
  widen(query.program, demand, relation, goal);
  for (bool changed = true; changed;) {
    changed = false;
    for (const OpenRule& open : query.rules) {
      const RelationId head = open.rule.head;
      if (!demand[head] || (reach == Reach::kBodies && head != relation)) continue;
      const ColumnDemand asked = reach == Reach::kBodies ? goal : *demand[head];
      changed |= widen_by_rule(query.program, open, asked, demand, cell_of);
    }
  }
  return demand;
}

const Rule* find_rule_of_passes(const QueryProgram& query, const Demand& demand) {
  for (const OpenRule& open : query.rules) {
    if (!demand[open.rule.head]) continue;
    const bool counts = std::any_of(open.rule.body.begin(), open.rule.body.end(),
                                    [](const Literal& l) { return counts_passes(l); });
    if (counts) return &open.rule;
  }
  return nullptr;
}

}  // namespace stratalog::datalog
