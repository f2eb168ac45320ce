// SPDX-License-Identifier: Apache-2.0
// `.lattice T<> { ... }`: a relation whose last attribute is of type `T<>` holds one value for each
// combination of the others, the least upper bound of all that is derived. Such programs are
// written out in what there is anyway: rules that subsume and keep the best value
// (plan/best_value.h) where Lub is min or max, or unite values, and bodies in which Glb compares
// and unites values, as Soufflé does it. Works on syntax, after components. Local.
#pragma once

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// Adds rules and rewrites bodies. Reports what is no lattice, and uses that have no meaning.
void expand_lattices(ProgramSyntax& program, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
