// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/body_copy.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "datalog/language/variable_classes.h"
#include "datalog/made_relations.h"
#include "datalog/partial_functors.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

using VariableIds = std::set<VariableId>;

// Bodies of many alike atoms have many places in a rule.
constexpr std::size_t kMostTrials = 4096;

VariableIds variables_in(const Literal& literal) {
  VariableIds variables;
  collect_variables(literal, variables);
  return variables;
}

bool is_among(const VariableIds& some, const VariableIds& all) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

bool meet(const VariableIds& a, const VariableIds& b) {
  return std::any_of(a.begin(), a.end(), [&](VariableId v) { return b.contains(v); });
}

// The same wherever and whenever it is asked.
bool is_constant_function(const Expression& e) {
  if (e.kind == ExpressionKind::kFunctor &&
      (e.functor == Functor::kIteration || e.functor == Functor::kCounter))
    return false;
  return std::all_of(e.arguments.begin(), e.arguments.end(), is_constant_function);
}

bool is_equation(const Literal& literal) {
  return literal.kind == LiteralKind::kComparison && literal.comparison == Comparison::kEqual;
}

bool ties_values(const Literal& literal) {
  return literal.kind == LiteralKind::kAtom || is_equation(literal);
}

bool is_record(const Expression& e) {
  return e.kind == ExpressionKind::kFunctor && e.functor == Functor::kPack;
}

// What some literals give values to: atoms, and equations of what they know.
VariableIds grounded_by(const std::vector<const Literal*>& literals) {
  VariableIds known;
  for (const Literal* literal : literals)
    if (literal->kind == LiteralKind::kAtom) collect_variables(*literal, known);
  for (bool is_new = true; is_new;) {
    const std::size_t before = known.size();
    for (const Literal* literal : literals) {
      if (!is_equation(*literal)) continue;
      for (const auto& [to, from] : {std::pair(&literal->left, &literal->right),
                                     std::pair(&literal->right, &literal->left)}) {
        VariableIds read;
        collect_variables(*from, read);
        if (is_among(read, known) && (to->kind == ExpressionKind::kVariable || is_record(*to)))
          collect_variables(*to, known);
      }
    }
    is_new = known.size() > before;
  }
  return known;
}

class BodySearch {
 public:
  BodySearch(const Rule& rule, const Literal& literal, const Projections& projections)
      : rule_(rule),
        literal_(literal),
        body_(literal.aggregate->body),
        projections_(projections),
        places_(body_.size()) {
    const VariableIds inner = variables_of_body(body_);
    for (const VariableId v : literal.aggregate->outer)
      if (inner.contains(v)) outer_.insert(v);
  }

  std::optional<BodyCopy> run() {
    const bool is_known_at_once = std::any_of(body_.begin(), body_.end(), [&](const Literal& each) {
      return each.kind == LiteralKind::kAtom && is_among(outer_, variables_in(each));
    });
    if (outer_.empty() || is_known_at_once || counts_one_set() || !is_connected() ||
        !std::all_of(body_.begin(), body_.end(), may_be_asked) || !place_from(0))
      return {};
    BodyCopy copy{.stands_for = stands_for_, .literals = {}, .is_whole = !says_less_, .others = {}};
    for (const std::optional<std::size_t>& place : places_) {
      copy.is_whole &= place.has_value();
      if (place) copy.literals.insert(*place);
    }
    return copy;
  }

  const VariableIds& outer() const { return outer_; }

 private:
  VariableIds own_variables(const Literal& literal) const {
    VariableIds own = variables_in(literal);
    std::erase_if(own, [&](VariableId v) { return outer_.contains(v); });
    return own;
  }

  // Counts of what some sets have in common need not be listed (find_counted_sets()).
  bool counts_one_set() const {
    return literal_.aggregate->function == AggregateFunction::kCount &&
           std::all_of(body_.begin(), body_.end(), [&](const Literal& each) {
             return reads_atom(each) && own_variables(each).size() == 1 &&
                    own_variables(each) == own_variables(body_.front());
           });
  }

