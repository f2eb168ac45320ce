// SPDX-License-Identifier: Apache-2.0
// Components: every .init is replaced by a copy of its component's content, inherited content
// included, under qualified names ("instance.relation"); afterwards no component is left. Works on
// syntax alone, before any declaration is looked at. Soufflé's rules: names that a component does
// not declare are looked for around it; .override drops inherited rules; a rule for a relation of
// the surroundings joins that relation's rules. Bounded in depth and size. Local.
#pragma once

#include <memory>
#include <vector>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// Reports unknown components, wrong numbers of parameters, cycles of inheritance, .override of what
// cannot be overridden, and instances without end.
void instantiate_components(ProgramSyntax& program, DiagnosticSink& sink);

// How the text of an instance came to stand in the program, innermost instance first; null for
// kNoInstance. For DiagnosticSink::set_origin.
std::shared_ptr<const std::vector<NoteDraft>> instance_notes(const ProgramSyntax& program,
                                                             InstanceNumber instance);

}  // namespace stratalog::datalog::language
