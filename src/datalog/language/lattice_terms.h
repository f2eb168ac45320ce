// SPDX-License-Identifier: Apache-2.0
// Pieces of syntax that rules over lattices are made of. Pure. Local.
#pragma once

#include <string>
#include <vector>

#include "datalog/language/rule_expansion.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

Term variable_term(std::string name, Span span);
Formula compare_terms(Comparison comparison, Term left, Term right);
Formula atom_formula(AtomSyntax atom);
Formula all_of(std::vector<Formula> children, Span span);
// The goal as it would be written alone.
Formula goal_formula(const Goal& goal);

// Whether `operation` is written as a functor of two `_`.
bool takes_two(const Term& operation);
// The same functor of two terms.
Term applied(const Term& operation, Term first, Term second);

}  // namespace stratalog::datalog::language
