// SPDX-License-Identifier: Apache-2.0
#include "datalog/language/foreign_spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stratalog::datalog::language {
namespace {

struct ForeignMark {
  std::string_view text;
  std::size_t at;  // where in it the parser finds a token that it does not expect
  std::string_view here;
};

constexpr std::array kForeignMarks = {
    ForeignMark{"==", 1, "="}, ForeignMark{"<>", 1, "!="}, ForeignMark{"&&", 0, ","},
    ForeignMark{"||", 0, ";"}, ForeignMark{"<-", 0, ":-"},
};

constexpr std::string_view kDigits = "0123456789";

bool belongs_to_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?' ||
         kDigits.find(c) != std::string_view::npos;
}

std::string written_here(std::string_view foreign, std::string_view here) {
  return fmt::format("`{}` is written `{}` here", foreign, here);
}

std::string mark_hint(std::string_view text, std::size_t begin) {
  for (const ForeignMark& mark : kForeignMarks)
    if (begin >= mark.at && text.substr(begin - mark.at).starts_with(mark.text))
      return written_here(mark.text, mark.here);
  return {};
}

// Whether the word before the token is `not`.
bool follows_not(std::string_view text, std::size_t begin) {
  const std::size_t last = text.substr(0, begin).find_last_not_of(" \t");
  if (last == std::string_view::npos) return false;
  const std::string_view before = text.substr(0, last + 1);
  return last + 1 < begin && before.ends_with("not") &&
         (before.size() == 3 || !belongs_to_word(before[before.size() - 4]));
}

// At the opening quote.
std::string quote_hint(std::string_view text, std::size_t begin) {
  const std::string_view line = text.substr(begin + 1, text.substr(begin).find('\n') - 1);
  const std::size_t end = line.find('\'');
  constexpr std::size_t kMostShown = 40;
  if (end == std::string_view::npos || end > kMostShown)
    return "strings stand in double quotes: `\"text\"`";
  return fmt::format("strings stand in double quotes: `\"{}\"`", line.substr(0, end));
}

// 1e300, 1E-3: an exponent without a point.
std::string exponent_hint(std::string_view text, std::size_t begin) {
  std::string_view number = text.substr(begin);
  const std::size_t digits = std::min(number.find_first_not_of(kDigits), number.size());
  if (digits == 0 || digits == number.size() || (number[digits] | 0x20) != 'e') return {};
  std::size_t end = digits + 1;
  if (end < number.size() && (number[end] == '+' || number[end] == '-')) ++end;
  const std::size_t first = end;
  end = std::min(number.find_first_not_of(kDigits, end), number.size());
  if (end == first || (end < number.size() && belongs_to_word(number[end]))) return {};
  return fmt::format("a float has a point: `{}.0{}`", number.substr(0, digits),
                     number.substr(digits, end - digits));
}

}  // namespace

std::string foreign_spelling_hint(std::string_view text, Span token) {
  if (token.begin >= text.size()) return {};
  const std::string_view word = text.substr(token.begin, token.end - token.begin);
  if (word == "and") return written_here(word, ",");
  if (word == "or") return written_here(word, ";");
  if (word.starts_with('\'')) return quote_hint(text, token.begin);
  if (follows_not(text, token.begin) && belongs_to_word(word[0]))
    return written_here(fmt::format("not {}", word), fmt::format("!{}", word));
  std::string hint = mark_hint(text, token.begin);
  return hint.empty() ? exponent_hint(text, token.begin) : hint;
}

}  // namespace stratalog::datalog::language
