// SPDX-License-Identifier: Apache-2.0
// `.include "file"`: replaces the directive by the file's text between line markers, recursively.
// Reads files; starts no process. Local.
#pragma once

#include <string>
#include <vector>

#include "datalog/language/diagnostic.h"

namespace stratalog::datalog::language {

struct IncludeOutcome {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // all errors
};

// Searches the directory of the including file, then `directories` in order. A file that says
// `.once` is taken once.
IncludeOutcome expand_includes(const std::string& name, const std::string& text,
                               const std::vector<std::string>& directories);

}  // namespace stratalog::datalog::language
