// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/include_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "datalog/language/compile.h"
#include "datalog/language/diagnostic_sink.h"
#include "datalog/language/lexer.h"
#include "datalog/language/source_files.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::size_t kMaxIncludeDepth = 64;
constexpr std::size_t kMaxShownErrors = 100;

class IncludeExpander {
 public:
  explicit IncludeExpander(const std::vector<std::string>& directories)
      : directories_(directories) {}

  IncludeOutcome run(const std::string& name, const std::string& text) {
    if (is_regular_file(name) && says_once(text)) taken_once_.insert(canonical_path(name));
    expand(name, text);
    return std::move(outcome_);
  }

 private:
  struct Found {
    std::string path;
    std::string canonical;
  };

  void expand(const std::string& name, const std::string& text) {
    static const OriginalTexts kNoOriginals;
    const SourceMap map(text, name, kNoOriginals);
    DiagnosticSink sink;
    Lexer lexer(text);
    std::size_t copied = 0;
    for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
      if (token.kind != TokenKind::kInclude) continue;
      const Token file = lexer.next();
      if (file.kind != TokenKind::kString) continue;  // the parser reports it
      outcome_.text.append(text, copied, token.span.begin - copied);
      copied = file.span.end;
      const MarkedPlace place = map.locate({token.span.begin, file.span.end});
      const bool returns =
          splice(unquote(lexer.text_of(file.span)).characters, place, file.span, sink);
      const std::size_t line_begin = text.rfind('\n', file.span.end - 1);
      const std::size_t column =
          file.span.end - (line_begin == std::string::npos ? 0 : line_begin + 1);
      const LineMarker back{.line = place.place.line,
                            .file = place.place.file,
                            .step = returns ? FileStep::kReturns : FileStep::kNone};
      outcome_.text += '\n' + line_marker(back) + '\n';
      outcome_.text.append(column, ' ');
    }
    outcome_.text.append(text, copied, std::string::npos);
    std::vector<Diagnostic> found = sink.finish(map, kMaxShownErrors);
    std::move(found.begin(), found.end(), std::back_inserter(outcome_.diagnostics));
  }

  // Whether there is anything in the place of the directive.
  bool splice(const std::string& wanted, const MarkedPlace& place, Span span,
              DiagnosticSink& sink) {
    Found found;
    if (!search(wanted, place.place.file, found)) {
      DiagnosticDraft& draft =
          sink.error(span, fmt::format("cannot find the included file `{}`", wanted));
      draft.hint = fmt::format("it is searched beside `{}`{}", place.place.file,
                               directories_.empty()
                                   ? "; add directories (-I, `include` of the library)"
                                   : " and in the directories of -I (`include` of the library)");
      return false;
    }
    if (taken_once_.contains(found.canonical)) return false;
    if (std::find(open_.begin(), open_.end(), found.canonical) != open_.end()) {
      sink.error(span, fmt::format("`{}` includes itself", found.path)).hint =
          "write `.once` in files that are included from several places";
      return false;
    }
    const std::optional<std::string> text = read_text_file(found.path);
    if (!text) {
      sink.error(span, fmt::format("cannot read the included file `{}`", found.path));
      return false;
    }
    if (open_.size() >= kMaxIncludeDepth ||
        outcome_.text.size() + text->size() > kMaxExpandedBytes) {
      sink.error(span, open_.size() >= kMaxIncludeDepth ? "included files nest too deep"
                                                        : "the included files are too large");
      return false;
    }
    if (says_once(*text)) taken_once_.insert(found.canonical);
    open_.push_back(found.canonical);
    const LineMarker entry{.line = 1,
                           .file = found.path,
                           .step = FileStep::kEnters,
                           .included_line = place.place.line,
                           .included_column = place.place.column};
    outcome_.text += '\n' + line_marker(entry) + '\n';
    expand(found.path, *text);
    open_.pop_back();
    return true;
  }

  static bool says_once(const std::string& text) {
    if (text.find(".once") == std::string::npos) return false;
    Lexer lexer(text);
    for (Token token = lexer.next(); token.kind != TokenKind::kEnd; token = lexer.next()) {
      if (token.kind == TokenKind::kOnce) return true;
    }
    return false;
  }

  bool search(const std::string& wanted, const std::string& from, Found& found) const {
    std::vector<std::string> candidates{path_beside(from, wanted)};
    for (const std::string& directory : directories_)
      candidates.push_back(path_beside(directory + "/.", wanted));
    for (std::string& candidate : candidates) {
      if (!is_regular_file(candidate)) continue;
      found.canonical = canonical_path(candidate);
      found.path = std::move(candidate);
      return true;
    }
    return false;
  }

  const std::vector<std::string>& directories_;
  IncludeOutcome outcome_;
  std::vector<std::string> open_;  // canonical paths, outermost first
  std::set<std::string> taken_once_;
};

}  // namespace

IncludeOutcome expand_includes(const std::string& name, const std::string& text,
                               const std::vector<std::string>& directories) {
  return IncludeExpander(directories).run(name, text);
}

}  // namespace stratalog::datalog::language
