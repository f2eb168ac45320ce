// SPDX-License-Identifier: Apache-2.0
// What expressions and comparisons mean: 64-bit numbers that wrap around, Soufflé's strings and
// conversions, errors that name the place in the program.
#include "datalog/evaluate/expression.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace stratalog::datalog {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Expression bits(ValueKind kind, std::uint64_t value) {
  Expression e;
  e.value_kind = kind;
  e.bits = value;
  return e;
}
Expression num(std::int64_t n) { return bits(ValueKind::kNumber, static_cast<std::uint64_t>(n)); }
Expression uns(std::uint64_t n) { return bits(ValueKind::kUnsigned, n); }
Expression flt(double d) { return bits(ValueKind::kFloat, std::bit_cast<std::uint64_t>(d)); }
Expression sym(std::string text) {
  Expression e;
  e.value_kind = ValueKind::kSymbol;
  e.text = std::move(text);
  return e;
}
Expression call(ValueKind kind, Functor functor, std::vector<Expression> arguments) {
  Expression e;
  e.kind = ExpressionKind::kFunctor;
  e.value_kind = kind;
  e.functor = functor;
  e.arguments = std::move(arguments);
  return e;
}

class Expressions : public ::testing::Test {
 protected:
  std::int64_t number(Functor functor, std::vector<Expression> arguments) {
    return static_cast<std::int64_t>(
        evaluator_.bits(call(ValueKind::kNumber, functor, std::move(arguments)), none_, 0));
  }
  std::int64_t number(Functor functor, std::int64_t a, std::int64_t b) {
    return number(functor, {num(a), num(b)});
  }
  std::uint64_t unsigned_of(Functor functor, std::uint64_t a, std::uint64_t b) {
    return evaluator_.bits(call(ValueKind::kUnsigned, functor, {uns(a), uns(b)}), none_, 0);
  }
  double real(Functor functor, std::vector<Expression> arguments) {
    return std::bit_cast<double>(
        evaluator_.bits(call(ValueKind::kFloat, functor, std::move(arguments)), none_, 0));
  }
  std::string text(Functor functor, std::vector<Expression> arguments) {
    return evaluator_.text(call(ValueKind::kSymbol, functor, std::move(arguments)), none_, 0);
  }
  bool holds(Comparison comparison, const Expression& a, const Expression& b) {
    return evaluator_.compare(comparison, a, b, none_, 0);
  }

  ValueDictionary dictionary_;
  NewValues values_{dictionary_};
  ExpressionEvaluator evaluator_{values_};
  Batch none_;
};

TEST_F(Expressions, NumbersWrapAround) {
  EXPECT_EQ(number(Functor::kAdd, kMost, 1), kLeast);
  EXPECT_EQ(number(Functor::kSubtract, kLeast, 1), kMost);
  EXPECT_EQ(number(Functor::kMultiply, kMost, 2), -2);
  EXPECT_EQ(number(Functor::kNegate, {num(kLeast)}), kLeast);
  EXPECT_EQ(number(Functor::kDivide, kLeast, -1), kLeast);
  EXPECT_EQ(number(Functor::kModulo, kLeast, -1), 0);
  EXPECT_EQ(number(Functor::kAdd, {num(1), num(2), num(3), num(4)}), 10);
  EXPECT_TRUE(evaluator_.status().is_ok());
}

TEST_F(Expressions, DivisionRoundsTowardsZero) {
  EXPECT_EQ(number(Functor::kDivide, 7, 2), 3);
  EXPECT_EQ(number(Functor::kDivide, -7, 2), -3);
  EXPECT_EQ(number(Functor::kModulo, -7, 2), -1);
  EXPECT_EQ(number(Functor::kModulo, 7, -2), 1);
  EXPECT_EQ(unsigned_of(Functor::kDivide, ~0ULL, 2), ~0ULL >> 1);
  EXPECT_EQ(unsigned_of(Functor::kModulo, ~0ULL, 10), 5U);
}

