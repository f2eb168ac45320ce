// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/linear_closures.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "datalog/counted_passes.h"
#include "datalog/relation_storage.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

// Where a step begins, and where it ends, which is a later column.
using Columns = std::array<std::uint32_t, 2>;

std::optional<VariableId> plain_variable(const Argument& a) {
  if (a.kind != ArgumentKind::kVariable) return {};
  return a.variable;
}
std::optional<VariableId> plain_variable(const Expression& e) {
  if (e.kind != ExpressionKind::kVariable) return {};
  return e.variable;
}

// The columns in which head and atom differ, which are variables everywhere, each once a list.
template <typename Arguments>
std::optional<std::vector<std::uint32_t>> columns_that_differ(const std::vector<Expression>& head,
                                                              const Arguments& arguments) {
  std::set<VariableId> in_head;
  std::set<VariableId> in_atom;
  std::vector<std::uint32_t> differ;
  for (std::uint32_t c = 0; c < head.size(); ++c) {
    const auto h = plain_variable(head[c]);
    const auto a = plain_variable(arguments[c]);
    if (!h || !a || !in_head.insert(*h).second || !in_atom.insert(*a).second) return {};
    if (h != a) differ.push_back(c);
  }
  return differ;
}

// What a rule for a relation that reads it is.
struct Joint {
  Columns columns{};
  std::size_t step = 0;  // the literal that becomes a first tuple
};

class Closure {
 public:
  Closure(RelationId relation, std::vector<Rule>& rules, Declarations& declarations,
          std::vector<Dependency>& dependencies)
      : relation_(relation),
        rules_(rules),
        declarations_(declarations),
        dependencies_(dependencies) {}

  // Whether the rules, by place, are those of a closure.
  bool take(const std::vector<std::uint32_t>& places) {
    for (const std::uint32_t r : places) {
      const Rule& rule = rules_[r];
      if (rule.role != RuleRole::kDerives || counts_passes(rule)) return false;
      if (!reads_itself(rule)) {
        first_.push_back(r);
      } else if (const auto joint = joint_of(rule)) {
        if (columns_ && *columns_ != joint->columns) return false;
        columns_ = joint->columns;
        joints_.emplace_back(r, joint->step);
      } else {
        turns_.push_back(r);
      }
    }
    return columns_ &&
           std::ranges::all_of(turns_, [&](std::uint32_t r) { return is_turn(rules_[r]); });
  }

  void rewrite(OtherFacts other_facts) {
    const std::optional<RelationId> copied = copied_relation(other_facts);
    RelationId steps = copied ? *copied : make_steps();
    if (!turns_.empty()) {
      const RelationId both_ways = add_made_part(relation_, declarations_);
      add_copy(both_ways, steps, false);
      add_copy(both_ways, steps, true);
      steps = both_ways;
      // Rules keep their places.
      for (const std::uint32_t r : turns_) rules_[r] = copy(relation_, steps, false, rules_[r]);
      depend(relation_, steps);
    } else if (!copied) {
      add_copy(relation_, steps, false);
    }
    for (const auto& [r, step] : joints_) rules_[r].body[step].atom.relation = steps;
  }

 private:
  bool reads_itself(const Rule& rule) const {
    return std::ranges::any_of(rule.body, [&](const Literal& literal) {
      return reads_atom(literal) && literal.atom.relation == relation_;
    });
  }

  // `p(c, x, z) :- p(c, x, y), p(c, y, z)`, in any order, and what speaks of neither x nor z,
  // save that they are not the same.
  std::optional<Joint> joint_of(const Rule& rule) const {
    std::vector<std::size_t> own;
    for (std::size_t l = 0; l < rule.body.size(); ++l) {
      const Literal& literal = rule.body[l];
      if (literal.kind == LiteralKind::kAggregate || literal.kind == LiteralKind::kRange) return {};
      if (literal.kind == LiteralKind::kAtom && literal.atom.relation == relation_)
        own.push_back(l);
    }
    if (own.size() != 2) return {};
    for (const auto& [start, step] : {std::pair(own[0], own[1]), std::pair(own[1], own[0])}) {
      const auto columns = columns_of(rule, start, step);
      if (columns) return Joint{.columns = *columns, .step = step};
    }
    return {};
  }

  static std::optional<Columns> columns_of(const Rule& rule, std::size_t start, std::size_t step) {
    const auto& head = rule.head_arguments;
    const auto end = columns_that_differ(head, rule.body[start].atom.arguments);
    const auto begin = columns_that_differ(head, rule.body[step].atom.arguments);
    if (!end || !begin || end->size() != 1 || begin->size() != 1) return {};
    const Columns columns{begin->front(), end->front()};
    const VariableId middle = rule.body[start].atom.arguments[columns[1]].variable;
    const bool meet =
        columns[0] < columns[1] && rule.body[step].atom.arguments[columns[0]].variable == middle;
    if (!meet) return {};
    for (std::size_t l = 0; l < rule.body.size(); ++l) {
      if (l == start || l == step || tells_ends_apart(rule.body[l], head, columns)) continue;
      for (const std::uint32_t column : columns)
        if (mentions(rule.body[l], head[column].variable)) return {};
    }
    return columns;
  }

