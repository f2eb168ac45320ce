// SPDX-License-Identifier: Apache-2.0
// What a user sees of a program: its diagnostics as rendered, then the checked program as printed.
// The tests of this folder compare this text in full, so that a change of any message or of any
// lowering shows up as a diff.
#pragma once

#include <string>

#include "datalog/language/compile.h"
#include "datalog/language/print_program.h"

namespace stratalog::datalog {

inline std::string outcome_of(const std::string& text, const CompileOptions& options = {}) {
  const CompileOutcome outcome = compile({"test.dl", text}, options);
  std::string seen = render_all(outcome.diagnostics);
  if (outcome.program) seen += print_program(*outcome.program);
  return seen;
}

}  // namespace stratalog::datalog
