// SPDX-License-Identifier: Apache-2.0
// `inline` relations: an atom of one is replaced by the bodies of its rules, so that the relation
// itself is never computed. Works on syntax, after components. The meaning of a program does not
// change: where writing the rules out would change it (inside aggregates, under a negation that
// would have to quantify), the relation is computed and stored after all. Bounded in size. Local.
#pragma once

#include <map>
#include <set>
#include <string>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

struct InlineOutcome {
  // Never stored: their own rules are checked but not evaluated.
  std::set<std::string> written_out;
  // Inline relations that are stored after all, and the use that asks for it.
  std::map<std::string, Span> stored;
};

// Rewrites program.rules: RuleSyntax::use says which of them are to be evaluated. Reports inline
// relations that are read, written or need themselves.
InlineOutcome inline_relations(ProgramSyntax& program, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
