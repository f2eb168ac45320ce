// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/best_value.h"

#include <algorithm>
#include <set>

namespace stratalog::datalog {
namespace {

// Of two atoms of one relation that differ in one column only, all columns variables.
struct ComparedAtoms {
  std::uint32_t column = 0;
  VariableId dominated = 0;
  VariableId dominating = 0;
};

std::optional<ComparedAtoms> compare_atoms(const Atom& dominated, const Atom& dominating) {
  std::optional<ComparedAtoms> found;
  std::set<VariableId> seen;
  for (std::uint32_t c = 0; c < dominated.arguments.size(); ++c) {
    const Argument& left = dominated.arguments[c];
    const Argument& right = dominating.arguments[c];
    if (left.kind != ArgumentKind::kVariable || right.kind != ArgumentKind::kVariable) return {};
    // A variable that stands in two columns compares these only where they are equal.
    if (!seen.insert(left.variable).second) return {};
    if (left.variable == right.variable) continue;
    if (found || !seen.insert(right.variable).second) return {};
    found = {.column = c, .dominated = left.variable, .dominating = right.variable};
  }
  return found;
}

bool is_variable(const Expression& expression, VariableId variable) {
  return expression.kind == ExpressionKind::kVariable && expression.variable == variable;
}

}  // namespace

std::optional<BestValue> find_best_value(const Program& program, std::uint32_t which) {
  const Rule& rule = program.rules[which];
  const Relation& relation = program.relations[rule.head];
  if (rule.unites_values) {
    const auto value = static_cast<std::uint32_t>(relation.attributes.size()) - 1;
    return BestValue{.column = value,
                     .keeps = KeptValue::kUnited,
                     .kind = relation.attributes[value].kind,
                     .rule = which};
  }
  const bool orders_all_floats =
      rule.keeps_one_value && relation.attributes.back().kind == ValueKind::kFloat;
  if (relation.attributes.size() < 2 && !orders_all_floats) return std::nullopt;
  if (rule.body.size() != 3) return std::nullopt;
  const Literal& test = rule.body[2];
  if (rule.body[0].kind != LiteralKind::kAtom || rule.body[1].kind != LiteralKind::kAtom ||
      test.kind != LiteralKind::kComparison)
    return std::nullopt;
  const auto atoms = compare_atoms(rule.body[0].atom, rule.body[1].atom);
  if (!atoms) return std::nullopt;
  const bool is_dominating_left = is_variable(test.left, atoms->dominating);
  if (!is_variable(is_dominating_left ? test.right : test.left, atoms->dominated) ||
      !is_variable(is_dominating_left ? test.left : test.right, atoms->dominating))
    return std::nullopt;
  const Comparison c = test.comparison;
  const bool is_less = c == Comparison::kLess || c == Comparison::kLessEqual;
  const bool is_strict = c == Comparison::kLess || c == Comparison::kGreater;
  if (!is_less && c != Comparison::kGreater && c != Comparison::kGreaterEqual) return std::nullopt;
  const ValueKind kind = relation.attributes[atoms->column].kind;
  // Different floats may be equal (zeros), and then `<=` lets each dominate the other.
  const bool is_total = kind == ValueKind::kNumber || kind == ValueKind::kUnsigned;
  if (!is_total && (kind != ValueKind::kFloat || !is_strict)) return std::nullopt;
  return BestValue{
      .column = atoms->column,
      .keeps = is_less == is_dominating_left ? KeptValue::kLeast : KeptValue::kGreatest,
      .kind = kind,
      .orders_all_floats = orders_all_floats};
}

std::map<RelationId, BestValue> find_best_values(const Program& program, const Stratum& stratum) {
  std::map<RelationId, BestValue> found;
  const auto sums_or_is_summed = [&](RelationId relation) {
    return program.relations[relation].sums ||
           std::ranges::any_of(stratum.relations, [&](RelationId r) {
             const auto& sums = program.relations[r].sums;
             return sums && sums->terms == relation;
           });
  };
  bool is_all = true;
  for (const std::uint32_t r : stratum.subsumptions) {
    const auto best = find_best_value(program, r);
    is_all = is_all && best;
    if (!best) continue;
    const auto [known, is_new] = found.emplace(program.rules[r].head, *best);
    is_all = is_all && (is_new || known->second == *best);
  }
  if (!is_all)
    std::erase_if(found, [&](const auto& each) {
      return each.second.keeps != KeptValue::kUnited && !each.second.orders_all_floats &&
             !sums_or_is_summed(each.first);
    });
  return found;
}

}  // namespace stratalog::datalog
