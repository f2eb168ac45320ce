// SPDX-License-Identifier: Apache-2.0
// Values of the oracle and what operators make of them, written down without regard to the engine's
// own: order, comparisons, arithmetic, conversions. Local.
#pragma once

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>

#include "datalog/program.h"

namespace stratalog::datalog::oracle {

// A number, unsigned or float is its 64-bit pattern; a symbol is its text. The attribute says
// which.
struct Value {
  std::uint64_t bits = 0;
  std::string text;
  auto operator<=>(const Value&) const = default;
};

// The oracle gives up: the program is too large, or divides by zero, or uses what no oracle can
// know (ord).
class GaveUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline std::int64_t number(const Value& v) { return static_cast<std::int64_t>(v.bits); }
inline double real(const Value& v) { return std::bit_cast<double>(v.bits); }
inline Value of(std::uint64_t bits) { return {.bits = bits, .text = {}}; }
inline Value of(std::int64_t n) { return of(static_cast<std::uint64_t>(n)); }
inline Value of(double d) { return of(std::bit_cast<std::uint64_t>(d)); }
inline Value of(bool b) { return of(std::uint64_t{b ? 1U : 0U}); }
inline Value of(std::string text) { return {.bits = 0, .text = std::move(text)}; }

// -1, 0, 1 in the order of the kind (floats must not be NaN).
inline int order(ValueKind kind, const Value& a, const Value& b) {
  const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : x == y ? 0 : 1; };
  switch (kind) {
    case ValueKind::kNumber:
      return sign(number(a), number(b));
    case ValueKind::kUnsigned:
      return sign(a.bits, b.bits);
    case ValueKind::kFloat:
      return sign(real(a), real(b));
    case ValueKind::kSymbol:
      return sign(a.text, b.text);
    case ValueKind::kRecord:
      break;  // the oracle knows no records
  }
  return 0;
}

inline bool holds(Comparison comparison, ValueKind kind, const Value& a, const Value& b) {
  switch (comparison) {
    case Comparison::kEqual:
      return order(kind, a, b) == 0;
    case Comparison::kNotEqual:
      return order(kind, a, b) != 0;
    case Comparison::kLess:
      return order(kind, a, b) < 0;
    case Comparison::kLessEqual:
      return order(kind, a, b) <= 0;
    case Comparison::kGreater:
      return order(kind, a, b) > 0;
    case Comparison::kGreaterEqual:
      return order(kind, a, b) >= 0;
    case Comparison::kMatch:
      return std::regex_match(b.text, std::regex(a.text));
    case Comparison::kNotMatch:
      return !std::regex_match(b.text, std::regex(a.text));
    case Comparison::kContains:
      return b.text.find(a.text) != std::string::npos;
    case Comparison::kNotContains:
      return b.text.find(a.text) == std::string::npos;
  }
  return false;
}

inline Value combine_reals(Functor functor, double a, double b) {
  switch (functor) {
    case Functor::kAdd:
      return of(a + b);
    case Functor::kSubtract:
      return of(a - b);
    case Functor::kMultiply:
      return of(a * b);
    case Functor::kDivide:
      return of(a / b);
    case Functor::kModulo:
      return of(std::fmod(a, b));
    case Functor::kPower:
      return of(std::pow(a, b));
    default:
      throw std::logic_error("not a binary functor of floats");
  }
}

inline Value combine(Functor functor, ValueKind kind, const Value& a, const Value& b) {
  if (functor == Functor::kMin) return order(kind, b, a) < 0 ? b : a;
  if (functor == Functor::kMax) return order(kind, b, a) > 0 ? b : a;
  if (kind == ValueKind::kFloat) return combine_reals(functor, real(a), real(b));
  const bool is_number = kind == ValueKind::kNumber;
  switch (functor) {
    case Functor::kAdd:
      return of(a.bits + b.bits);
    case Functor::kSubtract:
      return of(a.bits - b.bits);
    case Functor::kMultiply:
      return of(a.bits * b.bits);
    case Functor::kDivide:
      if (b.bits == 0) throw GaveUp("division by zero");
      if (!is_number) return of(a.bits / b.bits);
      return number(b) == -1 ? of(0 - a.bits) : of(number(a) / number(b));
    case Functor::kModulo:
      if (b.bits == 0) throw GaveUp("division by zero");
      if (!is_number) return of(a.bits % b.bits);
      return number(b) == -1 ? of(std::int64_t{0}) : of(number(a) % number(b));
    case Functor::kPower: {
      if (is_number && number(b) < 0) throw GaveUp("negative exponent");
      if (b.bits > 4096) throw GaveUp("large exponent");
      std::uint64_t product = 1;
      for (std::uint64_t i = 0; i < b.bits; ++i) product *= a.bits;
      return of(product);
    }
    case Functor::kBitAnd:
      return of(a.bits & b.bits);
    case Functor::kBitOr:
      return of(a.bits | b.bits);
    case Functor::kBitXor:
      return of(a.bits ^ b.bits);
    case Functor::kShiftLeft:
      return of(a.bits << (b.bits % 64));
    case Functor::kShiftRight:
      return is_number ? of(number(a) >> (b.bits % 64)) : of(a.bits >> (b.bits % 64));
    case Functor::kShiftRightUnsigned:
      return of(a.bits >> (b.bits % 64));
    case Functor::kLogicalAnd:
      return of(a.bits != 0 && b.bits != 0);
    case Functor::kLogicalOr:
      return of(a.bits != 0 || b.bits != 0);
    case Functor::kLogicalXor:
      return of((a.bits != 0) != (b.bits != 0));
    default:
      throw std::logic_error("not a binary functor of integers");
  }
}

// Literally what Soufflé does, save for bases, which programs of the generator do not have.
inline Value parse(ValueKind to, const std::string& text) {
  try {
    if (to == ValueKind::kFloat) return of(std::stod(text));
    if (to == ValueKind::kNumber) return of(std::int64_t{std::stoll(text)});
    if (!text.starts_with('-')) return of(std::uint64_t{std::stoull(text)});
  } catch (const std::logic_error&) {
    // Not a number, or out of range.
  }
  throw GaveUp("not a number");
}

inline Value convert(ValueKind from, ValueKind to, const Value& v) {
  if (from == to) return v;
  if (to == ValueKind::kSymbol) {
    if (from == ValueKind::kNumber) return of(std::to_string(number(v)));
    if (from == ValueKind::kUnsigned) return of(std::to_string(v.bits));
    throw GaveUp("texts of floats are not the oracle's business");
  }
  if (from == ValueKind::kSymbol) return parse(to, v.text);
  if (to == ValueKind::kFloat)
    return from == ValueKind::kNumber ? of(static_cast<double>(number(v)))
                                      : of(static_cast<double>(v.bits));
  if (from == ValueKind::kFloat) {
    const double d = std::trunc(real(v));
    if (!(std::abs(d) < 1e15) || (to == ValueKind::kUnsigned && d < 0))
      throw GaveUp("outside the range");
    return of(static_cast<std::int64_t>(d));
  }
  return v;
}

}  // namespace stratalog::datalog::oracle
