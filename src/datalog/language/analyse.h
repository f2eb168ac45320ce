// SPDX-License-Identifier: Apache-2.0
// Semantic analysis: from the parsed program to the checked one. All checks run, whatever the
// earlier ones found; the result is only meaningful when the sink has no errors. Local.
#pragma once

#include <string_view>

#include "datalog/language/compile.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/inline_relations.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// `text` is what `syntax` was parsed from; `inlined` is what became of its inline relations.
Program analyse(const ProgramSyntax& syntax, const InlineOutcome& inlined, std::string_view text,
                const SourceMap& map, const CompileOptions& options, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
