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

bool is_digit(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Where `.0` is missing in the number at `at`: before the exponent of `1e22`. `end` if nowhere.
std::size_t end_of_whole_part(std::string_view text, std::size_t at, std::size_t end) {
  while (is_digit(text, at)) ++at;
  if (at >= end || (text[at] != 'e' && text[at] != 'E')) return end;
  const bool has_sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
  return is_digit(text, at + (has_sign ? 2 : 1)) ? at : end;
}

bool has_fields(std::string_view text, std::size_t behind_name) {
  const std::size_t next = text.find_first_not_of(" \t", behind_name);
  return next != std::string_view::npos && text[next] == '(';
}

}  // namespace

std::string as_in_programs(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool is_branch = text[at] == '$';
    std::size_t end = at + 1;
    if (text[at] == '"')
      end = end_of_string(text, at);
    else if (is_branch || belongs_to_name(text[at]))
      end = end_of_name(text, at + 1);
    const std::size_t whole = is_digit(text, at) ? end_of_whole_part(text, at, end) : end;
    result += text.substr(at, whole - at);
    if (whole != end) result += ".0";
    result += text.substr(whole, end - whole);
    if (is_branch && end > at + 1 && !has_fields(text, end)) result += "()";
    at = end;
  }
  return result;
}

}  // namespace stratalog::datalog
