// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/magic_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "datalog/language/binding_passes.h"
#include "datalog/language/magic_wishes.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {
namespace {

// Ways to ask for a relation, each of which repeats its rules. One with more is computed whole.
constexpr std::size_t kMostWays = 4;

// What an aggregate or a range gives a value: no atom may do so as well.
bool is_result(const Rule& rule, VariableId variable) {
  return std::ranges::any_of(rule.body, [&](const Literal& literal) {
    return (literal.aggregate && literal.aggregate->result == variable) ||
           (literal.range && literal.range->variable == variable);
  });
}

// Whether what is asked for can only be compared with what the body makes for a column of the head.
bool is_compared(const Rule& rule, const Expression& e) {
  if (e.kind == ExpressionKind::kVariable) return is_result(rule, e.variable);
  return e.kind == ExpressionKind::kFunctor && is_plain_computation(e);
}

// What a column of the head hands to the body of what is asked for: a variable or a constant, else
// a wildcard.
Argument argument_of(const Rule& rule, std::uint32_t column) {
  const Expression& e = rule.head_arguments[column];
  if (e.kind == ExpressionKind::kVariable && !is_result(rule, e.variable))
    return variable_argument(e.variable);
  Argument argument;
  if (e.kind == ExpressionKind::kConstant) {
    argument.kind = ArgumentKind::kConstant;
    argument.constant = e;
  }
  return argument;
}

bool is_same(const Argument& argument, const Expression& e) {
  if (argument.kind == ArgumentKind::kVariable)
    return e.kind == ExpressionKind::kVariable && e.variable == argument.variable;
  return argument.kind == ArgumentKind::kConstant && e.kind == ExpressionKind::kConstant &&
         e.bits == argument.constant.bits && e.text == argument.constant.text;
}

// Gives the variables of a rule new numbers, without those that it does not use. Its literals are
// atoms and comparisons.
class Renumbering {
 public:
  explicit Renumbering(Rule& rule) : rule_(rule), old_(std::exchange(rule.variables, {})) {}

  void run() {
    for (Expression& e : rule_.head_arguments) renumber(e);
    for (Literal& literal : rule_.body) {
      for (Argument& argument : literal.atom.arguments)
        if (argument.kind == ArgumentKind::kVariable) renumber(argument.variable);
      renumber(literal.left);
      renumber(literal.right);
    }
  }

 private:
  void renumber(VariableId& variable) {
    const auto [entry, is_new] =
        numbers_.emplace(variable, static_cast<VariableId>(rule_.variables.size()));
    if (is_new) rule_.variables.push_back(old_[variable]);
    variable = entry->second;
  }
  void renumber(Expression& e) {
    if (e.kind == ExpressionKind::kVariable) renumber(e.variable);
    for (Expression& argument : e.arguments) renumber(argument);
  }

  Rule& rule_;
  std::vector<Variable> old_;
  std::map<VariableId, VariableId> numbers_;
};

class Restriction {
 public:
  Restriction(std::vector<Rule>& rules, Declarations& declarations,
              std::vector<Dependency>& dependencies, const std::vector<bool>& needed,
              OtherFacts other_facts)
      : other_facts_(other_facts),
        rules_(rules),
        declarations_(declarations),
        dependencies_(dependencies),
        needed_(needed),
        restricted_(declarations.relations.size()),
        rules_of_(declarations.relations.size()) {
    for (std::uint32_t r = 0; r < rules.size(); ++r) rules_of_[rules[r].head].push_back(r);
  }

  std::vector<bool> run(const std::vector<bool>& wished, const ProgramSyntax& syntax,
                        std::vector<PlannedRule>& planned, MagicSets use) {
    restricted_ =
        restrictable_relations(wished, syntax, rules_, declarations_, dependencies_, planned);
    for (RelationId id = 0; id < restricted_.size(); ++id)
      restricted_[id] = restricted_[id] && needed_[id];
    find_ways();
    std::vector<bool> may_lack = restricted_;
    for (RelationId id = 0; id < may_lack.size(); ++id)
      may_lack[id] = may_lack[id] || (!needed_[id] && !rules_of_[id].empty());
    if (use == MagicSets::kMark) return may_lack;
    may_have_others_ = std::vector<bool>(restricted_.size());
    for (RelationId id = 0; id < restricted_.size(); ++id) may_have_others_[id] = others_come(id);
    declare_demands();
    rewrite(planned);
    return may_lack;
  }

 private:
  struct Way {
    BoundColumns bound;
    RelationId demand = 0;
  };

