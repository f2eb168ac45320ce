// SPDX-License-Identifier: Apache-2.0
// What the values of relations over a lattice mean in bodies, as in Soufflé: a known value asks
// whether the relation's value is at least that (`Glb(value, known) = known`); a variable that
// stands for several values is their Glb, unless that is Bottom; a negated atom holds where there
// is no value or its Glb with the known one is Bottom. A variable that stands for one value is that
// value. Nothing changes where a lattice lacks Glb or Bottom. Local.
#pragma once

#include <map>
#include <string>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// By the name of a relation whose last attribute is a value.
using LatticeRelations = std::map<std::string, const LatticeSyntax*>;

// A body that is rewritten becomes a disjunction of conjunctions.
void rewrite_body(RuleSyntax& rule, const LatticeRelations& relations, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
