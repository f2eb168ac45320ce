// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/gathered_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "datalog/language/variable_classes.h"
#include "datalog/made_relations.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

using VariableIds = std::set<VariableId>;

VariableIds variables_of(const Literal& literal) {
  VariableIds variables;
  collect_variables(literal, variables);
  return variables;
}

bool is_subset(const VariableIds& some, const VariableIds& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

bool is_simple(const Expression& e) { return e.kind != ExpressionKind::kFunctor; }

// What cannot fail, whatever the values are.
bool is_simple(const Literal& literal) {
  if (literal.kind == LiteralKind::kComparison)
    return is_simple(literal.left) && is_simple(literal.right) &&
           !searches_text(literal.comparison);
  return reads_atom(literal);
}

// Whether bindings of one of its variables are few for each of another one: not of `x < y`.
bool ties(const Literal& literal) {
  switch (literal.kind) {
    case LiteralKind::kNegatedAtom:
      return false;
    case LiteralKind::kComparison:
      return literal.comparison == Comparison::kEqual;
    case LiteralKind::kAtom:
    case LiteralKind::kAggregate:
    case LiteralKind::kRange:
      return true;
  }
  return true;
}

// By literals of `body` other than `but`.
VariableClasses tied_classes(const std::vector<Literal>& body, std::size_t variables,
                             const Literal* but) {
  VariableClasses classes(variables);
  for (const Literal& literal : body)
    if (ties(literal) && &literal != but) classes.unite_all(variables_of(literal));
  return classes;
}

// Sums of floats depend on the order of their terms, and so do folds.
bool has_any_order(const Aggregate& aggregate) {
  switch (aggregate.function) {
    case AggregateFunction::kCount:
    case AggregateFunction::kMin:
    case AggregateFunction::kMax:
      return true;
    case AggregateFunction::kSum:
      return aggregate.result_kind != ValueKind::kFloat;
    case AggregateFunction::kMean:
    case AggregateFunction::kFold:
      return false;
  }
  return false;
}

// An aggregate of one rule, and the relation that its body becomes.
class GatheredBody {
 public:
  // `is_finished`: whether a relation is complete before the rule's head begins.
  template <typename IsFinished>
  GatheredBody(const Rule& rule, const Literal& literal, const IsFinished& is_finished)
      : rule_(rule), literal_(literal), aggregate_(*literal.aggregate) {
    const VariableIds inner = variables_of_body(aggregate_.body);
    for (const VariableId v : aggregate_.outer)
      if (inner.contains(v)) outer_.insert(v);
    for (const Literal& each : rule.body)
      if (each.kind == LiteralKind::kAtom && is_finished(each.atom.relation) && meets_outer(each))
        restricting_.push_back(each);
    bound_ = variables_of_body(restricting_);
    for (const Literal& each : rule.body)
      if (each.kind == LiteralKind::kComparison && is_simple(each) &&
          is_subset(variables_of(each), bound_))
        restricting_.push_back(each);
  }

  bool is_worth_it() {
    return has_any_order(aggregate_) && is_simple_join() && is_subset(outer_, bound_) &&
           joins_what_is_apart();
  }

  // The rule of the relation, whose columns are declared here.
  Rule gather(RelationId relation, Declarations& declarations) {
    Rule made;
    made.head = relation;
    made.place = literal_.place;
    made.variables = rule_.variables;
    made.body = restricting_;
    forget_unshared(made.body);
    made.body.insert(made.body.end(), aggregate_.body.begin(), aggregate_.body.end());
    for (const VariableId v : columns()) {
      made.head_arguments.push_back(variable_expression(v, rule_.variables[v].kind));
      std::vector<Attribute>& attributes = declarations.relations[relation].attributes;
      attributes.push_back({.name = fmt::format("x{}", attributes.size()),
                            .type_name = "",
                            .kind = rule_.variables[v].kind});
    }
    return made;
  }

  // The aggregate of the relation.
  Literal read(RelationId relation) const {
    auto aggregate = std::make_shared<Aggregate>(aggregate_);
    aggregate->body.clear();
    Literal& all = aggregate->body.emplace_back();
    all.place = all.atom.place = literal_.place;
    all.atom.relation = relation;
    for (const VariableId v : columns()) all.atom.arguments.push_back(variable_argument(v));
    Literal read = literal_;
    read.aggregate = std::move(aggregate);
    return read;
  }

 private:
  bool meets_outer(const Literal& literal) const {
    const VariableIds variables = variables_of(literal);
    return std::any_of(outer_.begin(), outer_.end(),
                       [&](VariableId v) { return variables.contains(v); });
  }

  // Of literals that each say something of the variables that the aggregate keeps to itself.
  bool is_simple_join() const {
    return std::all_of(aggregate_.body.begin(), aggregate_.body.end(), [&](const Literal& each) {
      return is_simple(each) && !is_subset(variables_of(each), outer_);
    });
  }

  // The body ties outer variables that the rule does not tie, through values of its own: where one
  // atom has both, a look at it tells at once which bindings lead anywhere.
  bool joins_what_is_apart() {
    VariableClasses outside = tied_classes(rule_.body, rule_.variables.size(), &literal_);
    VariableClasses inside = tied_classes(aggregate_.body, rule_.variables.size(), nullptr);
    const auto parts = [&](const VariableIds& variables) {
      VariableIds found;
      for (const VariableId v : variables)
        if (outer_.contains(v)) found.insert(outside.find(v));
      return found.size();
    };
    VariableIds all;
    for (const Literal& each : aggregate_.body) {
      if (each.kind != LiteralKind::kAtom) continue;
      const VariableIds variables = variables_of(each);
      if (parts(variables) > 1) return false;
      all.insert(variables.begin(), variables.end());
    }
    const auto is_elsewhere = [&](VariableId v) {
      return inside.find(v) != inside.find(*all.begin());
    };
    return parts(all) > 1 && is_subset(outer_, all) &&
           std::none_of(all.begin(), all.end(), is_elsewhere);
  }

  // Variables of atoms that nothing else asks for would only multiply what is found.
  void forget_unshared(std::vector<Literal>& body) const {
    std::map<VariableId, std::size_t> uses;
    for (const Literal& each : body)
      for (const VariableId v : variables_of(each)) ++uses[v];
    for (Literal& each : body)
      for (Argument& argument : each.atom.arguments)
        if (argument.kind == ArgumentKind::kVariable && !outer_.contains(argument.variable) &&
            uses[argument.variable] == 1 && is_used_once(each.atom, argument.variable))
          argument = {};
  }

  static bool is_used_once(const Atom& atom, VariableId variable) {
    return std::count_if(atom.arguments.begin(), atom.arguments.end(), [&](const Argument& a) {
             return a.kind == ArgumentKind::kVariable && a.variable == variable;
           }) == 1;
  }

  // Outer variables first, by which it is searched. All combinations count, but the least and the
  // greatest value are the same however often they are met.
  std::vector<VariableId> columns() const {
    const bool counts = aggregate_.function != AggregateFunction::kMin &&
                        aggregate_.function != AggregateFunction::kMax;
    VariableIds own = counts ? variables_of_body(aggregate_.body) : VariableIds();
    if (!counts) collect_variables(aggregate_.target, own);
    std::vector<VariableId> columns(outer_.begin(), outer_.end());
    std::copy_if(own.begin(), own.end(), std::back_inserter(columns),
                 [&](VariableId v) { return !outer_.contains(v); });
    return columns;
  }

  const Rule& rule_;
  const Literal& literal_;
  const Aggregate& aggregate_;
  VariableIds outer_;  // of the body
  std::vector<Literal> restricting_;  // what the rule says of them
  VariableIds bound_;  // by atoms of these
};

}  // namespace

