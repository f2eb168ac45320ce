// SPDX-License-Identifier: Apache-2.0
// The front end of the language: program text in, checked program or diagnostics out. Stages in
// order: preprocess, lex and parse, components, inlining, declarations, binding, kinds, grounding,
// emission, stratification, gathered aggregates, magic sets. Every stage reports all that it finds.
// compile() with PreprocessorUse::kNever touches no files and starts no process: ranks that get the
// expanded text from another rank compile it so, and get the same program. Local; no global state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datalog/language/diagnostic.h"
#include "datalog/program.h"

namespace stratalog::datalog {

struct SourceText {
  std::string
      name;  // how messages call it; its directory is searched first by #include and .include
  std::string text;
};

enum class PreprocessorUse : std::uint8_t {
  kAuto,  // the C preprocessor runs when a line begins with `#` or a macro is given; `.include` is
          // expanded
  kNever,  // the text is taken as it is; line markers in it are understood
};

// Where tuples of relations come from that nothing in the program fills.
enum class OtherFacts : std::uint8_t { kNone, kFromCaller };

// What is done about relations of which the program wishes only what its outputs ask for
// (language/magic_sets.h).
enum class MagicSets : std::uint8_t {
  kApply,
  kMark,  // rules stay as written, for questions about what there is: Relation::is_restricted says
          // where tuples may be missing
};

struct CompileOptions {
  PreprocessorUse preprocessor = PreprocessorUse::kAuto;
  std::string preprocessor_command = "cpp";  // found through PATH
  std::vector<std::string> include_directories = {};
  std::vector<std::string> macros = {};  // NAME or NAME=VALUE
  // As if they stood behind the program; then they do, in Program::source_text. Not with kNever,
  // where they stand in the text already.
  std::vector<Pragma> pragmas = {};
  std::size_t diagnostic_limit = 100;
  OtherFacts other_facts = OtherFacts::kNone;  // without any, relations may always be empty
  MagicSets magic_sets = MagicSets::kApply;
};

// A program of more than 64 MiB is refused, and so is one that grows past 256 MiB in the
// preprocessor.
inline constexpr std::size_t kMaxSourceBytes = 64U << 20U;
inline constexpr std::size_t kMaxExpandedBytes = 256U << 20U;

struct CompileOutcome {
  std::optional<Program> program;  // present exactly when no diagnostic is an error
  std::vector<Diagnostic> diagnostics;

  bool is_ok() const { return program.has_value(); }
};

CompileOutcome compile(const SourceText& source, const CompileOptions& options = {});

}  // namespace stratalog::datalog