  // From files, from whoever calls, or as facts.
  bool others_come(RelationId id) const {
    return other_facts_ == OtherFacts::kFromCaller ||
           is_read_from_files(declarations_.relations[id]) ||
           std::ranges::any_of(rules_of_[id],
                               [this](std::uint32_t r) { return rules_[r].body.empty(); });
  }

  // Until nobody asks for a relation as a whole that is restricted.
  void find_ways() {
    while (!try_to_find_ways()) {
    }
  }

  bool try_to_find_ways() {
    ways_.assign(restricted_.size(), {});
    asked_.clear();
    for (const Rule& rule : rules_)
      if (needed_[rule.head] && !restricted_[rule.head])
        if (!ask_for_atoms(rule, {})) return false;
    for (std::size_t at = 0; at < asked_.size(); ++at) {
      const auto [relation, bound] = asked_[at];
      for (const std::uint32_t r : rules_of_[relation])
        if (!ask_for_atoms(rules_[r], bound)) return false;
    }
    return true;
  }

  bool ask_for_atoms(const Rule& rule, const BoundColumns& known) {
    for (const PassStep& step : pass_bindings(rule, known_variables(rule, known), restricted_)) {
      const Literal& literal = rule.body[step.literal];
      if (literal.kind != LiteralKind::kAtom || !restricted_[literal.atom.relation]) continue;
      std::vector<Way>& ways = ways_[literal.atom.relation];
      if (std::ranges::any_of(ways, [&](const Way& way) { return way.bound == step.bound; }))
        continue;
      if (step.bound.empty() || ways.size() == kMostWays) {
        restricted_[literal.atom.relation] = false;
        return false;
      }
      ways.push_back({.bound = step.bound});
      asked_.emplace_back(literal.atom.relation, step.bound);
    }
    return true;
  }

  static std::vector<bool> known_variables(const Rule& rule, const BoundColumns& bound) {
    std::vector<bool> known(rule.variables.size());
    for (const std::uint32_t column : bound)
      if (const Argument argument = argument_of(rule, column);
          argument.kind == ArgumentKind::kVariable)
        known[argument.variable] = true;
    return known;
  }

  void declare_demands() {
    for (RelationId id = 0; id < ways_.size(); ++id)
      for (Way& way : ways_[id]) {
        way.demand = add_made_relation(declarations_.relations[id].name, declarations_.spans[id],
                                       declarations_);
        for (const std::uint32_t column : way.bound)
          declarations_.relations[way.demand].attributes.push_back(
              declarations_.relations[id].attributes[column]);
      }
  }

  void rewrite(std::vector<PlannedRule>& planned) {
    std::vector<Rule> before = std::exchange(rules_, {});
    std::vector<std::uint32_t> numbers(before.size());
    for (std::uint32_t r = 0; r < before.size(); ++r) {
      Rule& rule = before[r];
      if (!needed_[rule.head]) {
        // Its plan has been checked and will be looked for.
        if (!is_planned(planned, r)) continue;
        numbers[r] = static_cast<std::uint32_t>(rules_.size());
        rules_.push_back(std::move(rule));
      } else if (rule.body.empty() || !restricted_[rule.head]) {
        make_demands(rule, nullptr, {});
        numbers[r] = static_cast<std::uint32_t>(rules_.size());
        rules_.push_back(std::move(rule));
      } else {
        for (const Way& way : ways_[rule.head]) {
          const Literal asked = demand_atom(rule, way);
          make_demands(rule, &asked, way.bound);
          Rule& copy = rules_.emplace_back(rule);
          if (is_asked_for_by_itself(rule, way)) continue;
          copy.body.insert(copy.body.begin(), asked);
          compare_results(copy, way.bound);
          depend(copy.head, way.demand);
        }
      }
    }
    for (PlannedRule& plan : planned)
      if (plan.rule) plan.rule = numbers[*plan.rule];
  }

  static bool is_planned(const std::vector<PlannedRule>& planned, std::uint32_t rule) {
    return std::ranges::any_of(planned, [&](const PlannedRule& plan) { return plan.rule == rule; });
  }

  // Whether another atom of the body says already that the rule is asked for: one of its own head's
  // relation with the same values in the same columns, if there are no tuples but those that are
  // asked for this way. So `path(x, z) :- path(x, y), edge(y, z)` stays as it is.
  bool is_asked_for_by_itself(const Rule& rule, const Way& way) const {
    if (ways_[rule.head].size() != 1 || may_have_others_[rule.head]) return false;
    return std::ranges::any_of(rule.body, [&](const Literal& literal) {
      return literal.kind == LiteralKind::kAtom && literal.atom.relation == rule.head &&
             std::ranges::all_of(way.bound, [&](std::uint32_t column) {
               return is_same(literal.atom.arguments[column], rule.head_arguments[column]);
             });
    });
  }