  // What has no values of its own in common is counted by itself: together it would be a product.
  bool is_connected() const {
    VariableClasses classes(rule_.variables.size());
    VariableIds all;
    for (const Literal& each : body_) {
      const VariableIds own = own_variables(each);
      if (own.empty() && each.kind == LiteralKind::kAtom) return false;
      if (ties_values(each)) classes.unite_all(own);
      all.insert(own.begin(), own.end());
    }
    return std::all_of(all.begin(), all.end(),
                       [&](VariableId v) { return classes.find(v) == classes.find(*all.begin()); });
  }

  bool place_from(std::size_t at) {
    if (at == body_.size()) return covers_all();
    for (std::size_t l = 0; l < rule_.body.size() && trials_ < kMostTrials; ++l) {
      if (&rule_.body[l] == &literal_) continue;
      ++trials_;
      const auto before = std::pair(stands_for_, says_less_);
      places_[at] = l;
      if (is_alike(body_[at], rule_.body[l]) && place_from(at + 1)) return true;
      std::tie(stands_for_, says_less_) = before;
    }
    places_[at].reset();
    return place_from(at + 1);
  }

  // What the rule does not say only filters.
  bool covers_all() const {
    std::vector<const Literal*> placed;
    for (std::size_t i = 0; i < body_.size(); ++i)
      if (places_[i]) placed.push_back(&body_[i]);
    return is_among(variables_of_body(body_), grounded_by(placed));
  }

  bool is_alike(const Literal& inside, const Literal& outside) {
    if (inside.kind != outside.kind || inside.record_use != outside.record_use) return false;
    if (reads_atom(inside)) return is_alike(inside.atom, outside.atom);
    if (inside.kind != LiteralKind::kComparison || inside.comparison != outside.comparison)
      return false;
    const auto before = stands_for_;
    if (is_alike(inside.left, outside.left) && is_alike(inside.right, outside.right)) return true;
    stands_for_ = before;
    return is_equation(inside) && is_alike(inside.left, outside.right) &&
           is_alike(inside.right, outside.left);
  }

  bool is_alike(const Atom& inside, const Atom& outside) {
    const auto fits = [&](const Argument& in, const Argument& out) { return is_alike(in, out); };
    if (inside.relation == outside.relation)
      return std::equal(inside.arguments.begin(), inside.arguments.end(), outside.arguments.begin(),
                        outside.arguments.end(), fits);
    const auto projection = projections_.find(inside.relation);
    if (projection == projections_.end() || projection->second.of != outside.relation) return false;
    const std::vector<std::size_t>& columns = projection->second.columns;
    for (std::size_t i = 0; i < inside.arguments.size(); ++i)
      if (!fits(inside.arguments[i], outside.arguments[columns[i]])) return false;
    for (std::size_t c = 0; c < outside.arguments.size(); ++c)
      if (std::find(columns.begin(), columns.end(), c) == columns.end() &&
          !may_be_any(outside.arguments[c]))
        return false;
    return true;
  }

  // What `_` of the body is in the rule: `_`, or what nothing else in its body is.
  bool may_be_any(const Argument& outside) {
    if (outside.kind == ArgumentKind::kWildcard) return true;
    if (outside.kind != ArgumentKind::kVariable) return false;
    says_less_ = true;
    std::size_t uses = 0;
    for (const Literal& each : rule_.body) {
      if (!reads_atom(each)) uses += mentions(each, outside.variable) ? 1 : 0;
      for (const Argument& a : each.atom.arguments)
        uses += a.kind == ArgumentKind::kVariable && a.variable == outside.variable ? 1 : 0;
    }
    return uses == 1;
  }

  bool is_alike(const Argument& inside, const Argument& outside) {
    if (inside.kind == ArgumentKind::kWildcard) return may_be_any(outside);
    if (inside.kind == ArgumentKind::kVariable && outside.kind == ArgumentKind::kWildcard)
      return !outer_.contains(inside.variable) &&
             stands_for_.try_emplace(inside.variable, std::nullopt).second;
    if (inside.kind != outside.kind) return false;
    return inside.kind == ArgumentKind::kVariable ? may_stand_for(inside.variable, outside.variable)
                                                  : is_alike(inside.constant, outside.constant);
  }

