// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/pivot_analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "datalog/partial_functors.h"
#include "datalog/plan/body_facts.h"
#include "datalog/plan/literal_order.h"
#include "datalog/plan/set_comparison.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

bool is_variable_at(const Atom& atom, std::uint32_t column, VariableId variable) {
  const Argument& a = atom.arguments[column];
  return a.kind == ArgumentKind::kVariable && a.variable == variable;
}

// Whether the values of its variables are all that `e` needs, whatever they are, and nothing is
// left behind: neither errors nor new values.
bool is_plain(const Expression& e) {
  if (e.kind != ExpressionKind::kFunctor) return true;
  const bool is_arithmetic = e.functor <= Functor::kLogicalXor || e.functor == Functor::kStrlen;
  return is_arithmetic && !may_fail(e) && std::ranges::all_of(e.arguments, is_plain);
}

bool is_plain(const Literal& comparison) {
  return is_plain(comparison.left) && is_plain(comparison.right);
}

bool computes(const Literal& comparison) {
  return comparison.left.kind == ExpressionKind::kFunctor ||
         comparison.right.kind == ExpressionKind::kFunctor;
}

class Analysis {
 public:
  Analysis(const Program& program, const Stratum& stratum) : program_(program), stratum_(stratum) {
    for (const std::uint32_t r : stratum.rules) {
      const Rule& rule = program.rules[r];
      std::vector<const Atom*> atoms;
      for (const Literal& literal : rule.body)
        if (literal.kind == LiteralKind::kAtom && is_recursive(literal.atom.relation))
          atoms.push_back(&literal.atom);
      if (!atoms.empty()) recursive_.push_back({r, &rule, std::move(atoms)});
    }
  }

  // Columns by relation, or nothing if no assignment with `column` for the first relation works.
  std::optional<std::map<RelationId, std::uint32_t>> assign_from(std::uint32_t column) const {
    std::map<RelationId, std::uint32_t> columns{{stratum_.relations.front(), column}};
    for (bool progress = true; progress;) {
      progress = false;
      for (const RecursiveRule& r : recursive_)
        if (!extend(r, columns, progress)) return std::nullopt;
    }
    if (columns.size() != stratum_.relations.size()) return std::nullopt;
    return columns;
  }

  // Empty if the slot graph can express every recursive rule, else the reason why not. Adds the
  // rules' masks.
  std::string linear_obstacle(const std::map<RelationId, std::uint32_t>& columns,
                              std::map<std::uint32_t, std::vector<std::uint32_t>>& masks) const {
    for (const RelationId relation : stratum_.relations)
      if (program_.relations[relation].attributes.size() < 2)
        return fmt::format("`{}` has no column beside the pivot",
                           program_.relations[relation].name);
    for (const RecursiveRule& r : recursive_) {
      if (r.atoms.size() > 1)
        return fmt::format("a rule of `{}` joins two recursive atoms",
                           program_.relations[r.rule->head].name);
      const VariableId pivot = r.rule->head_arguments[columns.at(r.rule->head)].variable;
      std::string obstacle = rule_obstacle(r, pivot, masks[r.number]);
      if (!obstacle.empty()) return obstacle;
      if (masks[r.number].empty()) masks.erase(r.number);
    }
    return {};
  }

 private:
  struct RecursiveRule {
    std::uint32_t number;
    const Rule* rule;
    std::vector<const Atom*> atoms;
  };

  bool is_recursive(RelationId relation) const {
    return std::binary_search(stratum_.relations.begin(), stratum_.relations.end(), relation);
  }

