// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/warnings.h"
#include "datalog/relation_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace stratalog::datalog::language {
namespace {

struct Occurrences {
  std::size_t count = 0;
  Span first;
};

using NameCounts = std::map<std::string, Occurrences>;

void count_names(const Formula& formula, NameCounts& counts);

void count_names(const Term& term, NameCounts& counts) {
  if (term.kind == TermKind::kVariable && term.text[0] != '_') {
    Occurrences& occurrences = counts[term.text];
    if (occurrences.count++ == 0) occurrences.first = term.span;
  }
  for (const Term& argument : term.arguments) count_names(argument, counts);
  if (term.kind != TermKind::kAggregate) return;
  if (term.aggregate->target) count_names(*term.aggregate->target, counts);
  count_names(term.aggregate->body, counts);
}

void count_names(const Formula& formula, NameCounts& counts) {
  for (const Term& term : formula.atom.arguments) count_names(term, counts);
  for (const Term& term : formula.operands) count_names(term, counts);
  for (const Formula& child : formula.children) count_names(child, counts);
}

}  // namespace

void warn_about_variables(const RuleSyntax& rule, const std::vector<Conjunction>& bodies,
                          DiagnosticSink& sink) {
  if (!rule.body) return;
  NameCounts in_heads;
  for (const AtomSyntax& head : rule.heads) {
    for (const Term& term : head.arguments) count_names(term, in_heads);
  }
  NameCounts most;  // over the conjunctions
  for (const Conjunction& body : bodies) {
    NameCounts counts;
    for (const Goal& goal : body) count_names(*goal.formula, counts);
    for (const auto& [name, occurrences] : counts) {
      Occurrences& known = most[name];
      if (known.count == 0) known.first = occurrences.first;
      known.count = std::max(known.count, occurrences.count);
    }
  }
  for (const auto& [name, occurrences] : most) {
    if (occurrences.count != 1 || in_heads.contains(name)) continue;
    sink.warning(occurrences.first, fmt::format("variable `{}` occurs only once", name)).hint =
        fmt::format("write `_` or `_{}` if that is meant", name);
  }
}

void warn_about_standard_input(const ProgramSyntax& syntax, DiagnosticSink& sink) {
  std::size_t readers = 0;
  for (const DirectiveSyntax& directive : syntax.directives) {
    if (directive.action != IoAction::kInput) continue;
    const bool is_reader = std::any_of(
        directive.parameters.begin(), directive.parameters.end(),
        [](const ParameterSyntax& p) { return p.key.name == "IO" && p.value == "stdin"; });
    if (!is_reader) continue;
    readers += directive.relations.size();
    if (readers > 1)
      sink.warning(directive.span, "standard input is read for several relations").hint =
          "the first one that is read gets all of it, the others nothing";
  }
}

void warn_about_relations(const ProgramSyntax& syntax, const Declarations& declarations,
                          DiagnosticSink& sink) {
  if (!syntax.is_complete || syntax.has_unknown_names)
    return;  // the rule may be in what was skipped
  std::set<std::string> filled;
  for (const RuleSyntax& rule : syntax.rules) {
    if (rule.role == RuleRole::kSubsumes) continue;
    for (const AtomSyntax& head : rule.heads) filled.insert(head.relation.name);
  }
  for (const RelationSyntax& relation : syntax.relations)
    if (relation.sums) filled.insert(relation.name.name);
  for (RelationId id = 0; id < declarations.relations.size(); ++id) {
    const Relation& relation = declarations.relations[id];
    if (is_read_from_files(relation) || filled.contains(relation.name)) continue;
    sink.warning(declarations.spans[id],
                 fmt::format("relation `{}` is always empty", relation.name))
        .hint = fmt::format("it has no facts, rules or `.input {}`", relation.name);
  }
}

}  // namespace stratalog::datalog::language
