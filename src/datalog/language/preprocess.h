// SPDX-License-Identifier: Apache-2.0
// The preprocessor, as in Soufflé: #include, #define and the like go through the system's C
// preprocessor, `.include` is expanded here. Line markers in the result lead back to the user's
// files. This is the one place of the language that reads files and starts a process. Local: call
// it on one rank and hand the text to the others.
#pragma once

#include <optional>
#include <string>

#include "datalog/language/compile.h"
#include "datalog/language/source_map.h"

namespace stratalog::datalog {

struct PreprocessOutcome {
  std::optional<std::string> text;  // absent when a diagnostic is an error
  std::vector<Diagnostic> diagnostics;
  language::OriginalTexts
      originals;  // of the files that line markers name, as far as they could be read
};

// With PreprocessorUse::kNever the text comes back unchanged, but for __FILE__ and its like.
PreprocessOutcome preprocess(const SourceText& source, const CompileOptions& options);

}  // namespace stratalog::datalog
