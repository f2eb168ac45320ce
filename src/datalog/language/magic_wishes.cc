// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/magic_wishes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "datalog/counted_passes.h"
#include "datalog/language/needed_relations.h"
#include "datalog/language/spelling.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::string_view kWish = "magic-transform";
constexpr std::string_view kExcept = "magic-transform-exclude";

// The relations that a pragma names; those that nothing has are warned of.
void mark_named(const PragmaSyntax& pragma, bool wish, const Declarations& declarations,
                std::vector<bool>& wished, DiagnosticSink& sink) {
  for (std::string_view rest = pragma.value; !rest.empty();) {
    const std::string name(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    if (name == "*") {
      wished.assign(wished.size(), wish);
      continue;
    }
    const auto found = declarations.ids.find(name);
    if (found != declarations.ids.end()) {
      wished[found->second] = wish;
    } else if (!name.empty()) {
      sink.warning(pragma.key.span,
                   fmt::format("`.pragma \"{}\"` names `{}`, which is no relation that is computed",
                               pragma.key.name, name))
          .hint = suggest(name, declarations.names);
    }
  }
}

}  // namespace

std::vector<bool> wished_restrictions(const ProgramSyntax& syntax, const Declarations& declarations,
                                      DiagnosticSink& sink) {
  std::vector<bool> wished(declarations.relations.size());
  for (const PragmaSyntax& pragma : syntax.pragmas)
    if (pragma.key.name == kWish) mark_named(pragma, true, declarations, wished, sink);
  for (const PragmaSyntax& pragma : syntax.pragmas)
    if (pragma.key.name == kExcept) mark_named(pragma, false, declarations, wished, sink);
  for (const RelationSyntax& relation : syntax.relations) {
    const auto found = declarations.ids.find(relation.name.name);
    if (found == declarations.ids.end()) continue;
    if (has_qualifier(relation, "magic")) wished[found->second] = true;
    if (has_qualifier(relation, "no_magic")) wished[found->second] = false;
  }
  if (std::ranges::find(wished, true) == wished.end()) return {};
  if (std::ranges::any_of(declarations.relations, is_shown)) return wished;
  for (const PragmaSyntax& pragma : syntax.pragmas)
    if (pragma.key.name == kWish)
      sink.warning(pragma.key.span, "nothing is put out, so all relations are computed whole");
  return {};
}

std::vector<bool> restrictable_relations(const std::vector<bool>& wished,
                                         const ProgramSyntax& syntax,
                                         const std::vector<Rule>& rules,
                                         const Declarations& declarations,
                                         const std::vector<Dependency>& dependencies,
                                         const std::vector<PlannedRule>& planned) {
  const auto& relations = declarations.relations;
  std::vector<std::vector<std::uint32_t>> rules_of(relations.size());
  for (std::uint32_t r = 0; r < rules.size(); ++r) rules_of[rules[r].head].push_back(r);
  std::vector<bool> restricted(relations.size());
  for (RelationId id = 0; id < relations.size(); ++id)
    restricted[id] =
        wished[id] && !is_shown(relations[id]) && !relations[id].attributes.empty() &&
        !is_equivalence(relations[id]) &&
        std::ranges::any_of(rules_of[id], [&](std::uint32_t r) { return !rules[r].body.empty(); });
  for (const PlannedRule& plan : planned) restricted[plan.head] = false;
  std::vector<RelationId> whole;
  for (const Dependency& dependency : dependencies)
    if (dependency.kind != DependencyKind::kPositive) whole.push_back(dependency.on);
  for (RelationId id = 0; id < relations.size(); ++id)
    if (!relations[id].choice_keys.empty() || relations[id].size_limit) whole.push_back(id);
  for (const Rule& rule : rules)
    if (rule.role == RuleRole::kSubsumes || counts_passes(rule)) whole.push_back(rule.head);
  const auto add_named = [&](const NameSyntax& name) {
    const auto found = declarations.ids.find(name.name);
    if (found != declarations.ids.end()) whole.push_back(found->second);
  };
  for (const RelationSyntax& relation : syntax.relations) {
    if (relation.delta_of || relation.sums) add_named(relation.name);
    if (relation.delta_of) add_named(*relation.delta_of);
    if (relation.sums) add_named(*relation.sums);
  }
  const std::vector<bool> is_below = with_sources(std::move(whole), relations.size(), dependencies);
  for (RelationId id = 0; id < relations.size(); ++id)
    restricted[id] = restricted[id] && !is_below[id];
  return restricted;
}

}  // namespace stratalog::datalog::language
