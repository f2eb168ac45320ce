// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/text_to_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "datalog/value_kind_name.h"

namespace stratalog::datalog {
namespace {

enum class Finding { kNumber, kNone, kOutOfRange };

struct FoundNumber {
  Finding finding = Finding::kNone;
  std::uint64_t bits = 0;
};

Finding finding_of(std::errc error) {
  if (error == std::errc()) return Finding::kNumber;
  return error == std::errc::result_out_of_range ? Finding::kOutOfRange : Finding::kNone;
}

// Skips white space and a sign; says whether it was a minus.
bool skip_to_digits(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  return is_negative;
}

// White space, a sign, digits. Negative values of unsigned kind wrap around, as in std::stoull.
FoundNumber leading_integer(std::string_view text, int base, ValueKind kind) {
  const bool is_negative = skip_to_digits(text);
  FoundNumber found;
  found.finding =
      finding_of(std::from_chars(text.data(), text.data() + text.size(), found.bits, base).ec);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (kind == ValueKind::kNumber && found.bits > kMost + (is_negative ? 1 : 0))
    found.finding = Finding::kOutOfRange;
  if (is_negative) found.bits = 0 - found.bits;
  return found;
}

// 0x and 0b count at the very beginning only, behind a minus at most.
FoundNumber integer_in(std::string_view text, ValueKind kind) {
  const bool is_negative = text.starts_with('-');
  if (is_negative && kind == ValueKind::kUnsigned) return {};
  const std::string_view sign = text.substr(0, is_negative ? 1 : 0);
  const std::string_view digits = text.substr(sign.size());
  if (digits.starts_with("0b"))
    return leading_integer(fmt::format("{}{}", sign, digits.substr(2)), 2, kind);
  // Without a hexadecimal digit behind it, `0x` is the number 0.
  if (digits.starts_with("0x") && !digits.substr(2).empty() &&
      digits.find_first_of("0123456789abcdefABCDEF", 2) == 2)
    return leading_integer(fmt::format("{}{}", sign, digits.substr(2)), 16, kind);
  return leading_integer(text, 10, kind);
}

FoundNumber float_in(std::string_view text) {
  const bool is_negative = skip_to_digits(text);
  // std::from_chars takes a minus of its own.
  if (text.starts_with('-')) return {};
  double value = 0;
  auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.starts_with("0x") || text.starts_with("0X")) {
    const std::string_view digits = text.substr(2);
    double hexadecimal = 0;
    std::from_chars_result in_hex{.ptr = nullptr, .ec = std::errc::invalid_argument};
    if (!digits.starts_with('-'))
      in_hex = std::from_chars(digits.data(), digits.data() + digits.size(), hexadecimal,
                               std::chars_format::hex);
    // `0xinf` is the number 0, with something behind it.
    if (in_hex.ec != std::errc::invalid_argument && std::isfinite(hexadecimal)) {
      result = in_hex;
      value = hexadecimal;
    }
  }
  return {.finding = finding_of(result.ec),
          .bits = std::bit_cast<std::uint64_t>(is_negative ? -value : value)};
}

}  // namespace

Result<std::uint64_t> text_to_number(std::string_view text, ValueKind kind) {
  const FoundNumber found = kind == ValueKind::kFloat ? float_in(text) : integer_in(text, kind);
  if (found.finding == Finding::kNumber) return found.bits;
  return Status::invalid_argument(fmt::format(
      "cannot convert the text \"{}\" to {}: {}", text, value_kind_with_article(kind),
      found.finding == Finding::kNone ? "it does not begin with one" : "the value does not fit"));
}

}  // namespace stratalog::datalog