  // Takes over what one rule implies; false on a contradiction.
  bool extend(const RecursiveRule& r, std::map<RelationId, std::uint32_t>& columns,
              bool& progress) const {
    const auto& head = r.rule->head_arguments;
    if (!columns.contains(r.rule->head)) {
      for (const Atom* atom : r.atoms) {
        const auto known = columns.find(atom->relation);
        if (known == columns.end()) continue;
        const Argument& a = atom->arguments[known->second];
        if (a.kind != ArgumentKind::kVariable) return false;
        const auto at = std::find_if(head.begin(), head.end(), [&](const Expression& e) {
          return e.kind == ExpressionKind::kVariable && e.variable == a.variable;
        });
        if (at == head.end()) return false;
        columns[r.rule->head] = static_cast<std::uint32_t>(at - head.begin());
        progress = true;
        break;
      }
      if (!columns.contains(r.rule->head)) return true;
    }
    const Expression& e = head[columns.at(r.rule->head)];
    if (e.kind != ExpressionKind::kVariable) return false;
    for (const Atom* atom : r.atoms) {
      const auto known = columns.find(atom->relation);
      if (known != columns.end()) {
        if (!is_variable_at(*atom, known->second, e.variable)) return false;
        continue;
      }
      std::uint32_t c = 0;
      while (c < atom->arguments.size() && !is_variable_at(*atom, c, e.variable)) ++c;
      if (c == atom->arguments.size()) return false;
      columns[atom->relation] = c;
      progress = true;
    }
    return true;
  }

  // Variables of the recursive atom beside the pivot, and of atoms without the pivot that share
  // variables with them, and so on.
  static std::set<VariableId> known_without(const RecursiveRule& r, VariableId pivot) {
    std::set<VariableId> known;
    std::set<const Literal*> taken;
    for (bool progress = true; progress;) {
      progress = false;
      for (const Literal& literal : r.rule->body) {
        if (literal.kind != LiteralKind::kAtom || taken.contains(&literal)) continue;
        std::set<VariableId> variables;
        collect_variables(literal, variables);
        const bool is_source = &literal.atom == r.atoms.front();
        if (!is_source && (variables.contains(pivot) || !share_any(variables, known))) continue;
        variables.erase(pivot);
        known.merge(variables);
        taken.insert(&literal);
        progress = true;
      }
    }
    return known;
  }

  static bool share_any(const std::set<VariableId>& a, const std::set<VariableId>& b) {
    return std::any_of(a.begin(), a.end(), [&](VariableId v) { return b.contains(v); });
  }

  // How a literal tests the pivot of new tuples.
  enum class PivotTest : std::uint8_t {
    kNone,  // it does something else
    kAlone,  // by itself: one set of pivots passes everywhere
    kUnderConstants,  // as well, and goes with both
    kBeside,  // beside values that are known without it
  };

  PivotTest pivot_test(const Literal& literal, VariableId pivot,
                       const std::set<VariableId>& known) const {
    if (literal.kind == LiteralKind::kComparison) return comparison_test(literal, pivot, known);
    return reads_atom(literal) ? atom_test(literal.atom, pivot, known) : PivotTest::kNone;
  }

  // One column holds the pivot, the others are known without it.
  PivotTest atom_test(const Atom& atom, VariableId pivot, const std::set<VariableId>& known) const {
    if (is_recursive(atom.relation) || is_equivalence(program_.relations[atom.relation]))
      return PivotTest::kNone;
    std::size_t pivots = 0;
    bool has_values = false;
    for (const Argument& a : atom.arguments) {
      const bool holds_pivot = a.kind == ArgumentKind::kVariable && a.variable == pivot;
      pivots += holds_pivot ? 1U : 0U;
      if (!holds_pivot && a.kind != ArgumentKind::kConstant &&
          (a.kind != ArgumentKind::kVariable || !known.contains(a.variable)))
        return PivotTest::kNone;
      has_values |= !holds_pivot && a.kind == ArgumentKind::kVariable;
    }
    if (pivots != 1) return PivotTest::kNone;
    if (has_values) return PivotTest::kBeside;
    return atom.arguments.size() == 1 ? PivotTest::kAlone : PivotTest::kUnderConstants;
  }

  // Beside other values each has a set of its own, which must be small to hold back.
  static PivotTest comparison_test(const Literal& literal, VariableId pivot,
                                   const std::set<VariableId>& known) {
    std::set<VariableId> variables;
    collect_variables(literal, variables);
    if (!variables.contains(pivot)) return PivotTest::kNone;
    if (variables.size() == 1) return is_plain(literal) ? PivotTest::kAlone : PivotTest::kNone;
    const auto compared = set_comparison(literal, pivot);
    const bool is_unlike = compared && compared->comparison == Comparison::kNotEqual &&
                           known.contains(compared->other->variable);
    return is_unlike ? PivotTest::kBeside : PivotTest::kNone;
  }

