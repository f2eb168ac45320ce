// SPDX-License-Identifier: Apache-2.0
// Subtypes: a variable has the type that the positive atoms of the body and the fields of records
// agree on, and the head may
// only take it where the attribute's type is that type or above it. Constants and computed values
// fit everywhere. Kinds are inference's business; this only runs for programs that declare types.
// Local.
#pragma once

#include "datalog/language/bound_rule.h"
#include "datalog/language/kind_inference.h"
#include "datalog/language/subtype_lattice.h"

namespace stratalog::datalog::language {

// Reports every variable without a possible type and every head argument of a wrong one.
void check_subtypes(const BoundRule& rule, const InferredKinds& kinds,
                    const Declarations& declarations, SubtypeLattice& lattice,
                    DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
