// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/gathered_bodies.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "datalog/language/gathered_body.h"
#include "datalog/language/nonempty_groups.h"
#include "datalog/made_relations.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog::language {
namespace {

using VariableIds = std::set<VariableId>;
using Places = std::set<std::size_t>;

// Of a rule without some of its literals.
VariableIds variables_without(const Rule& rule, const Places& left_out) {
  VariableIds variables;
  for (const Expression& e : rule.head_arguments) collect_variables(e, variables);
  for (std::size_t l = 0; l < rule.body.size(); ++l)
    if (!left_out.contains(l)) collect_variables(rule.body[l], variables);
  return variables;
}

class RuleGathering {
 public:
  RuleGathering(Rule& rule, const Projections& projections, const IsFinished& is_finished,
                Declarations& declarations, std::vector<Dependency>& dependencies)
      : rule_(rule),
        projections_(projections),
        is_finished_(is_finished),
        declarations_(declarations),
        dependencies_(dependencies) {}

  // Rewrites the rule, and returns those of the relations that are made. `may_move`: whether atoms
  // of the rule may become one.
  std::vector<Rule> run(bool may_move) {
    std::map<std::size_t, Literal> reads;
    for (std::size_t l = 0; l < rule_.body.size(); ++l) {
      if (rule_.body[l].kind != LiteralKind::kAggregate) continue;
      GatheredBody body(rule_, rule_.body[l], is_finished_);
      if (body.is_worth_it(projections_, is_finished_))
        reads.emplace(l, body.read(relation_of(body)));
    }
    for (auto& [l, read] : reads) rule_.body[l] = std::move(read);
    if (may_move)
      std::any_of(known_.begin(), known_.end(),
                  [&](const auto& known) { return move(known.first, known.second); });
    if (may_move) add_group_atoms();
    return std::move(made_);
  }

 private:
  void add_group_atoms() {
    std::vector<Literal> atoms;
    for (const Literal& literal : rule_.body) {
      if (literal.kind != LiteralKind::kAggregate || !wants_nonempty_groups(rule_, literal))
        continue;
      for (Literal& atom : group_atoms(rule_, literal, is_complete())) {
        dependencies_.push_back({rule_.head, atom.atom.relation, DependencyKind::kPositive,
                                 declarations_.spans[rule_.head]});
        atoms.push_back(std::move(atom));
      }
    }
    std::move(atoms.begin(), atoms.end(), std::back_inserter(rule_.body));
  }

  // Also of what is made here.
  IsFinished is_complete() const {
    return [this](RelationId id) {
      return std::any_of(made_.begin(), made_.end(),
                         [&](const Rule& made) { return made.head == id; }) ||
             is_finished_(id);
    };
  }

  // Counts and sums of the same groups share one.
  RelationId relation_of(const GatheredBody& body) {
    const auto in_rule = body.in_rule();
    if (in_rule && in_rule->is_renamed) {
      const auto known = known_.find(*in_rule);
      if (known != known_.end()) return known->second;
    }
    const RelationId relation = make(body);
    if (in_rule) known_.emplace(*in_rule, relation);
    return relation;
  }

  RelationId make(const GatheredBody& body) {
    const Span span = declarations_.spans[rule_.head];
    const RelationId relation =
        add_made_relation(made_for(declarations_.relations[rule_.head].name), span, declarations_);
    Rule made = body.gather(relation, declarations_);
    for (const Literal& each : made.body)
      if (reads_atom(each))
        dependencies_.push_back(
            {relation, each.atom.relation,
             each.kind == LiteralKind::kAtom ? DependencyKind::kPositive : DependencyKind::kNegated,
             span});
    dependencies_.push_back({rule_.head, relation, DependencyKind::kAggregated, span});
    made_.push_back(std::move(made));
    return relation;
  }

  // What the relation was made of need not be joined again where its columns, and what equations
  // make of them, are all that the rule takes of it.
  bool move(const GatheredBody::InRule& in_rule, RelationId relation) {
    Places left_out = in_rule.literals;
    VariableIds available;
    for (const std::optional<VariableId>& v : in_rule.columns)
      if (v) available.insert(*v);
    while (keep_equation(left_out, available)) {
    }
    const VariableIds needed = variables_without(rule_, left_out);
    for (const std::size_t l : left_out) {
      VariableIds lost;
      collect_variables(rule_.body[l], lost);
      if (std::any_of(lost.begin(), lost.end(),
                      [&](VariableId v) { return needed.contains(v) && !available.contains(v); }))
        return false;
    }
    Literal read;
    read.place = read.atom.place = rule_.body[*left_out.begin()].place;
    read.atom.relation = relation;
    for (const std::optional<VariableId>& v : in_rule.columns)
      read.atom.arguments.push_back(v ? variable_argument(*v) : Argument());
    std::vector<Literal> body;
    for (std::size_t l = 0; l < rule_.body.size(); ++l) {
      if (l == *left_out.begin()) body.push_back(read);
      if (!left_out.contains(l)) body.push_back(std::move(rule_.body[l]));
    }
    rule_.body = std::move(body);
    return true;
  }

  // One that makes a value which the rule needs of what is available; not of floats, of which atoms
  // may hold another zero. False if there is none.
  bool keep_equation(Places& left_out, VariableIds& available) const {
    const VariableIds needed = variables_without(rule_, left_out);
    for (const std::size_t l : left_out) {
      const Literal& literal = rule_.body[l];
      if (literal.kind != LiteralKind::kComparison || literal.comparison != Comparison::kEqual)
        continue;
      for (const auto& [to, from] :
           {std::pair(&literal.left, &literal.right), std::pair(&literal.right, &literal.left)}) {
        VariableIds read;
        collect_variables(*from, read);
        if (to->kind != ExpressionKind::kVariable || to->value_kind == ValueKind::kFloat ||
            available.contains(to->variable) || !needed.contains(to->variable) ||
            !std::includes(available.begin(), available.end(), read.begin(), read.end()))
          continue;
        available.insert(to->variable);
        left_out.erase(l);
        return true;
      }
    }
    return false;
  }

  Rule& rule_;
  const Projections& projections_;
  const IsFinished& is_finished_;
  Declarations& declarations_;
  std::vector<Dependency>& dependencies_;
  std::map<GatheredBody::InRule, RelationId> known_;
  std::vector<Rule> made_;
};

}  // namespace

bool gather_aggregate_bodies(const std::vector<Stratum>& strata,
                             const std::vector<PlannedRule>& planned, std::vector<Rule>& rules,
                             Declarations& declarations, std::vector<Dependency>& dependencies) {
  std::vector<std::size_t> stratum_of(declarations.relations.size(), 0);
  for (std::size_t s = 0; s < strata.size(); ++s)
    for (const RelationId relation : strata[s].relations) stratum_of[relation] = s;
  std::set<std::uint32_t> has_plan;
  for (const PlannedRule& plan : planned)
    if (plan.rule) has_plan.insert(*plan.rule);
  const Projections projections = find_projections(declarations.relations, rules);
  const std::size_t written = rules.size();
  for (std::uint32_t r = 0; r < written; ++r) {
    if (rules[r].role != RuleRole::kDerives) continue;
    const IsFinished is_finished = [&, head = rules[r].head](RelationId id) {
      return stratum_of[id] < stratum_of[head];
    };
    RuleGathering gathering(rules[r], projections, is_finished, declarations, dependencies);
    std::vector<Rule> made = gathering.run(!has_plan.contains(r));
    std::move(made.begin(), made.end(), std::back_inserter(rules));
  }
  return rules.size() > written;
}

}  // namespace stratalog::datalog::language
