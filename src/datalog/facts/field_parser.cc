// SPDX-License-Identifier: Apache-2.0
#include "datalog/facts/field_parser.h"

#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

namespace stratalog::datalog {
namespace {

struct Magnitude {
  FieldProblem problem = FieldProblem::kNone;
  bool is_negative = false;
  std::uint64_t value = 0;
};

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

// Removes a sign; true if it was a minus.
bool skip_sign(std::string_view& text) {
  if (text.empty() || (text.front() != '-' && text.front() != '+')) return false;
  const bool is_negative = text.front() == '-';
  text.remove_prefix(1);
  return is_negative;
}

bool has_prefix(std::string_view text, char letter) {
  return text.size() > 2 && text[0] == '0' &&
         (text[1] == letter || text[1] == letter - ('a' - 'A'));
}

Magnitude parse_magnitude(std::string_view text) {
  Magnitude result;
  skip_blanks(text);
  result.is_negative = skip_sign(text);
  int base = 10;
  if (has_prefix(text, 'x')) base = 16;
  if (has_prefix(text, 'b')) base = 2;
  if (base != 10) text.remove_prefix(2);
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, result.value, base);
  if (error == std::errc::invalid_argument || stop != end)
    result.problem = FieldProblem::kMalformed;
  else if (error == std::errc::result_out_of_range)
    result.problem = FieldProblem::kOutOfRange;
  return result;
}

}  // namespace

ParsedField parse_number(std::string_view text) {
  const Magnitude m = parse_magnitude(text);
  if (m.problem != FieldProblem::kNone) return {.problem = m.problem};
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (m.value > kLargest + (m.is_negative ? 1 : 0)) return {.problem = FieldProblem::kOutOfRange};
  return {.bits = m.is_negative ? 0 - m.value : m.value};
}

ParsedField parse_unsigned(std::string_view text) {
  const Magnitude m = parse_magnitude(text);
  if (m.problem == FieldProblem::kMalformed) return {.problem = m.problem};
  if (m.is_negative) return {.problem = FieldProblem::kNegative};
  return {.problem = m.problem, .bits = m.value};
}

ParsedField parse_float(std::string_view text) {
  skip_blanks(text);
  const bool is_negative = skip_sign(text);
  const bool is_hexadecimal = has_prefix(text, 'x');
  if (is_hexadecimal) text.remove_prefix(2);
  // from_chars would take a second sign.
  if (text.empty() || text.front() == '-') return {.problem = FieldProblem::kMalformed};
  double value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(
      begin, end, value, is_hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (error == std::errc::invalid_argument || stop != end)
    return {.problem = FieldProblem::kMalformed};
  if (error == std::errc::result_out_of_range) return {.problem = FieldProblem::kOutOfRange};
  return {.bits = std::bit_cast<std::uint64_t>(is_negative ? -value : value)};
}

ParsedField parse_field(ValueKind kind, std::string_view text) {
  switch (kind) {
    case ValueKind::kNumber:
      return parse_number(text);
    case ValueKind::kUnsigned:
      return parse_unsigned(text);
    case ValueKind::kFloat:
      return parse_float(text);
    case ValueKind::kSymbol:
    case ValueKind::kRecord:
      break;
  }
  return {.problem = FieldProblem::kMalformed};
}

}  // namespace stratalog::datalog
