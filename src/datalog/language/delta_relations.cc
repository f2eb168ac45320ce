// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/delta_relations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "datalog/language/spelling.h"

namespace stratalog::datalog::language {
namespace {

constexpr const char* kIterationAttribute = "iteration";

class Expansion {
 public:
  Expansion(ProgramSyntax& program, DiagnosticSink& sink) : program_(program), sink_(sink) {}

  void run() {
    for (std::size_t i = 0; i < program_.relations.size(); ++i)
      relations_.emplace(program_.relations[i].name.name, i);
    check_that_nothing_else_fills_them();
    for (RelationSyntax& relation : program_.relations) {
      if (relation.delta_of) expand(relation);
    }
  }

 private:
  const RelationSyntax* find(const std::string& name) const {
    const auto found = relations_.find(name);
    return found == relations_.end() ? nullptr : &program_.relations[found->second];
  }

  void check_that_nothing_else_fills_them() {
    const auto check = [&](const NameSyntax& name) {
      const RelationSyntax* relation = find(name.name);
      if (relation == nullptr || !relation->delta_of) return;
      sink_
          .error(name.span,
                 fmt::format("`{}` is filled by `debug_delta` and by nothing else", name.name))
          .notes.push_back({relation->name.span, "it is declared here"});
    };
    for (const RuleSyntax& rule : program_.rules) {
      for (const AtomSyntax& head : rule.heads) check(head.relation);
    }
    for (const DirectiveSyntax& directive : program_.directives) {
      if (directive.action != IoAction::kInput) continue;
      for (const NameSyntax& name : directive.relations) check(name);
    }
  }

  void expand(RelationSyntax& relation) {
    const NameSyntax& source = *relation.delta_of;
    const RelationSyntax* watched = find(source.name);
    if (watched == nullptr || watched->delta_of || has_qualifier(*watched, "inline")) {
      program_.broken_relations.insert(relation.name.name);
      if (watched == nullptr && program_.has_unknown_names) return;
      DiagnosticDraft& draft = sink_.error(
          source.span, watched == nullptr
                           ? fmt::format("undeclared relation `{}`", source.name)
                           : fmt::format("`{}` has no deltas: it is {}", source.name,
                                         watched->delta_of ? "made of deltas itself" : "inline"));
      std::vector<std::string> names;
      names.reserve(relations_.size());
      for (const auto& [name, index] : relations_) names.push_back(name);
      if (watched == nullptr) draft.hint = suggest(source.name, names);
      return;
    }
    relation.attributes = watched->attributes;
    for (AttributeSyntax& attribute : relation.attributes) attribute.is_lattice = false;
    relation.attributes.push_back({{kIterationAttribute, source.span}, {"unsigned", source.span}});
    program_.rules.push_back(rule_of(relation, *watched));
  }

  // d(x0, ..., recursive_iteration_cnt() - 1) :- r(x0, ...): a tuple found in one pass is new in
  // the next one.
  static RuleSyntax rule_of(const RelationSyntax& relation, const RelationSyntax& watched) {
    const Span span = relation.delta_of->span;
    const auto term = [&](TermKind kind, std::string text) {
      Term result;
      result.kind = kind;
      result.text = std::move(text);
      result.span = span;
      return result;
    };
    AtomSyntax body;
    body.relation = {watched.name.name, span};
    body.span = span;
    for (std::size_t i = 0; i < watched.attributes.size(); ++i)
      body.arguments.push_back(term(TermKind::kVariable, fmt::format("x{}", i)));
    AtomSyntax head = body;
    head.relation.name = relation.name.name;
    Term count = term(TermKind::kFunctor, {});
    count.functor = Functor::kIteration;
    Term before = term(TermKind::kFunctor, {});
    before.functor = Functor::kSubtract;
    before.arguments.push_back(std::move(count));
    before.arguments.push_back(term(TermKind::kInteger, "1"));
    head.arguments.push_back(std::move(before));
    RuleSyntax rule;
    rule.heads.push_back(std::move(head));
    rule.body.emplace();
    rule.body->kind = FormulaKind::kAtom;
    rule.body->span = span;
    rule.body->atom = std::move(body);
    rule.span = span;
    rule.instance = relation.instance;
    return rule;
  }

  ProgramSyntax& program_;
  DiagnosticSink& sink_;
  std::map<std::string, std::size_t> relations_;
};

}  // namespace

void expand_delta_relations(ProgramSyntax& program, DiagnosticSink& sink) {
  Expansion(program, sink).run();
}

}  // namespace stratalog::datalog::language