bool gather_aggregate_bodies(const std::vector<Stratum>& strata, std::vector<Rule>& rules,
                             Declarations& declarations, std::vector<Dependency>& dependencies) {
  std::vector<std::size_t> stratum_of(declarations.relations.size(), 0);
  for (std::size_t s = 0; s < strata.size(); ++s)
    for (const RelationId relation : strata[s].relations) stratum_of[relation] = s;
  bool found = false;
  const std::size_t written = rules.size();
  for (std::size_t r = 0; r < written; ++r) {
    if (rules[r].role != RuleRole::kDerives) continue;
    const RelationId head = rules[r].head;
    const auto is_finished = [&](RelationId id) { return stratum_of[id] < stratum_of[head]; };
    for (std::size_t l = 0; l < rules[r].body.size(); ++l) {
      if (rules[r].body[l].kind != LiteralKind::kAggregate) continue;
      GatheredBody body(rules[r], rules[r].body[l], is_finished);
      if (!body.is_worth_it()) continue;
      const Span span = declarations.spans[head];
      const RelationId relation =
          add_made_relation(made_for(declarations.relations[head].name), span, declarations);
      Rule made = body.gather(relation, declarations);
      rules[r].body[l] = body.read(relation);
      for (const Literal& each : made.body)
        if (reads_atom(each))
          dependencies.push_back({relation, each.atom.relation,
                                  each.kind == LiteralKind::kAtom ? DependencyKind::kPositive
                                                                  : DependencyKind::kNegated,
                                  span});
      dependencies.push_back({head, relation, DependencyKind::kAggregated, span});
      rules.push_back(std::move(made));
      found = true;
    }
  }
  return found;
}

}  // namespace stratalog::datalog::language