  // Values that an edge depends on must be there before it is looked for.
  static bool makes_values(const Literal& comparison, const std::set<VariableId>& known) {
    if (!computes(comparison)) return false;
    std::set<VariableId> variables;
    collect_variables(comparison, variables);
    return !is_plain(comparison) || !std::ranges::includes(known, variables);
  }

  std::string rule_obstacle(const RecursiveRule& r, VariableId pivot,
                            std::vector<std::uint32_t>& masks) const {
    const std::string name = program_.relations[r.rule->head].name;
    const std::set<VariableId> known = known_without(r, pivot);
    std::size_t uses = 0;
    std::set<PivotTest> tests;
    for (std::uint32_t l = 0; l < r.rule->body.size(); ++l) {
      const Literal& literal = r.rule->body[l];
      if (literal.kind == LiteralKind::kAggregate || literal.kind == LiteralKind::kRange)
        return fmt::format("a rule of `{}` computes an aggregate or a range", name);
      std::set<VariableId> variables;
      collect_variables(literal, variables);
      if (literal.kind == LiteralKind::kAtom && &literal.atom == r.atoms.front()) {
        for (const Argument& a : literal.atom.arguments)
          uses += a.kind == ArgumentKind::kVariable && a.variable == pivot ? 1U : 0U;
      } else if (const PivotTest test = pivot_test(literal, pivot, known);
                 test != PivotTest::kNone) {
        masks.push_back(l);
        tests.insert(test);
      } else if (literal.kind == LiteralKind::kComparison && makes_values(literal, known)) {
        return fmt::format("a rule of `{}` computes values", name);
      } else if (variables.contains(pivot)) {
        return fmt::format("a rule of `{}` also uses the pivot elsewhere", name);
      }
    }
    // The one set of pivots would have to be cut for each of the other values.
    if (tests.contains(PivotTest::kAlone) && tests.contains(PivotTest::kBeside))
      return fmt::format("a rule of `{}` tests the pivot alone and beside other values", name);
    for (const Expression& e : r.rule->head_arguments) {
      if (e.kind == ExpressionKind::kFunctor)
        return fmt::format("a rule of `{}` computes values", name);
      uses += e.kind == ExpressionKind::kVariable && e.variable == pivot ? 1U : 0U;
    }
    if (uses != 2) return fmt::format("a rule of `{}` repeats the pivot", name);
    return {};
  }

  const Program& program_;
  const Stratum& stratum_;
  std::vector<RecursiveRule> recursive_;
};

}  // namespace

PivotFinding find_pivot(const Program& program, const Stratum& stratum) {
  PivotFinding finding;
  for (const RelationId relation : stratum.relations) {
    const Relation& declared = program.relations[relation];
    if (declared.choice_keys.empty() && !declared.size_limit) continue;
    finding.reason =
        fmt::format("`{}` has a {}, which is decided round by round", declared.name,
                    declared.choice_keys.empty() ? "limit to its size" : "choice-domain");
    return finding;
  }
  const Analysis analysis(program, stratum);
  const RelationId first = stratum.relations.front();
  const auto arity = static_cast<std::uint32_t>(program.relations[first].attributes.size());
  for (std::uint32_t column = 0; column < arity; ++column) {
    const auto columns = analysis.assign_from(column);
    if (!columns) continue;
    std::string names;
    PivotPlan plan;
    for (const RelationId relation : stratum.relations) {
      plan.column.push_back(columns->at(relation));
      names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", program.relations[relation].name,
                           program.relations[relation].attributes[plan.column.back()].name);
    }
    std::map<std::uint32_t, std::vector<std::uint32_t>> masks;
    const std::string obstacle = analysis.linear_obstacle(*columns, masks);
    // Best is a column that nothing else tests.
    const bool is_linear = obstacle.empty();
    if (!finding.pivot || (is_linear && (!finding.is_linear || masks.empty()))) {
      finding.pivot = plan;
      finding.is_linear = is_linear;
      finding.reason = fmt::format("every recursive rule carries {} unchanged", names);
      if (!is_linear) finding.reason += "; evaluated by rounds because " + obstacle;
      if (is_linear) finding.masks = std::move(masks);
    }
    if (finding.is_linear && finding.masks.empty()) return finding;
  }
  if (!finding.pivot) finding.reason = "no column is carried unchanged by all recursive rules";
  return finding;
}

}  // namespace stratalog::datalog
