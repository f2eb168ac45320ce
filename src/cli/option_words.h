// SPDX-License-Identifier: Apache-2.0
// Options whose value is one of a few words, as CLI11 takes them: the word in any case, and a
// refusal that names all of them. Local.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/Option.hpp>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stratalog::cli {

// Words in the order in which a refusal lists them, and what each stands for.
template <typename Value>
using Words = std::vector<std::pair<std::string_view, Value>>;

// The word itself, in lower case.
inline CLI::Validator one_of(std::vector<std::string_view> words) {
  const auto check = [words = std::move(words)](std::string& text) -> std::string {
    const std::string word = CLI::detail::to_lower(text);
    for (const std::string_view known : words) {
      if (word != known) continue;
      text = word;
      return {};
    }
    return fmt::format("\"{}\" is none of {}", text, fmt::join(words, ", "));
  };
  return {check, ""};
}

// A whole number from 0 on, which is also written with Ki, Mi or Gi behind it; CLI11 itself takes
// -1 for the largest.
inline CLI::Validator whole_number(std::string unit) {
  const auto take = [unit = std::move(unit)](std::string& text) -> std::string {
    std::string_view digits = text;
    int shift = 0;
    for (const auto& [suffix, bits] : {std::pair{"Ki", 10}, std::pair{"Mi", 20}, {"Gi", 30}})
      if (digits.ends_with(suffix)) {
        digits.remove_suffix(2);
        shift = bits;
      }
    std::uint64_t number = 0;
    const char* const end = std::to_address(digits.end());
    const auto read = std::from_chars(std::to_address(digits.begin()), end, number);
    if (read.ec != std::errc() || read.ptr != end || number > (~std::uint64_t{0} >> shift))
      return fmt::format("\"{}\" is no number of {}; expected a whole number, as 1000 or 16Mi",
                         text, unit);
    text = std::to_string(number << shift);
    return {};
  };
  return {take, ""};
}

// What the word stands for, as the number that CLI11 makes an enumerator of.
template <typename Value>
CLI::Validator one_of(Words<Value> words) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : words) names.push_back(name);
  const auto take = [words = std::move(words),
                     word = one_of(std::move(names))](std::string& text) -> std::string {
    std::string refusal = word(text);
    for (const auto& [name, value] : words)
      if (refusal.empty() && text == name) {
        text = std::to_string(static_cast<std::underlying_type_t<Value>>(value));
        break;
      }
    return refusal;
  };
  return {take, ""};
}

}  // namespace stratalog::cli
