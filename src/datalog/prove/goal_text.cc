// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/goal_text.h"

#include <algorithm>
#include <cctype>

namespace stratalog::datalog {
namespace {

// Of a name, perhaps qualified by instances of components.
bool belongs_to_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '?' || c == '.';
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

std::size_t end_of_name(std::string_view text, std::size_t at) {
  while (at < text.size() && belongs_to_name(text[at])) ++at;
  return at;
}

}  // namespace

std::string with_written_out_branches(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_branch = text[at] == '$';
    std::size_t end = at + 1;
    if (text[at] == '"') end = end_of_string(text, at);
    if (is_branch) end = end_of_name(text, at + 1);
    result += text.substr(at, end - at);
    const std::size_t next = text.find_first_not_of(" \t", end);
    const bool has_fields = next != std::string_view::npos && text[next] == '(';
    if (is_branch && end > at + 1 && !has_fields) result += "()";
    at = end;
  }
  return result;
}

}  // namespace stratalog::datalog
