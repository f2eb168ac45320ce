// SPDX-License-Identifier: Apache-2.0
// Which relations magic sets may restrict: what the program wishes, and what the meaning of its
// rules allows. Pure; local.
#pragma once

#include <vector>

#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/plan_checks.h"
#include "datalog/language/stratify.h"
#include "datalog/language/syntax.h"
#include "datalog/program.h"

namespace stratalog::datalog::language {

// By relation, which ones may be restricted to what is asked for: named by the pragmas
// magic-transform and magic-transform-exclude ("*": all; names with commas between) or by the
// qualifiers magic and no_magic. Warns of names that nothing has, and where nothing is put out.
std::vector<bool> wished_restrictions(const ProgramSyntax& syntax, const Declarations& declarations,
                                      DiagnosticSink& sink);

// Of these the ones that stay right when tuples are missing that nobody asks for. Not what an
// output shows, a rule with a plan derives, or has no rules, no columns or is an equivalence; nor
// what is negated or aggregated, what chooses, subsumes or is limited in size, what counts passes
// or tuples, and all that these depend on: their tuples depend on what is not there, or on when it
// comes. Requires a program without errors.
std::vector<bool> restrictable_relations(const std::vector<bool>& wished,
                                         const ProgramSyntax& syntax,
                                         const std::vector<Rule>& rules,
                                         const Declarations& declarations,
                                         const std::vector<Dependency>& dependencies,
                                         const std::vector<PlannedRule>& planned);

}  // namespace stratalog::datalog::language
