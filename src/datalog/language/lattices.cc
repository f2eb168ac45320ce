// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/lattices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "datalog/language/lattice_bodies.h"
#include "datalog/language/lattice_terms.h"

namespace stratalog::datalog::language {
namespace {

class LatticeExpansion {
 public:
  LatticeExpansion(ProgramSyntax& program, DiagnosticSink& sink) : program_(program), sink_(sink) {}

  void run() {
    for (const LatticeSyntax& lattice : program_.lattices) check(lattice);
    for (const RelationSyntax& relation : program_.relations) find_value(relation);
    if (relations_.empty()) return;
    for (const RuleSyntax& rule : program_.rules) check_role(rule);
    for (RuleSyntax& rule : program_.rules) rewrite_body(rule, relations_, sink_);
    for (const auto& [name, of] : relations_) keep_one_value(*find(name), *of);
  }

 private:
  void check(const LatticeSyntax& lattice) {
    const std::string& name = lattice.type.name;
    const auto [known, is_new] = lattices_.emplace(name, &lattice);
    if (!is_new) {
      sink_.error(lattice.type.span, fmt::format("lattice `{}<>` is declared twice", name))
          .notes.push_back({known->second->type.span, "the first declaration is here"});
      return;
    }
    if (!lattice.lub)
      sink_.error(lattice.span, fmt::format("lattice `{}<>` does not define Lub", name));
    for (const auto* operation : {&lattice.lub, &lattice.glb})
      if (*operation && !takes_two(**operation))
        sink_.error((*operation)->span, "Lub and Glb are functors of two `_`").hint =
            "`@glb(_, _)` or `max(_, _)`";
    if (lattice.lub && takes_two(*lattice.lub) && !is_extremum(*lattice.lub) &&
        !unites(*lattice.lub))
      sink_.error(lattice.lub->span, "this functor gives no least upper bounds").hint =
          "`min(_, _)`, `max(_, _)`, `_ bor _` and `_ band _` do, and functors of a library may";
    if (lattice.lub && (!lattice.glb || !lattice.bottom))
      sink_.warning(
          lattice.span,
          fmt::format("lattice `{}<>` does not define {}, so values of atoms are compared "
                      "with `=` and not by its order",
                      name, lattice.glb ? "Bottom" : "Glb"));
  }

  // Which relations have a value, and that it can be one.
  void find_value(const RelationSyntax& relation) {
    const auto& attributes = relation.attributes;
    const auto first = std::ranges::find_if(attributes, &AttributeSyntax::is_lattice);
    if (first == attributes.end()) return;
    const auto lattice = lattices_.find(first->type.name);
    if (lattice == lattices_.end()) {
      sink_.error(first->type.span, fmt::format("there is no `.lattice {}<>`", first->type.name));
      return;
    }
    if (const auto other = std::find_if(std::next(first), attributes.end(),
                                        [](const AttributeSyntax& a) { return a.is_lattice; });
        other != attributes.end()) {
      sink_.error(other->name.span,
                  "not supported yet: more than one lattice attribute in a relation");
      return;
    }
    if (std::next(first) != attributes.end()) {
      sink_.error(first->name.span, fmt::format("the lattice attribute `{}` must come after all "
                                                "others",
                                                first->name.name));
      return;
    }
    if (const LatticeSyntax& found = *lattice->second;
        has_plain_storage(relation) && found.lub && takes_two(*found.lub))
      relations_.emplace(relation.name.name, &found);
  }

  bool has_plain_storage(const RelationSyntax& relation) {
    bool is_plain = relation.choice_keys.empty();
    if (!is_plain)
      sink_.error(relation.name.span,
                  "a relation with a lattice attribute cannot have a choice-domain");
    for (const NameSyntax& qualifier : relation.qualifiers) {
      if (qualifier.name == "eqrel" || qualifier.name == "brie" ||
          qualifier.name == "btree_delete" || qualifier.name == "inline") {
        is_plain = false;
        sink_.error(qualifier.span, fmt::format("a relation with a lattice attribute cannot be {}",
                                                qualifier.name));
      }
    }
    return is_plain;
  }

  void check_role(const RuleSyntax& rule) {
    if (rule.role == RuleRole::kSubsumes && relations_.contains(rule.heads[0].relation.name))
      sink_.error(rule.span, fmt::format("`{}` cannot be subsumed: it has a lattice attribute",
                                         rule.heads[0].relation.name));
  }

  const RelationSyntax* find(const std::string& name) const {
    return &*std::ranges::find(program_.relations, name,
                               [](const RelationSyntax& r) { return r.name.name; });
  }

  static bool is_extremum(const Term& lub) {
    return lub.functor == Functor::kMin || lub.functor == Functor::kMax;
  }

  // Whether it can be a Lub for which there is no order among its arguments.
  static bool unites(const Term& lub) {
    return lub.functor == Functor::kBitAnd || lub.functor == Functor::kBitOr ||
           lub.functor == Functor::kExternal;
  }

  // r(x0, ..., value)
  static AtomSyntax atom_with(const RelationSyntax& relation, Term value) {
    AtomSyntax atom;
    atom.relation = {relation.name.name, value.span};
    atom.span = value.span;
    for (std::size_t i = 0; i + 1 < relation.attributes.size(); ++i)
      atom.arguments.push_back(variable_term(fmt::format("x{}", i), value.span));
    atom.arguments.push_back(std::move(value));
    return atom;
  }

  // r(x, a) <= r(x, b) :- b < a, if the least is wanted; :- b = Lub(a, b) where it is no extremum.
  void keep_one_value(const RelationSyntax& relation, const LatticeSyntax& lattice) {
    const Span span = lattice.span;
    const Term a = variable_term("a", span);
    const Term b = variable_term("b", span);
    std::vector<Formula> body;
    for (const Term& value : {a, b}) body.push_back(atom_formula(atom_with(relation, value)));
    RuleSyntax rule;
    rule.role = RuleRole::kSubsumes;
    rule.heads.push_back(body[0].atom);
    rule.unites_values = !is_extremum(*lattice.lub);
    rule.keeps_one_value = !rule.unites_values;
    if (rule.unites_values)
      body.push_back(compare_terms(Comparison::kEqual, b, applied(*lattice.lub, a, b)));
    else if (lattice.lub->functor == Functor::kMin)
      body.push_back(compare_terms(Comparison::kLess, b, a));
    else
      body.push_back(compare_terms(Comparison::kGreater, b, a));
    rule.body = all_of(std::move(body), span);
    rule.span = span;
    rule.instance = relation.instance;
    program_.rules.push_back(std::move(rule));
  }

  ProgramSyntax& program_;
  DiagnosticSink& sink_;
  std::map<std::string, const LatticeSyntax*> lattices_;  // by type
  LatticeRelations relations_;
};

}  // namespace

void expand_lattices(ProgramSyntax& program, DiagnosticSink& sink) {
  LatticeExpansion(program, sink).run();
}

}  // namespace stratalog::datalog::language