  // `x != z`, by cell: a path without detours does not come back to x before it ends.
  static bool tells_ends_apart(const Literal& literal, const std::vector<Expression>& head,
                               const Columns& columns) {
    if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kNotEqual ||
        literal.left.value_kind == ValueKind::kFloat)
      return false;
    const auto left = plain_variable(literal.left);
    const auto right = plain_variable(literal.right);
    const VariableId begin = head[columns[0]].variable;
    const VariableId end = head[columns[1]].variable;
    return (left == begin && right == end) || (left == end && right == begin);
  }

  // `p(c, x, y) :- p(c, y, x)`: every step may also be made backwards.
  bool is_turn(const Rule& rule) const {
    if (rule.body.size() != 1 || rule.body[0].kind != LiteralKind::kAtom) return false;
    const auto& arguments = rule.body[0].atom.arguments;
    const auto differ = columns_that_differ(rule.head_arguments, arguments);
    const auto [from, to] = *columns_;
    return differ && *differ == std::vector{from, to} &&
           plain_variable(arguments[from]) == plain_variable(rule.head_arguments[to]) &&
           plain_variable(arguments[to]) == plain_variable(rule.head_arguments[from]);
  }

  // What one rule copies, if all first tuples come from there.
  std::optional<RelationId> copied_relation(OtherFacts other_facts) const {
    if (other_facts != OtherFacts::kNone || first_.size() != 1) return {};
    const Rule& rule = rules_[first_[0]];
    if (rule.body.size() != 1 || rule.body[0].kind != LiteralKind::kAtom) return {};
    const Atom& atom = rule.body[0].atom;
    if (atom.arguments.size() != rule.head_arguments.size() ||
        is_equivalence(declarations_.relations[atom.relation]))
      return {};
    const auto differ = columns_that_differ(rule.head_arguments, atom.arguments);
    if (!differ || !differ->empty()) return {};
    return atom.relation;
  }

  // Holds what the first rules give.
  RelationId make_steps() {
    const RelationId made = add_made_part(relation_, declarations_);
    for (const std::uint32_t r : first_) rules_[r].head = made;
    declarations_.relations[relation_].facts_into = made;
    for (std::size_t d = 0, size = dependencies_.size(); d < size; ++d) {
      Dependency dependency = dependencies_[d];
      if (dependency.head != relation_ || dependency.on == relation_) continue;
      dependency.head = made;
      dependencies_.push_back(dependency);
    }
    return made;
  }

  void add_copy(RelationId head, RelationId from, bool is_turned) {
    rules_.push_back(copy(head, from, is_turned, rules_[joints_.front().first]));
    depend(head, from);
  }

  // head(c, x, y) :- from(c, x, y), or from(c, y, x).
  Rule copy(RelationId head, RelationId from, bool is_turned, const Rule& place_of) const {
    const std::vector<Attribute>& attributes = declarations_.relations[relation_].attributes;
    Rule rule;
    rule.head = head;
    rule.place = place_of.place;
    Literal& literal = rule.body.emplace_back();
    literal.place = place_of.place;
    literal.atom.relation = from;
    literal.atom.place = place_of.place;
    for (VariableId v = 0; v < attributes.size(); ++v) {
      rule.variables.push_back({.name = attributes[v].name, .kind = attributes[v].kind});
      rule.head_arguments.push_back(variable_expression(v, attributes[v].kind));
      literal.atom.arguments.push_back(variable_argument(v));
    }
    if (is_turned)
      std::swap(literal.atom.arguments[(*columns_)[0]], literal.atom.arguments[(*columns_)[1]]);
    return rule;
  }

  void depend(RelationId head, RelationId on) {
    dependencies_.push_back({head, on, DependencyKind::kPositive, declarations_.spans[relation_]});
  }

  RelationId relation_;
  std::vector<Rule>& rules_;
  Declarations& declarations_;
  std::vector<Dependency>& dependencies_;
  std::optional<Columns> columns_;
  std::vector<std::uint32_t> first_;  // rules that do not read the relation
  std::vector<std::uint32_t> turns_;
  std::vector<std::pair<std::uint32_t, std::size_t>> joints_;  // rules, and the steps of each
};

bool is_plain(const Relation& relation) {
  return relation.attributes.size() >= 2 && holds_what_rules_say(relation) &&
         !is_read_from_files(relation);
}

}  // namespace

bool linearise_closures(const std::vector<Stratum>& strata, const std::vector<PlannedRule>& planned,
                        OtherFacts other_facts, std::vector<Rule>& rules,
                        Declarations& declarations, std::vector<Dependency>& dependencies) {
  std::set<RelationId> has_plan;
  for (const PlannedRule& plan : planned) has_plan.insert(plan.head);
  std::vector<std::vector<std::uint32_t>> rules_of(declarations.relations.size());
  for (std::uint32_t r = 0; r < rules.size(); ++r) rules_of[rules[r].head].push_back(r);
  bool found = false;
  for (const Stratum& stratum : strata) {
    const RelationId relation = stratum.relations.front();
    if (!stratum.is_recursive || stratum.relations.size() != 1 || has_plan.contains(relation) ||
        !is_plain(declarations.relations[relation]))
      continue;
    Closure closure(relation, rules, declarations, dependencies);
    if (!closure.take(rules_of[relation])) continue;
    closure.rewrite(other_facts);
    found = true;
  }
  return found;
}

}  // namespace stratalog::datalog::language
