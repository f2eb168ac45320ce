// SPDX-License-Identifier: Apache-2.0
// Warnings about programs that are legal and probably not meant: variables that occur once,
// relations that nothing fills. The same two that Soufflé gives. Local.
#pragma once

#include <vector>

#include "datalog/language/declarations.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/rule_expansion.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// A variable that no head mentions and that each conjunction mentions at most once binds nothing.
void warn_about_variables(const RuleSyntax& rule, const std::vector<Conjunction>& bodies,
                          DiagnosticSink& sink);

// Only one relation can get what standard input holds.
void warn_about_standard_input(const ProgramSyntax& syntax, DiagnosticSink& sink);

// A relation without rules, facts and .input is empty.
void warn_about_relations(const ProgramSyntax& syntax, const Declarations& declarations,
                          DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
