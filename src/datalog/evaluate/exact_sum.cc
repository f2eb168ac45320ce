// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stratalog::datalog {
namespace {

constexpr unsigned kFractionBits = 52;  // of a double, without the leading one
constexpr std::uint64_t kLeadingOne = std::uint64_t{1} << kFractionBits;
constexpr std::uint64_t kExponents = 0x7FF;
constexpr int kLeastExponent = -1074;  // of the least bit
// An addition adds less than 2^32 to a limb.
constexpr std::uint32_t kAdditionsBeforeCarry = std::uint32_t{1} << 30U;

// What is missing of a + b in `sum`, its rounded value.
double error_of(double a, double b, double sum) {
  const double of_b = sum - a;
  return (a - (sum - of_b)) + (b - of_b);
}

}  // namespace

void ExactSum::add(std::span<const double> terms) {
  double high = high_;
  double low = low_;
  for (const double term : terms) {
    const double sum = high + term;
    if (!(std::abs(sum) < kMostHigh)) {
      high_ = high;
      add_apart(term);
      high = high_;
      continue;
    }
    const double lost = error_of(high, term, sum);
    const double more = low + lost;
    const double rest = error_of(low, lost, more);
    high = sum;
    low = more;
    if (rest != 0) wide().add(rest);
  }
  high_ = high;
  low_ = low;
}

void ExactSum::Wide::add(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t exponent = (bits >> kFractionBits) & kExponents;
  const std::uint64_t fraction = bits & (kLeadingOne - 1);
  // Subnormal numbers begin where the least normal ones do.
  const std::uint64_t whole = exponent == 0 ? fraction : fraction | kLeadingOne;
  const std::uint64_t place = exponent == 0 ? 0 : exponent - 1;
  const std::uint64_t shift = place % kLimbBits;
  const std::uint64_t above = whole >> (kLimbBits - shift);
  const std::array<std::uint32_t, 3> parts = {static_cast<std::uint32_t>(whole << shift),
                                              static_cast<std::uint32_t>(above),
                                              static_cast<std::uint32_t>(above >> kLimbBits)};
  std::int64_t* const to = limbs.data() + (place / kLimbBits);
  const bool is_negative = std::signbit(x);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t part = parts[i];
    to[i] += is_negative ? -part : part;
  }
  count_addition();
}

void ExactSum::Wide::count_addition() {
  if (++additions == kAdditionsBeforeCarry) carry();
}

void ExactSum::Wide::carry() {
  constexpr std::int64_t kHalf = std::int64_t{1} << (kLimbBits - 1);
  for (std::size_t i = 0; i + 1 < limbs.size(); ++i) {
    const std::int64_t carried = (limbs[i] + kHalf) >> kLimbBits;
    limbs[i] -= carried * (std::int64_t{1} << kLimbBits);
    limbs[i + 1] += carried;
  }
  additions = 0;
}

double ExactSum::Wide::rounded() const {
  Wide digits = *this;
  digits.carry();
  const auto leading = std::find_if(digits.limbs.rbegin(), digits.limbs.rend(),
                                    [](std::int64_t limb) { return limb != 0; });
  if (leading == digits.limbs.rend()) return 0;
  // The limbs below it come to less than one of its units.
  const bool is_negative = *leading < 0;
  std::array<std::uint64_t, kLimbs + 2> magnitude{};  // two zeros below
  std::int64_t carried = 0;
  for (std::size_t i = 0; i < kLimbs; ++i) {
    carried += is_negative ? -digits.limbs[i] : digits.limbs[i];
    magnitude[i + 2] = static_cast<std::uint32_t>(carried);
    carried >>= kLimbBits;
  }
  std::size_t top = kLimbs + 1;
  while (magnitude[top] == 0) --top;
  const auto width = static_cast<unsigned>(std::bit_width(magnitude[top]));
  const std::uint64_t below = magnitude[top - 2];
  const std::uint64_t leading_bits = (magnitude[top] << (2 * kLimbBits - width)) |
                                     (magnitude[top - 1] << (kLimbBits - width)) | (below >> width);
  const bool has_more = (below & ((std::uint64_t{1} << width) - 1)) != 0 ||
                        std::any_of(magnitude.begin(), magnitude.begin() + top - 2,
                                    [](std::uint64_t limb) { return limb != 0; });
  constexpr unsigned kSpare = 64 - kFractionBits - 1;
  constexpr std::uint64_t kTie = std::uint64_t{1} << (kSpare - 1);
  std::uint64_t kept = leading_bits >> kSpare;
  const std::uint64_t rest = leading_bits & ((std::uint64_t{1} << kSpare) - 1);
  if (rest > kTie || (rest == kTie && (has_more || kept % 2 == 1))) ++kept;
  const int last = static_cast<int>((top - 2) * kLimbBits + width) - 1;
  const double result = std::ldexp(static_cast<double>(kept),
                                   last - static_cast<int>(kFractionBits) + kLeastExponent);
  return is_negative ? -result : result;
}

ExactSum::Wide& ExactSum::wide() {
  if (wide_ == nullptr) wide_ = std::make_unique<Wide>();
  return *wide_;
}

void ExactSum::add_apart(double x) {
  if (std::isfinite(x) && std::isfinite(high_))
    wide().add(x);
  else
    high_ += x;
}

double ExactSum::rounded() const {
  if (std::isnan(high_)) return std::numeric_limits<double>::quiet_NaN();
  if (wide_ == nullptr || !std::isfinite(high_)) return high_ + low_;
  Wide all = *wide_;
  all.add(high_);
  all.add(low_);
  return all.rounded();
}

void ExactSum::add_piece(const Piece& piece) {
  if (piece.place == kDouble) {
    add(std::bit_cast<double>(piece.bits));
    return;
  }
  Wide& to = wide();
  to.limbs[piece.place - 1] += static_cast<std::int64_t>(piece.bits);
  to.count_addition();
}

}  // namespace stratalog::datalog
