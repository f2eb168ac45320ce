// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/recursive_aggregates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "datalog/language/aggregate_terms.h"
#include "datalog/language/aggregate_use.h"
#include "datalog/language/lattice_terms.h"
#include "datalog/language/recursion_groups.h"
#include "datalog/language/scope_grounding.h"
#include "datalog/language/syntax_walk.h"

namespace stratalog::datalog::language {
namespace {

// Each aggregate that may be nothing doubles the rules.
constexpr std::size_t kMostAggregates = 4;

// The key of an aggregate that takes nothing from outside; its value is 0.
constexpr const char* kAll = "all#";

// What stands for one aggregate of a rule.
struct Replaced {
  AggregatePlace place;
  std::string variable;  // equal to the aggregate; empty where the aggregate itself is compared
  AtomSyntax total;  // without the value
  std::optional<Term> nothing;  // `count` and `sum` of no term
};

bool is_or_has_aggregate(const Term& term) {
  return term.kind == TermKind::kAggregate ||
         std::ranges::any_of(term.arguments, is_or_has_aggregate);
}

// `50 < sum ...`: not of no term.
bool excludes_nothing(const Goal& goal, std::size_t operand) {
  const bool is_strict =
      goal.comparison == Comparison::kLess || goal.comparison == Comparison::kGreater;
  const Term& bound = goal.formula->operands[1 - operand];
  return is_strict && (bound.kind == TermKind::kInteger || bound.kind == TermKind::kUnsigned) &&
         bound.text[0] != '-';
}

class AggregateExpansion {
 public:
  explicit AggregateExpansion(ProgramSyntax& program)
      : program_(program), groups_(program), check_(program_, lattices_, groups_) {
    std::map<std::string, const LatticeSyntax*> by_type;
    for (const LatticeSyntax& lattice : program.lattices) by_type[lattice.type.name] = &lattice;
    for (const RelationSyntax& relation : program.relations) {
      if (relation.attributes.empty() || !relation.attributes.back().is_lattice) continue;
      const auto found = by_type.find(relation.attributes.back().type.name);
      if (found != by_type.end()) lattices_[relation.name.name] = found->second;
    }
  }

  void run() {
    for (RuleSyntax& rule : program_.rules) {
      if (rule.role != RuleRole::kDerives || !rule.body || !needs_itself(rule)) continue;
      const std::size_t relations = relations_.size();
      const std::size_t rules = rules_.size();
      if (expand(rule)) {
        rule.use = RuleUse::kCheckOnly;
      } else {
        relations_.resize(relations);
        rules_.resize(rules);
      }
    }
    std::ranges::move(relations_, std::back_inserter(program_.relations));
    std::ranges::move(rules_, std::back_inserter(program_.rules));
  }

 private:
  bool needs_itself(const RuleSyntax& rule) const {
    return std::ranges::any_of(rule.heads, [&](const AtomSyntax& head) {
      return groups_.aggregates_in(*rule.body, head.relation.name);
    });
  }

  // False where nothing is to be done, or nothing can be.
  bool expand(const RuleSyntax& rule) {
    DiagnosticSink unheard;  // what is wrong is reported when the rule is analysed
    std::vector<Conjunction> bodies;
    if (!expand_body(*rule.body, unheard, bodies)) return false;
    bool found_some = false;
    for (const AtomSyntax& head : rule.heads) {
      for (const Conjunction& body : bodies) {
        std::vector<Replaced> replaced;
        if (!replace_all(rule, head, body, replaced)) return false;
        if (!replaced.empty() && !is_allowed(rule, check_.refuse_others(head, body))) return false;
        found_some |= !replaced.empty();
        write_rules(rule, head, body, replaced);
      }
    }
    return found_some;
  }

  bool replace_all(const RuleSyntax& rule, const AtomSyntax& head, const Conjunction& body,
                   std::vector<Replaced>& replaced) {
    for (std::size_t g = 0; g < body.size(); ++g) {
      const Formula& formula = *body[g].formula;
      if (!groups_.aggregates_in(formula, head.relation.name)) continue;
      const auto place = find_aggregate(body, g);
      if (!place)
        return refuse(rule, {formula.span,
                             "an aggregate in a recursion must be one side of a comparison, by "
                             "itself, and the other side have none"});
      auto one = replace(rule, head, body, *place);
      if (!one) return false;
      replaced.push_back(std::move(*one));
    }
    return replaced.size() <= kMostAggregates ||
           refuse(rule, {rule.span, fmt::format("a rule may have {} such aggregates, not {}",
                                                kMostAggregates, replaced.size())});
  }

