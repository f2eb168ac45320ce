// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/text_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace stratalog::datalog {
namespace {

// Of some hundred bytes of stack each, for a character of the text or a level of the pattern.
constexpr std::size_t kLongText = 2000;
constexpr std::size_t kDeepest = 500;
constexpr std::size_t kLongestPattern = 50'000;

// Parentheses within parentheses, and alternatives, which are read one within the other.
std::size_t depth_of(const std::string& pattern) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  std::size_t alternatives = 0;
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\')
      ++i;
    else if (in_class)
      in_class = c != ']';
    else if (c == '[')
      in_class = true;
    else if (c == '(')
      deepest = std::max(deepest, ++depth);
    else if (c == ')' && depth > 0)
      --depth;
    else if (c == '|')
      ++alternatives;
  }
  return deepest + alternatives;
}

}  // namespace

Result<TextPattern> TextPattern::of(const std::string& pattern) {
  if (pattern.size() > kLongestPattern || depth_of(pattern) > kDeepest)
    return Status::invalid_argument(
        fmt::format("it is too large: more than {} characters, or than {} parentheses within each "
                    "other and alternatives",
                    kLongestPattern, kDeepest));
  TextPattern made(pattern);
  try {
    made.expression_.assign(pattern);
  } catch (const std::regex_error& error) {
    return Status::invalid_argument(error.what());
  }
  return made;
}

Result<bool> TextPattern::matches(const std::string& text) {
  if (text.size() < kLongText) return std::regex_match(text, expression_);
  if (!for_long_texts_) {
    try {
      for_long_texts_.emplace(pattern_,
                              std::regex::ECMAScript | std::regex_constants::__polynomial);
    } catch (const std::regex_error&) {
      return Status::invalid_argument(fmt::format(
          "match: a text of {} characters is too long for \"{}\", which refers back to what it has "
          "found: at most {}",
          text.size(), pattern_, kLongText - 1));
    }
  }
  return std::regex_match(text, *for_long_texts_);
}

}  // namespace stratalog::datalog