TEST_F(Expressions, DivisionByZeroIsAnErrorWithAPlace) {
  const SourcePlace place{.file = "rules.dl", .line = 12, .column = 7};
  evaluator_.set_place(&place);
  EXPECT_EQ(number(Functor::kDivide, 1, 0), 0);
  EXPECT_EQ(evaluator_.status().to_string(),
            "InvalidArgument: rules.dl:12:7: division by zero; guard the divisor with `!= 0`");
  number(Functor::kModulo, 1, 0);
  EXPECT_NE(evaluator_.status().message().find("division by zero; guard"), std::string::npos)
      << "the first error is kept";
}

TEST_F(Expressions, RemainderOfADivisionByZero) {
  number(Functor::kModulo, 1, 0);
  EXPECT_EQ(evaluator_.status().to_string(),
            "InvalidArgument: remainder of a division by zero; guard the divisor with `!= 0`");
}

TEST_F(Expressions, Powers) {
  EXPECT_EQ(number(Functor::kPower, 3, 4), 81);
  EXPECT_EQ(number(Functor::kPower, -2, 63), kLeast);
  EXPECT_EQ(number(Functor::kPower, 10, 0), 1);
  EXPECT_EQ(number(Functor::kPower, 0, 0), 1);
  EXPECT_EQ(number(Functor::kPower, 7, 1000), static_cast<std::int64_t>([] {
              std::uint64_t p = 1;
              for (int i = 0; i < 1000; ++i) p *= 7;
              return p;
            }()));
  // 1 / base^n, rounded towards zero.
  EXPECT_EQ(number(Functor::kPower, 1, -3), 1);
  EXPECT_EQ(number(Functor::kPower, -1, -3), -1);
  EXPECT_EQ(number(Functor::kPower, -1, -2), 1);
  EXPECT_EQ(number(Functor::kPower, 5, -1), 0);
  EXPECT_DOUBLE_EQ(real(Functor::kPower, {flt(2), flt(-1)}), 0.5);
}

TEST_F(Expressions, BitsAndShifts) {
  EXPECT_EQ(number(Functor::kBitAnd, 12, 10), 8);
  EXPECT_EQ(number(Functor::kBitOr, 12, 10), 14);
  EXPECT_EQ(number(Functor::kBitXor, 12, 10), 6);
  EXPECT_EQ(number(Functor::kBitNot, {num(0)}), -1);
  EXPECT_EQ(number(Functor::kShiftLeft, 1, 63), kLeast);
  EXPECT_EQ(number(Functor::kShiftLeft, 1, 64), 1) << "amounts count modulo 64";
  EXPECT_EQ(number(Functor::kShiftRight, -8, 1), -4);
  EXPECT_EQ(number(Functor::kShiftRightUnsigned, -1, 1), kMost);
  EXPECT_EQ(unsigned_of(Functor::kShiftRight, ~0ULL, 60), 15U);
}

TEST_F(Expressions, Logic) {
  EXPECT_EQ(number(Functor::kLogicalAnd, 2, 4), 1);
  EXPECT_EQ(number(Functor::kLogicalAnd, 2, 0), 0);
  EXPECT_EQ(number(Functor::kLogicalOr, 0, -1), 1);
  EXPECT_EQ(number(Functor::kLogicalXor, 3, 5), 0);
  EXPECT_EQ(number(Functor::kLogicalNot, {num(0)}), 1);
  EXPECT_EQ(number(Functor::kLogicalNot, {num(7)}), 0);
}

TEST_F(Expressions, MinAndMaxFollowTheKind) {
  EXPECT_EQ(number(Functor::kMin, {num(3), num(-1), num(2)}), -1);
  EXPECT_EQ(number(Functor::kMax, {num(3), num(-1), num(2)}), 3);
  EXPECT_EQ(unsigned_of(Functor::kMin, ~0ULL, 1), 1U);
  EXPECT_DOUBLE_EQ(real(Functor::kMax, {flt(-0.5), flt(-2)}), -0.5);
  EXPECT_EQ(text(Functor::kMin, {sym("b"), sym("ab"), sym("a")}), "a");
  EXPECT_EQ(text(Functor::kMax, {sym("b"), sym("ab"), sym("\xC3\xA9")}), "\xC3\xA9") << "by bytes";
}