  static std::optional<AggregatePlace> find_aggregate(const Conjunction& body, std::size_t goal) {
    if (body[goal].kind != GoalKind::kComparison) return std::nullopt;
    const std::vector<Term>& operands = body[goal].formula->operands;
    for (std::size_t side = 0; side < 2; ++side)
      if (operands[side].kind == TermKind::kAggregate && !is_or_has_aggregate(operands[1 - side]))
        return AggregatePlace{.goal = goal, .operand = side};
    return std::nullopt;
  }

  // Says why to whoever finds that the aggregates of the rule cannot be as they are.
  bool refuse(const RuleSyntax& rule, NoteDraft why) {
    program_.refused_aggregates.push_back({rule.span, why.span, std::move(why.message)});
    return false;
  }
  bool is_allowed(const RuleSyntax& rule, std::optional<NoteDraft> why) {
    return !why || refuse(rule, std::move(*why));
  }

  std::optional<Replaced> replace(const RuleSyntax& rule, const AtomSyntax& head,
                                  const Conjunction& body, AggregatePlace place) {
    const Term& term = body[place.goal].formula->operands[place.operand];
    const AggregateSyntax& aggregate = *term.aggregate;
    if (aggregate.function == AggregateFunction::kMean) {
      refuse(rule, {term.span, "`mean` neither only grows nor only falls"});
      return std::nullopt;
    }
    if (aggregate.function == AggregateFunction::kFold) {
      refuse(rule, {term.span,
                    "what a functor of a library makes may neither only grow nor only "
                    "fall"});
      return std::nullopt;
    }
    const auto terms = find_terms(program_, lattices_, aggregate, head, body);
    const std::string base = terms ? terms->base_type.name : "number";
    if (!is_allowed(rule, check_.refuse(head, body, place, base))) return std::nullopt;
    if (!terms) {
      refuse(rule, {aggregate.body.span,
                    "this is not known to only grow: variables of the aggregate, and what it takes "
                    "from outside, must be arguments of atoms, and values of a lattice stand "
                    "nowhere else than there and in what is summed up or compared"});
      return std::nullopt;
    }
    Replaced result{
        .place = place, .variable = variable_of(body, place), .total = {}, .nothing = {}};
    std::vector<TypedName> outer = terms->outer;
    if (outer.empty()) outer.push_back({kAll, {"number", term.span}});
    const bool is_sum = aggregate.function == AggregateFunction::kCount ||
                        aggregate.function == AggregateFunction::kSum;
    if (is_sum && !excludes_nothing(body[place.goal], place.operand))
      result.nothing = zero_of(terms->base_type.name, term.span);
    const std::string name = head.relation.name + '#';
    const Direction direction = direction_of(aggregate.function);
    std::optional<NameSyntax> summed;
    bool counts = false;
    if (is_sum) {
      std::vector<TypedName> key = outer;
      key.insert(key.end(), terms->own.begin(), terms->own.end());
      summed = {fmt::format("{}terms{}", name, ++made_), term.span};
      counts = !aggregate.target && !terms->own.empty();
      add_terms_rule(rule, atom_of(*summed, key), *terms, counts);
      if (!counts) key.push_back({"value", terms->value_type});
      add_relation(rule, *summed, key);
      if (terms->changes) keep_best(rule, *summed, key, Direction::kUp);
    }
    const NameSyntax total{fmt::format("{}{}{}", name, is_sum ? "total" : "best", ++made_),
                           term.span};
    result.total = atom_of(total, outer);
    if (!is_sum) add_terms_rule(rule, result.total, *terms, false);
    outer.push_back({"value", terms->base_type});
    RelationSyntax& added = add_relation(rule, total, outer);
    added.sums = summed;
    added.counts = counts;
    keep_best(rule, total, outer, direction);
    return result;
  }

  // Without the value.
  static AtomSyntax atom_of(const NameSyntax& relation, const std::vector<TypedName>& key) {
    AtomSyntax atom;
    atom.relation = relation;
    atom.span = relation.span;
    for (const TypedName& each : key)
      atom.arguments.push_back(each.name == kAll ? *zero_of("number", relation.span)
                                                 : variable_term(each.name, relation.span));
    return atom;
  }

