// SPDX-License-Identifier: Apache-2.0
// Diagnostic: one error or warning about a program, complete in itself: it carries the source lines
// that it shows, so it can be rendered (or sent to another rank) without the sources. Nothing here
// prints. Local; thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "datalog/program.h"

namespace stratalog::datalog {

enum class Severity : std::uint8_t { kError, kWarning };

// A place together with the source line that it is in. `length` counts characters from place.column
// on; it is at least 1 and never reaches past the end of the line. A place without a file and line
// belongs to the whole program.
struct MarkedPlace {
  SourcePlace place;
  std::uint32_t length = 1;
  std::string line_text;
  // True when the line was produced by a macro: line_text is then the text after expansion.
  bool from_macro = false;
};

struct DiagnosticNote {
  MarkedPlace where;
  std::string message;
};

struct Diagnostic {
  Severity severity = Severity::kError;
  MarkedPlace where;
  std::string message;
  std::string expected;  // what would have been right here; may be empty
  std::string hint;  // how to repair it; may be empty
  std::vector<DiagnosticNote> notes;
  std::size_t count = 1;  // more where it says how many are not shown
};

// "file:line:col: error: ...", the line with a caret range below, then expected, hint and notes.
// Ends with a newline.
std::string render(const Diagnostic& diagnostic);

// All of them, separated by nothing, with a last line that counts errors and warnings; empty for an
// empty list.
std::string render_all(const std::vector<Diagnostic>& diagnostics);

}  // namespace stratalog::datalog
