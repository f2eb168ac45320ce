// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/lattice_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "datalog/language/lattice_terms.h"
#include "datalog/language/rule_expansion.h"
#include "datalog/language/scope_grounding.h"
#include "datalog/language/syntax_walk.h"

namespace stratalog::datalog::language {
namespace {

class BodyRewriter {
 public:
  BodyRewriter(const LatticeRelations& relations, DiagnosticSink& sink)
      : relations_(relations), sink_(sink) {}

  void rewrite(RuleSyntax& rule) {
    if (!rule.body || !reads_values(*rule.body)) return;
    std::vector<Conjunction> bodies;
    if (!expand_body(*rule.body, sink_, bodies)) return;
    Formula whole;
    whole.kind = FormulaKind::kOr;
    whole.span = rule.body->span;
    for (const Conjunction& body : bodies)
      whole.children.push_back(rewritten(body, rule.body->span));
    if (whole.children.size() == 1) {
      Formula only = std::move(whole.children[0]);
      whole = std::move(only);
    }
    *rule.body = std::move(whole);
  }

 private:
  // Of relations whose values are compared by an order; null for others.
  const LatticeSyntax* lattice_of(const AtomSyntax& atom) const {
    const auto found = relations_.find(atom.relation.name);
    if (found == relations_.end() || atom.arguments.empty()) return nullptr;
    const LatticeSyntax* lattice = found->second;
    return lattice->glb && lattice->bottom && takes_two(*lattice->glb) ? lattice : nullptr;
  }

  bool reads_values(Formula& formula) const {
    bool found = false;
    walk(
        formula, [](const Term&) {},
        [&](const AtomSyntax& atom) {
          found |= lattice_of(atom) != nullptr && atom.arguments.back().kind != TermKind::kWildcard;
        });
    return found;
  }

  Formula rewritten(const Conjunction& body, Span span) {
    NameSet others;  // in literals, but not as values
    const NameSet grounded = grounded_without_values(body, others);
    std::vector<Formula> goals;
    std::vector<Formula> added;
    std::map<std::string, std::vector<Term*>> unknown;  // variables of values, by name
    std::map<std::string, const LatticeSyntax*> lattice_of_name;
    goals.reserve(body.size());
    for (const Goal& goal : body) {
      goals.push_back(goal_formula(goal));
      Formula& formula = goals.back();
      check_aggregates(formula, body, goal);
      if (goal.kind == GoalKind::kNegatedAtom) {
        formula = negated_atom(std::move(formula));
        continue;
      }
      const LatticeSyntax* lattice =
          goal.kind == GoalKind::kAtom ? lattice_of(formula.atom) : nullptr;
      if (lattice == nullptr) continue;
      Term& value = formula.atom.arguments.back();
      if (value.kind == TermKind::kWildcard) continue;
      if (is_known(value, grounded)) {
        const Term known = value;
        value = fresh_variable(value.span);
        added.push_back(
            compare_terms(Comparison::kEqual, applied(*lattice->glb, value, known), known));
      } else if (value.kind == TermKind::kVariable) {
        unknown[value.text].push_back(&value);
        lattice_of_name[value.text] = lattice;
      } else {
        sink_.error(value.span, "the value of a lattice is not grounded here");
      }
    }
    for (auto& [name, values] : unknown)
      if (values.size() > 1) meet(name, values, *lattice_of_name[name], others, added);
    for (Formula& formula : added) goals.push_back(std::move(formula));
    return all_of(std::move(goals), span);
  }

  // x becomes x1, x2, ... in the atoms, and x = Glb(x2, x1), x != Bottom.
  void meet(const std::string& name, const std::vector<Term*>& values, const LatticeSyntax& lattice,
            const NameSet& others, std::vector<Formula>& added) {
    const Span span = values[0]->span;
    if (others.contains(name)) {
      sink_.error(span, fmt::format("`{}` stands for several values of a lattice, so it cannot be "
                                    "used in other literals",
                                    name));
      return;
    }
    Term met;
    for (Term* value : values) {
      *value = fresh_variable(value->span);
      met = value == values[0] ? *value : applied(*lattice.glb, *value, met);
    }
    added.push_back(compare_terms(Comparison::kEqual, variable_term(name, span), met));
    added.push_back(
        compare_terms(Comparison::kNotEqual, variable_term(name, span), *lattice.bottom));
  }