  RelationSyntax& add_relation(const RuleSyntax& rule, const NameSyntax& name,
                               const std::vector<TypedName>& columns) {
    RelationSyntax& relation = relations_.emplace_back();
    relation.name = name;
    relation.instance = rule.instance;
    for (const TypedName& each : columns)
      relation.attributes.push_back({.name = {each.name, name.span}, .type = each.type});
    return relation;
  }

  // r(x, a) <= r(x, b) :- b > a.
  void keep_best(const RuleSyntax& rule, const NameSyntax& name,
                 const std::vector<TypedName>& columns, Direction direction) {
    const Term a = variable_term("value#a", name.span);
    const Term b = variable_term("value#b", name.span);
    std::vector<Formula> body;
    for (const Term& value : {a, b}) {
      AtomSyntax atom = atom_of(name, {});
      for (const TypedName& each : columns)
        atom.arguments.push_back(variable_term(each.name, name.span));
      atom.arguments.back() = value;
      body.push_back(atom_formula(std::move(atom)));
    }
    RuleSyntax& keeps = rules_.emplace_back();
    keeps.role = RuleRole::kSubsumes;
    keeps.use = RuleUse::kEvaluateOnly;
    keeps.keeps_one_value = true;
    keeps.heads.push_back(body[0].atom);
    body.push_back(compare_terms(
        direction == Direction::kUp ? Comparison::kGreater : Comparison::kLess, b, a));
    keeps.body = all_of(std::move(body), name.span);
    keeps.span = rule.span;
    keeps.instance = rule.instance;
  }

  void add_terms_rule(const RuleSyntax& rule, AtomSyntax head, const AggregateTerms& terms,
                      bool counts) {
    if (!counts) head.arguments.push_back(terms.value);
    RuleSyntax& added = rules_.emplace_back();
    added.use = RuleUse::kEvaluateOnly;
    added.heads.push_back(std::move(head));
    added.body = terms.body;
    added.span = rule.span;
    added.instance = rule.instance;
  }

  // One rule for each choice of aggregates that are taken to be of no term.
  void write_rules(const RuleSyntax& rule, const AtomSyntax& head, const Conjunction& body,
                   const std::vector<Replaced>& replaced) {
    for (std::size_t choice = 0; choice < std::size_t{1} << replaced.size(); ++choice) {
      std::vector<Formula> goals;
      goals.reserve(body.size() + replaced.size());
      for (const Goal& goal : body) goals.push_back(goal_formula(goal));
      bool is_possible = true;
      for (std::size_t k = 0; k < replaced.size(); ++k) {
        const Replaced& one = replaced[k];
        const bool is_nothing = (choice >> k & 1U) != 0;
        is_possible &= !is_nothing || one.nothing;
        if (!is_possible) break;
        Term& operand = goals[one.place.goal].operands[one.place.operand];
        if (is_nothing) {
          operand = *one.nothing;
          continue;
        }
        const Term value = one.variable.empty()
                               ? variable_term(fmt::format("value#{}", k), operand.span)
                               : goals[one.place.goal].operands[1 - one.place.operand];
        AtomSyntax atom = one.total;
        atom.arguments.push_back(value);
        if (one.variable.empty()) {
          operand = value;
          goals.push_back(atom_formula(std::move(atom)));
        } else {
          goals[one.place.goal] = atom_formula(std::move(atom));
        }
      }
      if (!is_possible) continue;
      RuleSyntax& added = rules_.emplace_back();
      added.use = RuleUse::kEvaluateOnly;
      added.heads.push_back(head);
      added.body = all_of(std::move(goals), rule.span);
      added.span = rule.span;
      added.instance = rule.instance;
    }
  }

  ProgramSyntax& program_;
  RecursionGroups groups_;
  LatticeOfRelation lattices_;
  UseChecker check_;
  std::vector<RelationSyntax> relations_;  // to be added
  std::vector<RuleSyntax> rules_;
  std::uint32_t made_ = 0;
};

}  // namespace

void expand_recursive_aggregates(ProgramSyntax& program) { AggregateExpansion(program).run(); }

}  // namespace stratalog::datalog::language
