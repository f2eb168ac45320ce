// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/declared_names.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {

void DeclaredNames::find_relation(const AtomSyntax& atom, RelationId& id) {
  const std::string& name = atom.relation.name;
  const auto found = declarations_.ids.find(name);
  if (found == declarations_.ids.end()) {
    is_ok_ = false;
    if (declarations_.broken.contains(name) || declarations_.has_unknown_names) return;
    DiagnosticDraft& draft =
        sink_.error(atom.relation.span, fmt::format("undeclared relation `{}`", name));
    draft.hint = suggest(name, declarations_.names);
    if (draft.hint.empty()) draft.hint = fmt::format("declare it with `.decl {}(...)`", name);
    return;
  }
  id = found->second;
  if (declarations_.broken.contains(name)) is_ok_ = false;
  const Relation& relation = declarations_.relations[id];
  if (relation.attributes.size() != atom.arguments.size()) {
    is_ok_ = false;
    const auto count = [](std::size_t n) {
      return fmt::format("{} argument{}", n, n == 1 ? "" : "s");
    };
    sink_
        .error(atom.span, fmt::format("`{}` has {}, not {}", name,
                                      count(relation.attributes.size()), atom.arguments.size()))
        .notes.push_back({declarations_.spans[id], fmt::format("`{}` is declared here", name)});
  }
}

void DeclaredNames::check_branch(const Term& term) {
  if (term.kind != TermKind::kBranch) return;
  const std::string& name = term.type.name;
  const auto place = declarations_.structures->find_branch(name);
  if (!place) {
    is_ok_ = false;
    if (declarations_.has_unknown_names) return;
    DiagnosticDraft& draft = sink_.error(term.type.span, fmt::format("unknown branch `{}`", name));
    draft.hint = declarations_.structures->suggest_branch(name);
    if (draft.hint.empty())
      draft.hint = fmt::format("declare it with `.type T = {} {{ ... }} | ...`", name);
    return;
  }
  const Structure& structure = declarations_.structures->at(place->structure);
  const std::size_t fields = structure.branches[place->branch].fields.size();
  if (fields == term.arguments.size()) return;
  is_ok_ = false;
  sink_.error(term.span,
              fmt::format("branch `{}` of `{}` has {} field{}, not {}", name, structure.name,
                          fields, fields == 1 ? "" : "s", term.arguments.size()));
}

bool DeclaredNames::is_record(const Term& term) const {
  if (term.kind == TermKind::kRecord) return true;
  if (term.kind != TermKind::kBranch) return false;
  const auto place = declarations_.structures->find_branch(term.type.name);
  return place && declarations_.structures->at(place->structure).form == StructureForm::kAlgebraic;
}

std::uint32_t DeclaredNames::find_external(const Term& term) {
  const auto& functors = declarations_.functors;
  for (std::uint32_t id = 0; id < functors.size(); ++id) {
    const ExternalFunctor& functor = functors[id].functor;
    if (functor.name != term.text) continue;
    if (functor.arguments.size() == term.arguments.size()) return id;
    is_ok_ = false;
    sink_
        .error(term.span,
               fmt::format("`@{}` takes {} argument{}, not {}", term.text, functor.arguments.size(),
                           functor.arguments.size() == 1 ? "" : "s", term.arguments.size()))
        .notes.push_back({functors[id].span, "it is declared here"});
    return 0;
  }
  is_ok_ = false;
  if (declarations_.broken_functors.contains(term.text)) return 0;
  std::vector<std::string> names;
  names.reserve(functors.size());
  for (const DeclaredFunctor& known : functors) names.push_back(known.functor.name);
  DiagnosticDraft& draft =
      sink_.error(term.span, fmt::format("undeclared functor `@{}`", term.text));
  draft.hint = suggest(term.text, names);
  if (draft.hint.empty())
    draft.hint = fmt::format("declare it with `.functor {}(...): ...`", term.text);
  return 0;
}

}  // namespace stratalog::datalog::language