TEST_F(Expressions, Floats) {
  EXPECT_DOUBLE_EQ(real(Functor::kDivide, {flt(1), flt(4)}), 0.25);
  EXPECT_TRUE(std::isinf(real(Functor::kDivide, {flt(1), flt(0)})));
  EXPECT_DOUBLE_EQ(real(Functor::kModulo, {flt(7.5), flt(2)}), 1.5);
  EXPECT_DOUBLE_EQ(real(Functor::kNegate, {flt(2)}), -2);
  EXPECT_TRUE(evaluator_.status().is_ok()) << "floats have their infinities";
}

TEST_F(Expressions, ConversionsBetweenNumbers) {
  EXPECT_EQ(number(Functor::kToNumber, {flt(-2.9)}), -2);
  EXPECT_EQ(number(Functor::kToNumber, {flt(1e300)}), kMost);
  EXPECT_EQ(number(Functor::kToNumber, {flt(-1e300)}), kLeast);
  EXPECT_EQ(number(Functor::kToNumber, {flt(std::nan(""))}), 0);
  EXPECT_EQ(number(Functor::kToNumber, {uns(~0ULL)}), -1);
  const auto to_unsigned = [&](const Expression& e) {
    return evaluator_.bits(call(ValueKind::kUnsigned, Functor::kToUnsigned, {e}), none_, 0);
  };
  EXPECT_EQ(to_unsigned(num(-1)), ~0ULL);
  EXPECT_EQ(to_unsigned(flt(-3)), 0U);
  EXPECT_EQ(to_unsigned(flt(1e300)), ~0ULL);
  EXPECT_EQ(to_unsigned(flt(9223372036854775808.0)), 1ULL << 63);
  EXPECT_DOUBLE_EQ(real(Functor::kToFloat, {num(-3)}), -3.0);
  EXPECT_DOUBLE_EQ(real(Functor::kToFloat, {uns(~0ULL)}), 18446744073709551616.0);
  EXPECT_EQ(number(Functor::kReinterpret, {flt(1.0)}), 0x3FF0000000000000);
}

TEST_F(Expressions, TextToNumbers) {
  EXPECT_EQ(number(Functor::kToNumber, {sym("-42")}), -42);
  EXPECT_EQ(number(Functor::kToNumber, {sym("9223372036854775807")}), kMost);
  EXPECT_DOUBLE_EQ(real(Functor::kToFloat, {sym("2.5e1")}), 25);
  EXPECT_TRUE(evaluator_.status().is_ok());
  number(Functor::kToNumber, {sym("x12")});
  EXPECT_EQ(evaluator_.status().to_string(),
            "InvalidArgument: cannot convert the text \"x12\" to a number: it does not begin with "
            "one");
}

TEST_F(Expressions, NumbersToText) {
  EXPECT_EQ(text(Functor::kToString, {num(kLeast)}), "-9223372036854775808");
  EXPECT_EQ(text(Functor::kToString, {uns(~0ULL)}), "18446744073709551615");
  EXPECT_EQ(text(Functor::kToString, {sym("s")}), "s");
}

TEST_F(Expressions, Strings) {
  EXPECT_EQ(text(Functor::kCat, {sym("a"), sym(""), sym("bc")}), "abc");
  EXPECT_EQ(number(Functor::kStrlen, {sym("\xC3\xA9t\xC3\xA9")}), 5) << "in bytes";
  const auto part = [&](std::int64_t from, std::int64_t length) {
    return text(Functor::kSubstr, {sym("abcde"), num(from), num(length)});
  };
  EXPECT_EQ(part(1, 3), "bcd");
  EXPECT_EQ(part(3, 99), "de");
  EXPECT_EQ(part(5, 1), "");
  EXPECT_EQ(part(6, 1), "");
  EXPECT_EQ(part(-1, 2), "");
  EXPECT_EQ(part(1, 0), "");
  EXPECT_EQ(part(1, -1), "bcde") << "as Soufflé: a negative length is a huge one";
  EXPECT_EQ(part(5, kLeast), "");
  EXPECT_EQ(part(6, -1), "");
  EXPECT_EQ(part(kMost, 1), "");
  EXPECT_EQ(part(3, kMost), "de");
}

