// SPDX-License-Identifier: Apache-2.0
// Notations of numbers in fact files, at and beyond the edges of their ranges.
#include "datalog/facts/field_parser.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace stratalog::datalog {
namespace {

void expect_number(const std::string& text, std::int64_t value) {
  const ParsedField field = parse_number(text);
  EXPECT_EQ(field.problem, FieldProblem::kNone) << text;
  EXPECT_EQ(static_cast<std::int64_t>(field.bits), value) << text;
}

void expect_float(const std::string& text, double value) {
  const ParsedField field = parse_float(text);
  EXPECT_EQ(field.problem, FieldProblem::kNone) << text;
  EXPECT_EQ(field.bits, std::bit_cast<std::uint64_t>(value)) << text;
}

TEST(FieldParser, NumbersInAllNotations) {
  expect_number("0", 0);
  expect_number("-0", 0);
  expect_number("007", 7);
  expect_number("+5", 5);
  expect_number("  12", 12);
  expect_number("0x1F", 31);
  expect_number("0X1f", 31);
  expect_number("-0x10", -16);
  expect_number("0b101", 5);
  expect_number("-0b11", -3);
  expect_number("9223372036854775807", std::numeric_limits<std::int64_t>::max());
  expect_number("-9223372036854775808", std::numeric_limits<std::int64_t>::min());
  expect_number("-0x8000000000000000", std::numeric_limits<std::int64_t>::min());
}

TEST(FieldParser, WhatIsNoNumber) {
  for (const std::string text :
       {"", " ", "-", "+", "--1", "+-1", "1 ", "1.5", "abc", "12abc", "0x", "0xg", "0b", "0b2",
        "1e3", "0x-1", "\xEF\xBB\xBF\x31", "99999999999999999999x"})
    EXPECT_EQ(parse_number(text).problem, FieldProblem::kMalformed) << text;
  EXPECT_EQ(parse_number(std::string("1\0", 2)).problem, FieldProblem::kMalformed);
  for (const std::string text : {"9223372036854775808", "-9223372036854775809",
                                 "99999999999999999999999", "0xffffffffffffffff"})
    EXPECT_EQ(parse_number(text).problem, FieldProblem::kOutOfRange) << text;
}

TEST(FieldParser, Unsigned) {
  EXPECT_EQ(parse_unsigned("18446744073709551615").bits, ~std::uint64_t{0});
  EXPECT_EQ(parse_unsigned("0xffffffffffffffff").bits, ~std::uint64_t{0});
  EXPECT_EQ(parse_unsigned("18446744073709551616").problem, FieldProblem::kOutOfRange);
  EXPECT_EQ(parse_unsigned("-1").problem, FieldProblem::kNegative);
  EXPECT_EQ(parse_unsigned("-99999999999999999999").problem, FieldProblem::kNegative);
  EXPECT_EQ(parse_unsigned("-x").problem, FieldProblem::kMalformed);
}

TEST(FieldParser, Floats) {
  expect_float("0", 0.0);
  expect_float("-0", -0.0);
  expect_float("1.5", 1.5);
  expect_float(".5", 0.5);
  expect_float("5.", 5.0);
  expect_float("+2.5e-3", 2.5e-3);
  expect_float("1E10", 1e10);
  expect_float("0.1", 0.1);
  expect_float(" 3", 3.0);
  expect_float("0x1.8p1", 3.0);
  expect_float("-0x1p-2", -0.25);
  expect_float("inf", std::numeric_limits<double>::infinity());
  expect_float("-inf", -std::numeric_limits<double>::infinity());
  expect_float("5e-324", std::numeric_limits<double>::denorm_min());
  EXPECT_TRUE(std::isnan(std::bit_cast<double>(parse_float("nan").bits)));
  for (const std::string text : {"", "-", "1,5", "1.5 ", "--1", "e5", "0x", "1.5f", "one"})
    EXPECT_EQ(parse_float(text).problem, FieldProblem::kMalformed) << text;
  EXPECT_EQ(parse_float("1e999").problem, FieldProblem::kOutOfRange);
  EXPECT_EQ(parse_float("1e-999").problem, FieldProblem::kOutOfRange);
}

}  // namespace
}  // namespace stratalog::datalog
