// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/needed_relations.h"

#include <algorithm>
#include <utility>

#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {

std::vector<bool> needed_relations(const std::vector<Relation>& relations,
                                   const std::vector<Dependency>& dependencies) {
  std::vector<RelationId> open;
  for (RelationId id = 0; id < relations.size(); ++id)
    if (std::ranges::any_of(relations[id].io, [](const IoDirective& directive) {
          return directive.action != IoAction::kInput;
        }))
      open.push_back(id);
  if (open.empty()) return std::vector<bool>(relations.size(), true);
  std::vector<std::vector<RelationId>> sources(relations.size());
  for (const Dependency& dependency : dependencies)
    sources[dependency.head].push_back(dependency.on);
  std::vector<bool> needed(relations.size());
  for (const RelationId id : open) needed[id] = true;
  while (!open.empty()) {
    const RelationId head = open.back();
    open.pop_back();
    for (const RelationId source : sources[head]) {
      if (needed[source]) continue;
      needed[source] = true;
      open.push_back(source);
    }
  }
  return needed;
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
