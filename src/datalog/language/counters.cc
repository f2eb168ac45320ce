// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

bool counts(const BoundTerm& term) {
  if (term.kind == BoundTermKind::kFunctor && term.functor == Functor::kCounter) return true;
  return std::any_of(term.arguments.begin(), term.arguments.end(), counts);
}

bool counts(const BoundLiteral& literal) {
  if (counts(literal.left) || counts(literal.right)) return true;
  if (literal.range && std::any_of(literal.range->bounds.begin(), literal.range->bounds.end(),
                                   [](const BoundTerm& term) { return counts(term); }))
    return true;
  if (!literal.aggregate) return false;
  return (literal.aggregate->target && counts(*literal.aggregate->target)) ||
         std::any_of(literal.aggregate->body.begin(), literal.aggregate->body.end(),
                     [](const BoundLiteral& inner) { return counts(inner); });
}

Expression number(std::uint64_t value) {
  Expression e;
  e.bits = value;
  return e;
}

// The first counter becomes the tuple's number, the next one that plus 1, and so on.
void replace_counters(Expression& e, VariableId first, std::uint32_t& seen) {
  for (Expression& argument : e.arguments) replace_counters(argument, first, seen);
  if (e.kind != ExpressionKind::kFunctor || e.functor != Functor::kCounter) return;
  Expression value = variable_expression(first, ValueKind::kNumber);
  if (seen > 0) {
    Expression sum;
    sum.kind = ExpressionKind::kFunctor;
    sum.functor = Functor::kAdd;
    sum.arguments = {std::move(value), number(seen)};
    value = std::move(sum);
  }
  ++seen;
  e = std::move(value);
}

}  // namespace

bool has_counter(const BoundRule& rule, DiagnosticSink& sink) {
  const auto literal = std::find_if(rule.body.begin(), rule.body.end(),
                                    [](const BoundLiteral& each) { return counts(each); });
  if (literal != rule.body.end())
    sink.error(literal->span, "not supported: `autoinc()` in a body").hint =
        "number the tuples in a rule of their own, `numbered(autoinc(), x) :- ...`";
  return std::any_of(rule.head_arguments.begin(), rule.head_arguments.end(),
                     [](const BoundTerm& term) { return counts(term); });
}

CounterRelations declare_counter_relations(const BoundRule& rule, Declarations& declarations) {
  const std::string name = declarations.relations[rule.head].name;
  CounterRelations relations;
  relations.gathered = add_made_relation(name, rule.head_span, declarations);
  relations.numbered = add_made_relation(name, rule.head_span, declarations);
  return relations;
}

Rule split_counters(Rule& rule, const CounterRelations& relations, Declarations& declarations) {
  Rule gather = rule;
  gather.head = relations.gathered;
  gather.head_arguments.clear();
  Relation& gathered = declarations.relations[relations.gathered];
  Literal read;
  read.atom.relation = relations.numbered;
  read.place = read.atom.place = rule.place;
  for (const VariableId v : variables_of_body(rule.body)) {
    gather.head_arguments.push_back(variable_expression(v, rule.variables[v].kind));
    gathered.attributes.push_back({.name = fmt::format("x{}", gathered.attributes.size()),
                                   .type_name = "",
                                   .kind = rule.variables[v].kind});
    read.atom.arguments.push_back(variable_argument(v));
  }
  const auto counter = static_cast<VariableId>(rule.variables.size());
  rule.variables.push_back({.name = "autoinc", .kind = ValueKind::kNumber});
  read.atom.arguments.push_back(variable_argument(counter));
  std::uint32_t counters = 0;
  for (Expression& e : rule.head_arguments) replace_counters(e, counter, counters);
  Relation& numbered = declarations.relations[relations.numbered];
  numbered.attributes = gathered.attributes;
  numbered.attributes.push_back({.name = "autoinc", .type_name = "", .kind = ValueKind::kNumber});
  numbered.numbering = Numbering{.source = relations.gathered, .step = counters};
  rule.body.clear();
  rule.body.push_back(std::move(read));
  return gather;
}

}  // namespace stratalog::datalog::language
