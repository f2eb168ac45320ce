// SPDX-License-Identifier: Apache-2.0
// Reading numeric constants: decimal, 0x and 0b integers into 64 bits, floats into IEEE doubles;
// nothing wraps around.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "datalog/language/kind_inference.h"

namespace stratalog::datalog::language {
namespace {

struct Magnitude {
  bool is_negative = false;
  bool fits = false;  // in 64 bits
  std::uint64_t value = 0;
};

Magnitude read_integer(std::string_view digits) {
  Magnitude magnitude;
  if (digits.starts_with('-')) {
    magnitude.is_negative = true;
    digits.remove_prefix(1);
  }
  if (digits.ends_with('u')) digits.remove_suffix(1);
  int base = 10;
  if (digits.starts_with("0x")) base = 16;
  if (digits.starts_with("0b")) base = 2;
  if (base != 10) digits.remove_prefix(2);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude.value, base);
  magnitude.fits = error == std::errc() && end == digits.data() + digits.size();
  return magnitude;
}

bool float_bits(const Term& constant, std::uint64_t& bits, std::string& problem) {
  double value = 0;
  const std::string& digits = constant.text;
  if (constant.kind == TermKind::kInteger &&
      (digits.find('x') != std::string::npos || digits.find('b') != std::string::npos)) {
    const Magnitude magnitude = read_integer(digits);
    value = static_cast<double>(magnitude.value);
    if (magnitude.is_negative) value = -value;
    if (!magnitude.fits) value = std::numeric_limits<double>::infinity();
  } else {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      value = std::numeric_limits<double>::infinity();
    }
  }
  if (!std::isfinite(value)) {
    problem = fmt::format("`{}` does not fit a 64-bit float", digits);
    return false;
  }
  bits = std::bit_cast<std::uint64_t>(value);
  return true;
}

}  // namespace

bool constant_bits(const Term& constant, ValueKind kind, std::uint64_t& bits,
                   std::string& problem) {
  if (kind == ValueKind::kFloat) return float_bits(constant, bits, problem);
  const Magnitude magnitude = read_integer(constant.text);
  if (kind == ValueKind::kUnsigned) {
    if (magnitude.is_negative && magnitude.value != 0) {
      problem = fmt::format("`{}` is negative but is used as an unsigned", constant.text);
      return false;
    }
    bits = magnitude.value;
    if (magnitude.fits) return true;
    problem =
        fmt::format("`{}` does not fit an unsigned (0 to 18446744073709551615)", constant.text);
    return false;
  }
  constexpr std::uint64_t kLimit = 1ULL << 63U;
  const bool fits =
      magnitude.fits && magnitude.value <= (magnitude.is_negative ? kLimit : kLimit - 1);
  if (!fits) {
    problem = fmt::format(
        "`{}` does not fit a number (-9223372036854775808 to 9223372036854775807)", constant.text);
    return false;
  }
  bits = magnitude.is_negative ? 0 - magnitude.value : magnitude.value;
  return true;
}

}  // namespace stratalog::datalog::language
