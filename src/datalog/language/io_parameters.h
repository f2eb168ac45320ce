// SPDX-License-Identifier: Apache-2.0
// The parameters of .input, .output and .printsize: which exist, for which direction, and what they
// may say. Only checks; the facts room interprets them. Pure. Local.
#pragma once

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// Reports unknown parameters (with a suggestion), unknown or unsupported kinds of IO, and values of
// the wrong form.
void check_io_parameters(const DirectiveSyntax& directive, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
