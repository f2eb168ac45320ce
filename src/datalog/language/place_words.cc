// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/place_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "datalog/language/lexer.h"
#include "datalog/language/source_files.h"
#include "datalog/language/source_map.h"

namespace stratalog::datalog::language {
namespace {

constexpr std::string_view kFile = "__FILE__";
constexpr std::string_view kLine = "__LINE__";
constexpr std::string_view kInclude = "__INCL__";

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result.push_back('\\');
    result.push_back(c == '\n' ? ' ' : c);
  }
  return result + '"';
}

class PlaceWords {
 public:
  PlaceWords(const std::string& text, const std::string& name, PathForm form)
      : text_(text), form_(form), next_{.file = name, .line = 1} {}

  std::string run() {
    const bool has_words = has_place_words(text_);
    Lexer lexer(text_);
    for (Token token; has_words && (token = lexer.next()).kind != TokenKind::kEnd;) {
      if (token.kind != TokenKind::kIdentifier) continue;
      const std::string_view word = lexer.text_of(token.span);
      if (word != kFile && word != kLine && word != kInclude) continue;
      go_to(token.span.begin);
      replace(token.span.begin, token.span.end, meaning(word));
    }
    go_to(text_.size());
    result_.append(text_, copied_, std::string::npos);
    return std::move(result_);
  }

 private:
  // A file, and its line that comes next or that includes another file.
  struct Place {
    std::string file;
    std::uint32_t line = 0;
    std::uint32_t column = 1;
  };

  void replace(std::size_t begin, std::size_t end, std::string_view by) {
    result_.append(text_, copied_, begin - copied_);
    result_ += by;
    copied_ = end;
  }

  // Reads all lines that begin at `offset` or before.
  void go_to(std::size_t offset) {
    while (line_begin_ <= offset && line_begin_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', line_begin_), text_.size());
      here_ = next_.line++;
      LineMarker marker;
      if (text_[line_begin_] == '#' &&
          parse_line_marker(std::string_view(text_).substr(line_begin_, end - line_begin_), marker))
        follow(marker, end);
      line_begin_ = end + 1;
    }
  }

  void follow(const LineMarker& marker, std::size_t end) {
    if (marker.step != FileStep::kNone)
      replace(line_begin_, end, line_marker(marker.line, marker.file));
    if (marker.step == FileStep::kEnters) {
      // The C preprocessor puts the marker where the including line was.
      const bool is_told = marker.included_line != 0;
      includers_.push_back({.file = next_.file,
                            .line = is_told ? marker.included_line : here_,
                            .column = is_told ? marker.included_column : 1});
    } else if (marker.step == FileStep::kReturns && !includers_.empty()) {
      includers_.pop_back();
    }
    next_ = {.file = marker.file, .line = marker.line};
  }

  std::string shown(const std::string& file) const {
    return form_ == PathForm::kCanonical ? canonical_path(file) : file;
  }

  std::string meaning(std::string_view word) const {
    if (word == kLine) return std::to_string(here_);
    if (word == kFile) return quoted(shown(next_.file));
    std::string chain;
    for (const Place& place : includers_)
      chain += fmt::format("{}{}:{}:{}", chain.empty() ? "" : ";", shown(place.file), place.line,
                           place.column);
    return quoted(chain);
  }

  const std::string& text_;
  PathForm form_;
  std::string result_;
  std::size_t copied_ = 0;  // of text_ into result_
  std::size_t line_begin_ = 0;  // of the first line that go_to() has not read
  std::uint32_t here_ = 1;  // number of the last one that it has read
  Place next_;
  std::vector<Place> includers_;  // outermost first
};

}  // namespace

bool has_place_words(std::string_view text) {
  return text.find(kFile) != std::string_view::npos || text.find(kLine) != std::string_view::npos ||
         text.find(kInclude) != std::string_view::npos;
}

std::string with_place_words(const std::string& text, const std::string& name, PathForm form) {
  return PlaceWords(text, name, form).run();
}

}  // namespace stratalog::datalog::language
