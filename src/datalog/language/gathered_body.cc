// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/gathered_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "datalog/language/variable_classes.h"
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

// `q = p + 1`.
bool computes_link(const Literal& literal) {
  return literal.kind == LiteralKind::kComparison && literal.comparison == Comparison::kEqual &&
         (literal.left.kind == ExpressionKind::kFunctor ||
          literal.right.kind == ExpressionKind::kFunctor);
}

bool is_used_once(const Atom& atom, VariableId variable) {
  return std::count_if(atom.arguments.begin(), atom.arguments.end(), [&](const Argument& a) {
           return a.kind == ArgumentKind::kVariable && a.variable == variable;
         }) == 1;
}

}  // namespace

GatheredBody::GatheredBody(const Rule& rule, const Literal& literal, const IsFinished& is_finished)
    : rule_(rule), literal_(literal), aggregate_(*literal.aggregate) {
  const VariableIds inner = variables_of_body(aggregate_.body);
  for (const VariableId v : aggregate_.outer)
    if (inner.contains(v)) outer_.insert(v);
  for (const Literal& each : rule.body)
    if (each.kind == LiteralKind::kAtom && is_finished(each.atom.relation) && meets_outer(each))
      restricting_.push_back(each);
  bound_ = variables_of_body(restricting_);
  for (const Literal& each : rule.body)
    if (each.kind == LiteralKind::kComparison && may_be_asked(each) &&
        is_subset(variables_of(each), bound_))
      restricting_.push_back(each);
}

bool GatheredBody::is_worth_it(const Projections& projections, const IsFinished& is_finished) {
  // In another order, what a library folds may be another value.
  if (aggregate_.function == AggregateFunction::kFold) return false;
  copy_ = find_copy(rule_, literal_, projections, is_finished);
  if (copy_) restricting_ = copy_->others;
  return copy_ || (is_simple_join() && is_subset(outer_, bound_) && joins_what_is_apart());
}

Rule GatheredBody::gather(RelationId relation, Declarations& declarations) const {
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

Literal GatheredBody::read(RelationId relation) const {
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

std::optional<GatheredBody::InRule> GatheredBody::in_rule() const {
  if (!copy_ || !copy_->is_whole) return {};
  InRule found{.literals = copy_->literals, .columns = {}, .outer = outer_};
  for (const VariableId v : columns()) found.columns.push_back(copy_->stands_for.at(v));
  found.is_renamed =
      std::all_of(copy_->stands_for.begin(), copy_->stands_for.end(),
                  [](const auto& stands_for) { return stands_for.second.has_value(); });
  return found;
}

bool GatheredBody::meets_outer(const Literal& literal) const {
  const VariableIds variables = variables_of(literal);
  return std::any_of(outer_.begin(), outer_.end(),
                     [&](VariableId v) { return variables.contains(v); });
}

// Of literals that each say something of the variables that the aggregate keeps to itself.
bool GatheredBody::is_simple_join() const {
  return std::all_of(aggregate_.body.begin(), aggregate_.body.end(), [&](const Literal& each) {
    return may_be_asked(each) && !is_subset(variables_of(each), outer_);
  });
}

// The body ties outer variables through values of its own: where one atom has all of them, a look
// at it tells at once which bindings lead anywhere. Where the rule ties them, too, a binding leads
// to few others, save where the body computes what it looks for: that cannot begin with what is
// rare.
bool GatheredBody::joins_what_is_apart() const {
  VariableClasses outside = tied_classes(rule_.body, rule_.variables.size(), &literal_);
  VariableClasses inside = tied_classes(aggregate_.body, rule_.variables.size(), nullptr);
  const bool is_computed =
      std::any_of(aggregate_.body.begin(), aggregate_.body.end(), computes_link);
  const auto parts = [&](const VariableIds& variables) {
    VariableIds found;
    for (const VariableId v : variables)
      if (outer_.contains(v)) found.insert(is_computed ? v : outside.find(v));
    return found.size();
  };
  VariableIds all;
  for (const Literal& each : aggregate_.body)
    if (each.kind == LiteralKind::kAtom) collect_variables(each, all);
  const auto tells_at_once = [&](const Literal& each) {
    if (each.kind != LiteralKind::kAtom) return false;
    const std::size_t known = parts(variables_of(each));
    return is_computed ? known == outer_.size() : known > 1;
  };
  const auto is_elsewhere = [&](VariableId v) {
    return inside.find(v) != inside.find(*all.begin());
  };
  return parts(all) > 1 && is_subset(outer_, all) &&
         std::none_of(aggregate_.body.begin(), aggregate_.body.end(), tells_at_once) &&
         std::none_of(all.begin(), all.end(), is_elsewhere);
}

// Variables of atoms that nothing else asks for would only multiply what is found.
void GatheredBody::forget_unshared(std::vector<Literal>& body) const {
  std::map<VariableId, std::size_t> uses;
  for (const Literal& each : body)
    for (const VariableId v : variables_of(each)) ++uses[v];
  for (Literal& each : body)
    for (Argument& argument : each.atom.arguments)
      if (argument.kind == ArgumentKind::kVariable && !outer_.contains(argument.variable) &&
          uses[argument.variable] == 1 && is_used_once(each.atom, argument.variable))
        argument = {};
}

// Outer variables first, by which it is searched. All combinations count, but the least and the
// greatest value are the same however often they are met.
std::vector<VariableId> GatheredBody::columns() const {
  const bool counts = aggregate_.function != AggregateFunction::kMin &&
                      aggregate_.function != AggregateFunction::kMax;
  VariableIds own = counts ? without_computed(variables_of_body(aggregate_.body)) : VariableIds();
  if (aggregate_.function != AggregateFunction::kCount) collect_variables(aggregate_.target, own);
  std::vector<VariableId> columns(outer_.begin(), outer_.end());
  std::copy_if(own.begin(), own.end(), std::back_inserter(columns),
               [&](VariableId v) { return !outer_.contains(v); });
  return columns;
}

// Without what others have one value for. (An equation has two for a float that is 0.)
GatheredBody::VariableIds GatheredBody::without_computed(VariableIds variables) const {
  VariableIds read;
  for (const Literal& each : aggregate_.body) {
    if (each.kind != LiteralKind::kComparison || each.comparison != Comparison::kEqual) continue;
    for (const auto& [to, from] :
         {std::pair(&each.left, &each.right), std::pair(&each.right, &each.left)}) {
      VariableIds used;
      collect_variables(*from, used);
      if (to->kind != ExpressionKind::kVariable || to->value_kind == ValueKind::kFloat ||
          read.contains(to->variable) || used.contains(to->variable) ||
          !is_subset(used, variables) || variables.erase(to->variable) == 0)
        continue;
      read.merge(used);
      break;
    }
  }
  return variables;
}

}  // namespace stratalog::datalog::language
