// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/needed_relations.h"

#include <algorithm>
#include <utility>

#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {

std::vector<bool> with_sources(std::vector<RelationId> open, std::size_t relation_count,
                               const std::vector<Dependency>& dependencies) {
  std::vector<std::vector<RelationId>> sources(relation_count);
  for (const Dependency& dependency : dependencies)
    sources[dependency.head].push_back(dependency.on);
  std::vector<bool> seen(relation_count);
  while (!open.empty()) {
    const RelationId relation = open.back();
    open.pop_back();
    if (seen[relation]) continue;
    seen[relation] = true;
    open.insert(open.end(), sources[relation].begin(), sources[relation].end());
  }
  return seen;
}

std::vector<bool> needed_relations(const std::vector<Relation>& relations,
                                   const std::vector<Dependency>& dependencies) {
  std::vector<RelationId> outputs;
  for (RelationId id = 0; id < relations.size(); ++id)
    if (is_shown(relations[id])) outputs.push_back(id);
  if (outputs.empty()) return std::vector<bool>(relations.size(), true);
  return with_sources(std::move(outputs), relations.size(), dependencies);
}

std::vector<bool> fillable_relations(const std::vector<Relation>& relations,
                                     const std::vector<Rule>& rules) {
  std::vector<bool> fillable(relations.size(), true);
  for (bool changed = true; changed;) {
    std::vector<bool> now(relations.size());
    for (RelationId id = 0; id < relations.size(); ++id)
      now[id] = is_read_from_files(relations[id]) || relations[id].numbering || relations[id].sums;
    for (const Rule& rule : rules)
      if (rule.role == RuleRole::kDerives && std::ranges::all_of(rule.body, [&](const Literal& l) {
            return l.kind != LiteralKind::kAtom || fillable[l.atom.relation];
          }))
        now[rule.head] = true;
    changed = now != fillable;
    fillable = std::move(now);
  }
  return fillable;
}

}  // namespace stratalog::datalog::language
