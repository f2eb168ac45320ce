// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/placement.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "datalog/plan/delta_index.h"

namespace stratalog::datalog {
namespace {

using Columns = std::vector<std::uint32_t>;

// What stands in some columns of an atom; equal lists of known tokens are on the same rank.
struct Token {
  ArgumentKind kind = ArgumentKind::kWildcard;
  VariableId variable = 0;
  std::uint64_t bits = 0;
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};

std::vector<Token> tokens_of(const Atom& atom, const Columns& columns) {
  std::vector<Token> tokens;
  for (const std::uint32_t column : columns) {
    const Argument& a = atom.arguments[column];
    Token& token = tokens.emplace_back();
    token.kind = a.kind;
    if (a.kind == ArgumentKind::kVariable) token.variable = a.variable;
    if (a.kind != ArgumentKind::kConstant) continue;
    token.bits = a.constant.bits;
    token.text = a.constant.text;
  }
  return tokens;
}

bool hops(const Program& program, const RulePlan& plan, const Stratum& members,
          const std::vector<std::vector<Columns>>& placements,
          const std::function<bool(RelationId)>& is_empty) {
  for (const Literal& literal : program.rules[plan.rule].body)
    if (literal.kind == LiteralKind::kAtom && is_empty(literal.atom.relation)) return false;
  std::optional<std::vector<Token>> location;
  for (const Step& step : plan.steps) {
    if (!reads_relation(step) || placements[step.relation].empty() || !members.holds(step.relation))
      continue;
    const bool tests_any = step.prefix_length == 0 && step.kind != StepKind::kScan &&
                           step.kind != StepKind::kScanDelta;
    if (tests_any) continue;
    std::vector<Token> there = tokens_of(program.rules[plan.rule].body[step.literal].atom,
                                         placements[step.relation][step.index]);
    if (location && (step.prefix_length == 0 || *location != there)) return true;
    location = std::move(there);
  }
  return false;
}

std::vector<Columns> place_indices(const RelationPlan& relation,
                                   std::optional<std::uint32_t> pivot) {
  std::vector<Columns> placements;
  bool all_bind_pivot = true;
  for (const IndexPlan& index : relation.indices) {
    placements.push_back(columns_of_all_searches(index));
    const Columns& columns = placements.back();
    // An index that is only scanned may be dealt by any column.
    if (pivot && !index.searched_lengths.empty() &&
        !std::binary_search(columns.begin(), columns.end(), *pivot))
      all_bind_pivot = false;
  }
  // All values of a key have one rank, where they are compared.
  if (relation.best) std::erase(placements[relation.primary], relation.best->column);
  // Sums have one rank with their terms.
  if (relation.dealt_by_first)
    std::erase_if(placements[relation.primary],
                  [&](std::uint32_t c) { return c >= *relation.dealt_by_first; });
  if (pivot && all_bind_pivot)
    for (Columns& columns : placements) columns = {*pivot};
  return placements;
}

void place_members(const Program& program, const ProgramPlan& plan, std::uint32_t stratum,
                   std::vector<std::vector<Columns>>& placements) {
  const std::vector<RelationId>& members = program.strata[stratum].relations;
  const std::optional<PivotPlan>& pivot = plan.strata[stratum].pivot;
  for (std::size_t i = 0; i < members.size(); ++i)
    placements[members[i]] = place_indices(plan.relations[members[i]],
                                           pivot ? std::optional(pivot->column[i]) : std::nullopt);
}

}  // namespace

bool has_hops(const Program& program, const ProgramPlan& plan, std::uint32_t stratum,
              const std::vector<std::vector<std::vector<std::uint32_t>>>& placements,
              const std::function<bool(RelationId)>& is_empty) {
  const std::vector<RulePlan>& rules = plan.strata[stratum].rules_of_rounds();
  return std::any_of(rules.begin(), rules.end(), [&](const RulePlan& rule) {
    return hops(program, rule, program.strata[stratum], placements, is_empty);
  });
}

std::vector<std::vector<Columns>> plan_placements(const Program& program, const ProgramPlan& plan) {
  std::vector<std::vector<Columns>> result(program.relations.size());
  for (std::uint32_t s = 0; s < program.strata.size(); ++s) place_members(program, plan, s, result);
  return result;
}

void place_replanned(const Program& program, const ProgramPlan& plan, std::uint32_t stratum,
                     const std::set<RelationId>& relations,
                     std::vector<std::vector<Columns>>& placements) {
  for (const RelationId r : relations)
    if (!program.strata[stratum].holds(r))
      for (std::size_t i = placements[r].size(); i < plan.relations[r].indices.size(); ++i)
        placements[r].push_back(columns_of_all_searches(plan.relations[r].indices[i]));
  place_members(program, plan, stratum, placements);
}

}  // namespace stratalog::datalog