  // The first atom is that of the demand, which has wildcards for what the body makes.
  static void compare_results(Rule& rule, const BoundColumns& bound) {
    for (std::size_t i = 0; i < bound.size(); ++i) {
      const Expression& result = rule.head_arguments[bound[i]];
      if (!is_compared(rule, result)) continue;
      const ValueKind kind = result.value_kind;
      const auto asked = static_cast<VariableId>(rule.variables.size());
      rule.variables.push_back({.name = fmt::format("_{}", asked), .kind = kind});
      rule.body.front().atom.arguments[i] = variable_argument(asked);
      Literal comparison;
      comparison.kind = LiteralKind::kComparison;
      comparison.left = result;
      comparison.right = variable_expression(asked, kind);
      comparison.place = rule.place;
      rule.body.push_back(std::move(comparison));
    }
  }

  static Literal demand_atom(const Rule& rule, const Way& way) {
    Literal literal;
    literal.atom.relation = way.demand;
    literal.place = literal.atom.place = rule.place;
    for (const std::uint32_t column : way.bound)
      literal.atom.arguments.push_back(argument_of(rule, column));
    return literal;
  }

  // What the rule asks for, where `asked`, if there is one, asks for it.
  void make_demands(const Rule& rule, const Literal* asked, const BoundColumns& known) {
    std::vector<Literal> before;
    if (asked != nullptr) before.push_back(*asked);
    for (const PassStep& step : pass_bindings(rule, known_variables(rule, known), restricted_)) {
      const Literal& literal = rule.body[step.literal];
      if (literal.kind == LiteralKind::kAtom && restricted_[literal.atom.relation])
        make_demand(rule, before, literal.atom, step.bound);
      before.push_back(literal);
    }
  }

  void make_demand(const Rule& asking, const std::vector<Literal>& before, const Atom& atom,
                   const BoundColumns& bound) {
    const std::vector<Way>& ways = ways_[atom.relation];
    const auto way =
        std::ranges::find_if(ways, [&](const Way& each) { return each.bound == bound; });
    Rule rule;
    rule.head = way->demand;
    for (const std::uint32_t column : bound) {
      const Argument& argument = atom.arguments[column];
      rule.head_arguments.push_back(
          argument.kind == ArgumentKind::kConstant
              ? argument.constant
              : variable_expression(argument.variable, asking.variables[argument.variable].kind));
    }
    const auto is_head = [&](const Literal& literal) {
      return literal.kind == LiteralKind::kAtom && literal.atom.relation == rule.head &&
             std::ranges::equal(literal.atom.arguments, rule.head_arguments, is_same);
    };
    if (std::ranges::any_of(before, is_head)) return;  // whoever asks has asked for it
    rule.body = before;
    rule.variables = asking.variables;
    rule.place = asking.place;
    Renumbering(rule).run();
    for (const Literal& literal : rule.body)
      if (literal.kind == LiteralKind::kAtom) depend(rule.head, literal.atom.relation);
    rules_.push_back(std::move(rule));
  }

  void depend(RelationId head, RelationId on) {
    dependencies_.push_back({head, on, DependencyKind::kPositive, declarations_.spans[head]});
  }

  OtherFacts other_facts_;
  std::vector<Rule>& rules_;
  Declarations& declarations_;
  std::vector<Dependency>& dependencies_;
  const std::vector<bool>& needed_;  // by relation, as all below
  std::vector<bool> restricted_;
  std::vector<bool> may_have_others_;  // tuples that nobody asked for
  std::vector<std::vector<std::uint32_t>> rules_of_;
  std::vector<std::vector<Way>> ways_;
  std::vector<std::pair<RelationId, BoundColumns>> asked_;
};

}  // namespace

std::vector<bool> restrict_to_demand(const std::vector<bool>& wished,
                                     const std::vector<bool>& needed, const ProgramSyntax& syntax,
                                     const CompileOptions& options, std::vector<Rule>& rules,
                                     Declarations& declarations,
                                     std::vector<Dependency>& dependencies,
                                     std::vector<PlannedRule>& planned) {
  Restriction restriction(rules, declarations, dependencies, needed, options.other_facts);
  return restriction.run(wished, syntax, planned, options.magic_sets);
}

}  // namespace stratalog::datalog::language