  // !r(x, v) is !r(x, _) or r(x, w), Glb(w, v) = Bottom.
  Formula negated_atom(Formula formula) {
    AtomSyntax& atom = formula.children[0].atom;
    const LatticeSyntax* lattice = lattice_of(atom);
    if (lattice == nullptr || atom.arguments.back().kind == TermKind::kWildcard) return formula;
    const Term known = atom.arguments.back();
    AtomSyntax other = atom;
    atom.arguments.back() = Term();
    atom.arguments.back().span = known.span;
    other.arguments.back() = fresh_variable(known.span);
    std::vector<Formula> low;
    low.push_back(atom_formula(other));
    low.push_back(compare_terms(Comparison::kEqual,
                                applied(*lattice->glb, other.arguments.back(), known),
                                *lattice->bottom));
    Formula either;
    either.kind = FormulaKind::kOr;
    either.span = formula.span;
    const Span span = formula.span;
    either.children.push_back(std::move(formula));
    either.children.push_back(all_of(std::move(low), span));
    return either;
  }

  // The names that other literals bind. `others` gets all names that do not stand as values.
  NameSet grounded_without_values(const Conjunction& body, NameSet& others) const {
    std::vector<Formula> masked;
    Conjunction goals = body;
    masked.reserve(body.size());
    for (std::size_t g = 0; g < body.size(); ++g) {
      masked.push_back(*body[g].formula);
      goals[g].formula = &masked.back();
      if (body[g].kind == GoalKind::kAtom && lattice_of(masked.back().atom) != nullptr)
        masked.back().atom.arguments.back() = Term();
      collect_all_names(masked.back(), others);
    }
    return grounded_names(goals, {}, nullptr, nullptr);
  }

  static bool is_known(const Term& term, const NameSet& grounded) {
    if (has_wildcard(term)) return false;
    NameSet names;
    collect_names(term, names);
    return std::ranges::all_of(names, [&](const std::string& n) { return grounded.contains(n); });
  }
  static bool has_wildcard(const Term& term) {
    return term.kind == TermKind::kWildcard || std::ranges::any_of(term.arguments, has_wildcard);
  }

  // Inside an aggregate a value can only be one that nothing else names.
  void check_aggregates(Formula& formula, const Conjunction& body, const Goal& self) {
    if (!has_generator(formula)) return;
    NameSet outside;
    for (const Goal& goal : body)
      if (&goal != &self) collect_all_names(*goal.formula, outside);
    NameSet seen;
    walk(
        formula, [](const Term&) {},
        [&](const AtomSyntax& atom) {
          if (lattice_of(atom) == nullptr) return;
          const Term& value = atom.arguments.back();
          if (value.kind == TermKind::kWildcard) return;
          if (value.kind == TermKind::kVariable && !outside.contains(value.text) &&
              seen.insert(value.text).second)
            return;
          sink_
              .error(value.span,
                     "not supported yet: a value of a lattice that is known, inside an aggregate")
              .hint = "give the aggregate's body a relation of its own";
        });
  }

  Term fresh_variable(Span span) { return variable_term(fmt::format("value#{}", ++fresh_), span); }

  const LatticeRelations& relations_;
  DiagnosticSink& sink_;
  std::uint32_t fresh_ = 0;
};

}  // namespace

void rewrite_body(RuleSyntax& rule, const LatticeRelations& relations, DiagnosticSink& sink) {
  BodyRewriter(relations, sink).rewrite(rule);
}

}  // namespace stratalog::datalog::language
