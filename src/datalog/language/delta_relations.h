// SPDX-License-Identifier: Apache-2.0
// `.decl d = debug_delta(r)`: d holds every tuple of r and, in a last column, the pass over the
// recursive rules that found it (0: facts and rules without recursion). Such a declaration becomes
// an ordinary one with one rule that reads r pass by pass. Works on syntax, after components.
// Local.
#pragma once

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// Fills in attributes and adds the rules; RelationSyntax::delta_of stays, because such a relation
// must be evaluated together with the one it watches. Reports unknown relations, and rules, facts
// and input for a delta relation.
void expand_delta_relations(ProgramSyntax& program, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
