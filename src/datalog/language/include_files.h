// SPDX-License-Identifier: Apache-2.0
// `.include "file"`: replaces the directive by the file's text between line markers, recursively.
// Reads files; starts no process. Local.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "datalog/language/diagnostic.h"

namespace stratalog::datalog::language {

// The whole file, or nothing when it cannot be read or is larger than kMaxExpandedBytes.
std::optional<std::string> read_text_file(const std::string& path);

// "a/b.dl" seen from "c/d.dl" is "c/a/b.dl"; absolute paths stay.
std::string path_beside(const std::string& file, const std::string& path);

struct IncludeOutcome {
  std::string text;
  std::vector<Diagnostic> diagnostics;  // all errors
};

// Searches the directory of the including file, then `directories` in order. A file that says
// `.once` is taken once.
IncludeOutcome expand_includes(const std::string& name, const std::string& text,
                               const std::vector<std::string>& directories);

}  // namespace stratalog::datalog::language
