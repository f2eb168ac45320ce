// SPDX-License-Identifier: Apache-2.0
// parse_number, parse_unsigned, parse_float: one field of a fact file to its 64-bit pattern, in the
// notations that Soufflé accepts (blanks before the value, a sign, 0x and 0b, hexadecimal floats).
// Independent of the locale. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "datalog/program.h"

namespace stratalog::datalog {

enum class FieldProblem : std::uint8_t { kNone, kMalformed, kOutOfRange, kNegative };

// What may stand before a value.
constexpr bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct ParsedField {
  FieldProblem problem = FieldProblem::kNone;
  std::uint64_t bits = 0;
};

ParsedField parse_number(std::string_view text);
ParsedField parse_unsigned(std::string_view text);
// Values too large or too small for a double are out of range; inf and nan are values.
ParsedField parse_float(std::string_view text);

// Requires a kind other than symbol and record.
ParsedField parse_field(ValueKind kind, std::string_view text);

}  // namespace stratalog::datalog
