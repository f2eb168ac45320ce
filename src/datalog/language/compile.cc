// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "datalog/language/analyse.h"
#include "datalog/language/component_instantiation.h"
#include "datalog/language/delta_relations.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/inline_relations.h"
#include "datalog/language/lattices.h"
#include "datalog/language/parser.h"
#include "datalog/language/preprocess.h"
#include "datalog/language/recursive_aggregates.h"
#include "datalog/language/source_files.h"
#include "datalog/language/source_map.h"

namespace stratalog::datalog {
namespace {

bool has_error(const std::vector<Diagnostic>& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

CompileOutcome refused(const SourceText& source, std::string message) {
  CompileOutcome outcome;
  Diagnostic& diagnostic = outcome.diagnostics.emplace_back();
  diagnostic.where.place.file = source.name;
  diagnostic.message = std::move(message);
  return outcome;
}

// Behind a line marker, so that messages do not speak of lines that the file has not.
void append_pragmas(std::string& text, const std::vector<Pragma>& pragmas) {
  if (pragmas.empty()) return;
  text += "\n# 1 \"command line\"\n";
  for (const Pragma& pragma : pragmas)
    text += fmt::format(".pragma \"{}\" \"{}\"\n", pragma.name, pragma.value);
}

bool has_quotes_or_controls(const Pragma& pragma) {
  const auto is_one = [](unsigned char c) { return c == '"' || c == '\\' || c < ' '; };
  return std::any_of(pragma.value.begin(), pragma.value.end(), is_one);
}

}  // namespace

CompileOutcome compile(const SourceText& source, const CompileOptions& options) {
  const std::string_view plain = language::without_byte_order_mark(source.text);
  if (plain.size() < source.text.size())
    return compile({.name = source.name, .text = std::string(plain)}, options);
  const bool is_expanded = options.preprocessor == PreprocessorUse::kNever;
  const std::size_t limit = is_expanded ? kMaxExpandedBytes : kMaxSourceBytes;
  if (source.text.size() > limit) {
    return refused(
        source,
        fmt::format("the program has {} bytes; the limit is {}; put facts into files and read them "
                    "with .input",
                    source.text.size(), limit));
  }
  for (const Pragma& pragma : options.pragmas)
    if (has_quotes_or_controls(pragma))
      return refused(source, fmt::format("the value of {} has a quote, a backslash or a control "
                                         "character; expected names with commas between, or `*`",
                                         pragma.name));
  PreprocessOutcome expanded = preprocess(source, options);
  CompileOutcome outcome;
  outcome.diagnostics = std::move(expanded.diagnostics);
  if (!expanded.text) return outcome;
  std::string text = std::move(*expanded.text);
  if (!is_expanded) append_pragmas(text, options.pragmas);

  language::DiagnosticSink sink;
  const language::SourceMap map(text, source.name, expanded.originals);
  language::ProgramSyntax syntax = language::Parser(text, sink).parse();
  language::instantiate_components(syntax, sink);
  language::expand_delta_relations(syntax, sink);
  language::expand_recursive_aggregates(syntax);
  language::expand_lattices(syntax, sink);
  const language::InlineOutcome inlined = language::inline_relations(syntax, sink);
  Program program = language::analyse(syntax, inlined, text, map, options, sink);
  std::vector<Diagnostic> found = sink.finish(map, options.diagnostic_limit);
  std::move(found.begin(), found.end(), std::back_inserter(outcome.diagnostics));
  if (has_error(outcome.diagnostics) || sink.has_errors()) return outcome;
  program.source_text = std::move(text);
  outcome.program = std::move(program);
  return outcome;
}

}  // namespace stratalog::datalog
