// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/recursion_groups.h"

#include <algorithm>
#include <vector>

#include "datalog/language/stratify.h"
#include "datalog/language/syntax_walk.h"

namespace stratalog::datalog::language {

RecursionGroups::RecursionGroups(const ProgramSyntax& program) {
  std::map<std::string, RelationId> ids;
  for (const RelationSyntax& relation : program.relations)
    ids.emplace(relation.name.name, static_cast<RelationId>(ids.size()));
  std::vector<Dependency> dependencies;
  const auto depends = [&](const std::string& head, const std::string& on) {
    const auto from = ids.find(head);
    const auto to = ids.find(on);
    if (from == ids.end() || to == ids.end()) return;
    dependencies.push_back(
        {.head = from->second, .on = to->second, .kind = DependencyKind::kPositive, .span = {}});
  };
  for (const RuleSyntax& rule : program.rules) {
    if (rule.role != RuleRole::kDerives || !rule.body) continue;
    Formula body = *rule.body;  // walks may change what they see
    walk(
        body, [](const Term&) {},
        [&](const AtomSyntax& atom) {
          for (const AtomSyntax& head : rule.heads) depends(head.relation.name, atom.relation.name);
        });
  }
  const std::vector<Stratum> strata = stratify(ids.size(), dependencies);
  std::vector<std::uint32_t> group(ids.size(), 0);
  std::vector<bool> is_recursive(ids.size(), false);
  for (std::uint32_t s = 0; s < strata.size(); ++s)
    for (const RelationId r : strata[s].relations) {
      group[r] = s;
      is_recursive[r] = strata[s].is_recursive;
    }
  for (const auto& [name, id] : ids)
    if (is_recursive[id]) group_of_[name] = group[id];
}

bool RecursionGroups::are_mutual(const std::string& one, const std::string& other) const {
  const auto first = group_of_.find(one);
  const auto second = group_of_.find(other);
  return first != group_of_.end() && second != group_of_.end() && first->second == second->second;
}

bool RecursionGroups::aggregates_in(const Formula& formula, const std::string& head) const {
  const auto in_term = [&](const Term& term) { return aggregates_in(term, head); };
  return std::ranges::any_of(formula.operands, in_term) ||
         std::ranges::any_of(formula.atom.arguments, in_term) ||
         std::ranges::any_of(formula.children,
                             [&](const Formula& child) { return aggregates_in(child, head); });
}

bool RecursionGroups::aggregates_in(const Term& term, const std::string& head) const {
  return (term.aggregate && reads_mutual(term.aggregate->body, head)) ||
         std::ranges::any_of(term.arguments,
                             [&](const Term& inner) { return aggregates_in(inner, head); });
}

// Aggregates inside, too.
bool RecursionGroups::reads_mutual(const Formula& formula, const std::string& head) const {
  Formula body = formula;
  bool found = false;
  walk(
      body, [](const Term&) {},
      [&](const AtomSyntax& atom) { found |= are_mutual(atom.relation.name, head); });
  return found;
}

}  // namespace stratalog::datalog::language