  bool is_alike(const Expression& inside, const Expression& outside) {
    if (inside.kind != outside.kind || inside.value_kind != outside.value_kind) return false;
    switch (inside.kind) {
      case ExpressionKind::kVariable:
        return may_stand_for(inside.variable, outside.variable);
      case ExpressionKind::kConstant:
        return inside.bits == outside.bits && inside.text == outside.text;
      case ExpressionKind::kFunctor:
        break;
    }
    return inside.functor == outside.functor && inside.shape == outside.shape &&
           inside.text == outside.text &&
           std::equal(inside.arguments.begin(), inside.arguments.end(), outside.arguments.begin(),
                      outside.arguments.end(), [&](const Expression& in, const Expression& out) {
                        return is_alike(in, out);
                      });
  }

  bool may_stand_for(VariableId inside, VariableId outside) {
    if (outer_.contains(inside)) {
      if (inside != outside) return false;
    } else if (rule_.variables[inside].kind != rule_.variables[outside].kind) {
      return false;
    }
    const auto [entry, is_new] = stands_for_.try_emplace(inside, outside);
    return entry->second == outside &&
           (!is_new || std::none_of(stands_for_.begin(), stands_for_.end(), [&](const auto& other) {
             return other.first != inside && other.second == outside;
           }));
  }

  const Rule& rule_;
  const Literal& literal_;
  const std::vector<Literal>& body_;
  const Projections& projections_;
  VariableIds outer_;  // of the body
  std::vector<std::optional<std::size_t>> places_;  // of its literals in the rule
  std::map<VariableId, std::optional<VariableId>> stands_for_;
  bool says_less_ = false;  // somewhere the body has `_` and the rule a variable
  std::size_t trials_ = 0;
};

// Whether it asks nothing of what it reads.
bool takes_all(const Atom& atom) {
  VariableIds seen;
  return std::all_of(atom.arguments.begin(), atom.arguments.end(), [&](const Argument& a) {
    return a.kind == ArgumentKind::kWildcard ||
           (a.kind == ArgumentKind::kVariable && seen.insert(a.variable).second);
  });
}

std::optional<Projection> projection_of(const Rule& rule) {
  if (rule.body.size() != 1 || rule.body.front().kind != LiteralKind::kAtom) return {};
  const Atom& atom = rule.body.front().atom;
  if (!takes_all(atom)) return {};
  Projection projection{.of = atom.relation, .columns = {}};
  for (const Expression& e : rule.head_arguments) {
    const auto column =
        std::find_if(atom.arguments.begin(), atom.arguments.end(), [&](const Argument& a) {
          return e.kind == ExpressionKind::kVariable && a.kind == ArgumentKind::kVariable &&
                 a.variable == e.variable;
        });
    if (column == atom.arguments.end()) return {};
    projection.columns.push_back(static_cast<std::size_t>(column - atom.arguments.begin()));
  }
  return projection;
}

// A value gets a name that no atom asks for: that restricts nothing.
bool only_names(const Literal& literal, const Rule& rule) {
  const auto is_name = [&](const Expression& e) {
    return e.kind == ExpressionKind::kVariable &&
           std::none_of(rule.body.begin(), rule.body.end(), [&](const Literal& each) {
             return each.kind == LiteralKind::kAtom && mentions(each, e.variable);
           });
  };
  return is_equation(literal) && (is_name(literal.left) || is_name(literal.right));
}

// What a rule says besides a copy.
std::vector<const Literal*> rest_of(const Rule& rule, const Literal& aggregate,
                                    const BodyCopy& copy) {
  std::vector<const Literal*> rest;
  for (std::size_t l = 0; l < rule.body.size(); ++l)
    if (!copy.literals.contains(l) && &rule.body[l] != &aggregate &&
        rule.body[l].kind != LiteralKind::kAggregate)
      rest.push_back(&rule.body[l]);
  return rest;
}

