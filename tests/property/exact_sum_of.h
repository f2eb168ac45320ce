// SPDX-License-Identifier: Apache-2.0
// The exact sum of doubles, rounded once, as plainly as possible: a counter for each bit that a
// double may have, and the C library to round a number of all of these. Local.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

namespace stratalog::datalog::oracle {

// Never -0.0; NaN has the sign bit of none.
inline double exact_sum_of(std::span<const double> values) {
  constexpr int kLeastBit = -1074;
  constexpr int kBits = 2176;
  std::array<std::int64_t, kBits> counts{};  // how often 2^(kLeastBit + i) is added
  double special = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      special += value;
      continue;
    }
    int exponent = 0;
    double rest = std::abs(std::frexp(value, &exponent));  // 0.1... in binary digits
    for (int bit = exponent - 1 - kLeastBit; rest != 0; --bit) {
      rest *= 2;
      if (rest < 1) continue;
      counts[static_cast<std::size_t>(bit)] += value < 0 ? -1 : 1;
      rest -= 1;
    }
  }
  if (std::isnan(special)) return std::numeric_limits<double>::quiet_NaN();
  if (special != 0) return special;
  const auto carry = [&] {
    std::int64_t carried = 0;
    for (std::int64_t& count : counts) {
      carried += count;
      count = carried & 1;
      carried >>= 1U;
    }
    return carried;
  };
  const bool is_negative = carry() < 0;
  if (is_negative) {  // as the complement of two
    for (std::int64_t& count : counts) count = 1 - count;
    ++counts[0];
    carry();
  }
  std::string text = "0x";
  for (int digit = (kBits / 4) - 1; digit >= 0; --digit) {
    int value = 0;
    for (int bit = 3; bit >= 0; --bit)
      value = (value * 2) + static_cast<int>(counts[static_cast<std::size_t>((digit * 4) + bit)]);
    text += "0123456789abcdef"[value];
  }
  text += "p" + std::to_string(kLeastBit);
  const double sum = std::strtod(text.c_str(), nullptr);
  return is_negative ? -sum : sum;
}

}  // namespace stratalog::datalog::oracle
