// SPDX-License-Identifier: Apache-2.0
// Walks over syntax trees: every term and every atom of a rule, with those inside aggregates. The
// passes that rewrite names (instances of components, inlined relations) go through here, so that a
// new kind of term is visited everywhere once it is visited here. Pure. Local.
#pragma once

#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// `on_term(Term&)` comes before the terms inside; `on_atom(AtomSyntax&)` before the atom's
// arguments. Either may rewrite what it is given.
template <typename OnTerm, typename OnAtom>
void walk(Formula& formula, const OnTerm& on_term, const OnAtom& on_atom);

template <typename OnTerm, typename OnAtom>
void walk(Term& term, const OnTerm& on_term, const OnAtom& on_atom) {
  on_term(term);
  for (Term& argument : term.arguments) walk(argument, on_term, on_atom);
  if (!term.aggregate) return;
  if (term.aggregate->target) walk(*term.aggregate->target, on_term, on_atom);
  walk(term.aggregate->body, on_term, on_atom);
}

template <typename OnTerm, typename OnAtom>
void walk(AtomSyntax& atom, const OnTerm& on_term, const OnAtom& on_atom) {
  on_atom(atom);
  for (Term& argument : atom.arguments) walk(argument, on_term, on_atom);
}

template <typename OnTerm, typename OnAtom>
void walk(Formula& formula, const OnTerm& on_term, const OnAtom& on_atom) {
  if (formula.kind == FormulaKind::kAtom) walk(formula.atom, on_term, on_atom);
  for (Term& operand : formula.operands) walk(operand, on_term, on_atom);
  for (Formula& child : formula.children) walk(child, on_term, on_atom);
}

template <typename OnTerm, typename OnAtom>
void walk(RuleSyntax& rule, const OnTerm& on_term, const OnAtom& on_atom) {
  for (AtomSyntax& head : rule.heads) walk(head, on_term, on_atom);
  if (rule.body) walk(*rule.body, on_term, on_atom);
}

}  // namespace stratalog::datalog::language