// Whether a range or another aggregate gives one of the variables its values.
bool is_decided_by_results(const Rule& rule, const Literal& aggregate, const VariableIds& tied,
                           const VariableIds& own) {
  VariableIds results;
  for (const Literal& each : rule.body) {
    if (each.kind == LiteralKind::kRange) results.insert(each.range->variable);
    if (each.kind == LiteralKind::kAggregate && &each != &aggregate)
      results.insert(each.aggregate->result);
  }
  const auto decides = [&](const Expression& to, const Expression& from) {
    VariableIds read;
    collect_variables(from, read);
    return to.kind == ExpressionKind::kVariable &&
           (tied.contains(to.variable) || own.contains(to.variable)) && meet(read, results);
  };
  return meet(results, tied) || meet(results, own) ||
         std::any_of(rule.body.begin(), rule.body.end(), [&](const Literal& each) {
           return is_equation(each) &&
                  (decides(each.left, each.right) || decides(each.right, each.left));
         });
}

// Of that, what restricts the outer variables. Nothing if a relation that is made before cannot be
// restricted by it, or if it restricts the other variables of the copy.
std::optional<std::vector<Literal>> restricting(const Rule& rule, const Literal& aggregate,
                                                const VariableIds& outer, const BodyCopy& copy,
                                                const IsFinished& is_finished) {
  VariableIds own;
  for (const auto& [inside, outside] : copy.stands_for)
    if (outside && !outer.contains(inside)) own.insert(*outside);
  VariableIds tied = outer;
  std::vector<const Literal*> rest = rest_of(rule, aggregate, copy);
  std::vector<Literal> found;
  const auto is_restricting_atom = [&](const Literal* each) {
    return each->kind == LiteralKind::kAtom && meet(variables_in(*each), tied);
  };
  while (true) {
    const auto atom = std::find_if(rest.begin(), rest.end(), is_restricting_atom);
    if (atom == rest.end()) break;
    if (!is_finished((*atom)->atom.relation)) return {};
    tied.merge(variables_in(**atom));
    found.push_back(**atom);
    rest.erase(atom);
  }
  if (meet(tied, own) || is_decided_by_results(rule, aggregate, tied, own)) return {};
  for (const Literal* each : rest) {
    const VariableIds variables = variables_in(*each);
    const bool is_known = is_among(variables, tied);
    const bool gives_values = each->kind == LiteralKind::kRange || is_equation(*each);
    if ((meet(variables, own) || (meet(variables, tied) && !is_known && gives_values)) &&
        !only_names(*each, rule))
      return {};
    if (is_known && may_be_asked(*each) && (!reads_atom(*each) || is_finished(each->atom.relation)))
      found.push_back(*each);
  }
  return found;
}

}  // namespace

bool may_be_asked(const Literal& literal) {
  if (reads_atom(literal)) return true;
  if (literal.kind != LiteralKind::kComparison || searches_text(literal.comparison)) return false;
  const auto is_safe = [](const Expression& e) {
    return cannot_fail(e) && is_constant_function(e);
  };
  return is_safe(literal.left) && is_safe(literal.right);
}

Projections find_projections(const std::vector<Relation>& relations,
                             const std::vector<Rule>& rules) {
  Projections found;
  std::set<RelationId> others;
  for (const Rule& rule : rules) {
    if (!is_made_relation(relations[rule.head])) continue;
    const std::optional<Projection> projection = projection_of(rule);
    if (!projection || !found.try_emplace(rule.head, *projection).second) others.insert(rule.head);
  }
  for (const RelationId relation : others) found.erase(relation);
  return found;
}

std::optional<BodyCopy> find_copy(const Rule& rule, const Literal& aggregate,
                                  const Projections& projections, const IsFinished& is_finished) {
  BodySearch search(rule, aggregate, projections);
  std::optional<BodyCopy> copy = search.run();
  if (!copy) return {};
  std::optional<std::vector<Literal>> others =
      restricting(rule, aggregate, search.outer(), *copy, is_finished);
  if (!others) return {};
  copy->others = std::move(*others);
  return copy;
}

}  // namespace stratalog::datalog::language
