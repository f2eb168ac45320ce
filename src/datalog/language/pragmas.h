// SPDX-License-Identifier: Apache-2.0
// `.pragma "name" "value"`: options of Soufflé's command that a program sets. The few that the
// command here has, too, are handed on; of all others a warning says that they do nothing. Local.
#pragma once

#include <vector>

#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/syntax.h"

namespace stratalog::datalog::language {

// In the order in which they stand. Of an option that holds one value, the last.
std::vector<Pragma> take_pragmas(const std::vector<PragmaSyntax>& pragmas, DiagnosticSink& sink);

}  // namespace stratalog::datalog::language