TEST_F(Expressions, ComparisonsFollowTheKind) {
  EXPECT_TRUE(holds(Comparison::kLess, num(-1), num(0)));
  EXPECT_FALSE(holds(Comparison::kLess, uns(~0ULL), uns(0)));
  EXPECT_TRUE(holds(Comparison::kLess, flt(-1.5), flt(-1)));
  EXPECT_TRUE(holds(Comparison::kEqual, flt(0.0), flt(-0.0)));
  EXPECT_FALSE(holds(Comparison::kEqual, flt(std::nan("")), flt(std::nan(""))));
  EXPECT_TRUE(holds(Comparison::kGreaterEqual, num(3), num(3)));
  EXPECT_TRUE(holds(Comparison::kNotEqual, sym("a"), sym("b")));
  EXPECT_TRUE(holds(Comparison::kLess, sym("B"), sym("a"))) << "by bytes";
  EXPECT_TRUE(holds(Comparison::kLess, sym("a"), sym("ab")));
}

TEST_F(Expressions, MatchAndContains) {
  EXPECT_TRUE(holds(Comparison::kMatch, sym("a.*c"), sym("abbc")));
  EXPECT_FALSE(holds(Comparison::kMatch, sym("b"), sym("abc"))) << "the whole text must match";
  EXPECT_TRUE(holds(Comparison::kNotMatch, sym("b"), sym("abc")));
  EXPECT_TRUE(holds(Comparison::kContains, sym("b"), sym("abc")));
  EXPECT_TRUE(holds(Comparison::kContains, sym(""), sym("")));
  EXPECT_TRUE(holds(Comparison::kNotContains, sym("abcd"), sym("abc")));
  EXPECT_TRUE(evaluator_.status().is_ok());
  // As in Soufflé: a warning, and neither holds.
  EXPECT_FALSE(holds(Comparison::kMatch, sym("("), sym("abc")));
  EXPECT_FALSE(holds(Comparison::kNotMatch, sym("("), sym("abc")));
  EXPECT_TRUE(evaluator_.status().is_ok());
  ASSERT_EQ(evaluator_.warnings().size(), 1U);
  EXPECT_NE(evaluator_.warnings().begin()->find("\"(\""), std::string::npos)
      << *evaluator_.warnings().begin();
}

TEST_F(Expressions, KnownValuesKeepTheirCellsAndNewOnesAreProvisional) {
  const Cell known = dictionary_.encode_symbol("known");
  const Cell wide = dictionary_.encode(1ULL << 40);
  EXPECT_EQ(evaluator_.evaluate(call(ValueKind::kSymbol, Functor::kCat, {sym("kn"), sym("own")}),
                                none_, 0),
            known);
  EXPECT_EQ(evaluator_.evaluate(call(ValueKind::kNumber, Functor::kShiftLeft, {num(1), num(40)}),
                                none_, 0),
            wide);
  const Cell fresh =
      evaluator_.evaluate(call(ValueKind::kSymbol, Functor::kCat, {sym("ne"), sym("w")}), none_, 0);
  EXPECT_NE(fresh, known);
  EXPECT_EQ(fresh, evaluator_.evaluate(sym("new"), none_, 0)) << "one cell for one value";
  EXPECT_EQ(values_.text(fresh), "new");
  EXPECT_EQ(evaluator_.evaluate(num(-5), none_, 0), narrow_cell(static_cast<std::uint64_t>(-5)));
}

}  // namespace
}  // namespace stratalog::datalog
