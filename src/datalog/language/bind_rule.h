// SPDX-License-Identifier: Apache-2.0
// Binding: gives every name of one head and one conjunction its number. Decides which variables of
// an aggregate come from outside (Soufflé's rule: those grounded outside that the target expression
// does not mention), lifts expressions out of atoms, and reports unknown relations and wrong
// arities. Local.
#pragma once

#include <optional>

#include "datalog/language/bound_rule.h"
#include "datalog/language/declarations.h"
#include "datalog/language/rule_expansion.h"

namespace stratalog::datalog::language {

// Nothing when the rule has to be given up; what is wrong was reported, now or with the
// declaration.
std::optional<BoundRule> bind_rule(const AtomSyntax& head, const Conjunction& body, Span rule_span,
                                   bool is_fact, const Declarations& declarations,
                                   DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
