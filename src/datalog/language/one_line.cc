// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/one_line.h"

#include <algorithm>
#include <cctype>

namespace stratalog::datalog::language {
namespace {

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Where the string literal ends that begins at `at`.
std::size_t end_of_string(std::string_view source, std::size_t at) {
  for (++at; at < source.size() && source[at] != '"'; ++at)
    if (source[at] == '\\') ++at;
  return std::min(at + 1, source.size());
}

// Behind the comment or line marker at `at`; `at` itself if there is none.
std::size_t end_of_comment(std::string_view source, std::size_t at) {
  if (source[at] != '/' && source[at] != '#') return at;
  const bool begins_line = at == 0 || source[at - 1] == '\n';
  const std::string_view rest = source.substr(at);
  if (rest.starts_with("//") || (begins_line && rest.starts_with('#')))
    return std::min(source.find('\n', at), source.size());
  if (!rest.starts_with("/*")) return at;
  const std::size_t end = source.find("*/", at + 2);
  return end == std::string_view::npos ? source.size() : end + 2;
}

}  // namespace

std::string on_one_line(std::string_view source) {
  std::string line;
  bool is_apart = false;  // from what comes next, by blanks or comments
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t behind = end_of_comment(source, at);
    if (behind != at || is_blank(source[at])) {
      is_apart = true;
      at = std::max(behind, at + 1);
      continue;
    }
    const std::size_t end = source[at] == '"' ? end_of_string(source, at) : at + 1;
    if (is_apart && !line.empty()) line += ' ';
    is_apart = false;
    line += source.substr(at, end - at);
    at = end;
  }
  return line;
}

}  // namespace stratalog::datalog::language
