// SPDX-License-Identifier: Apache-2.0
// to_number and its like on texts. What is expected here is what Soufflé 2.5, built for 64 bits,
// gave for each of these texts; "none" and "does not fit" are where it ended with an error.
#include "datalog/evaluate/text_to_number.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <vector>

namespace stratalog::datalog {
namespace {

struct Case {
  std::string text;
  std::string expected;
};

std::string outcome(const std::string& text, ValueKind kind) {
  const Result<std::uint64_t> result = text_to_number(text, kind);
  if (!result.is_ok())
    return result.status().message().ends_with("does not fit") ? "does not fit" : "none";
  if (kind == ValueKind::kFloat) return fmt::format("{}", std::bit_cast<double>(result.value()));
  if (kind == ValueKind::kUnsigned) return fmt::format("{}", result.value());
  return fmt::format("{}", static_cast<std::int64_t>(result.value()));
}

void expect(ValueKind kind, const std::vector<Case>& cases) {
  for (const Case& each : cases)
    EXPECT_EQ(outcome(each.text, kind), each.expected) << '"' << each.text << '"';
}

const std::string kOnes64(64, '1');

TEST(TextToNumber, TakesTheNumberThatATextBeginsWith) {
  expect(ValueKind::kNumber, {{"12abc", "12"},
                              {"  7", "7"},
                              {"\t7", "7"},
                              {"+7", "7"},
                              {"-7", "-7"},
                              {"7 ", "7"},
                              {"7u", "7"},
                              {"1.5", "1"},
                              {"1e3", "1"},
                              {"010", "10"},
                              {"1.2.3.4", "1"}});
}

TEST(TextToNumber, BasesCountAtTheVeryBeginning) {
  expect(ValueKind::kNumber,
         {{"0x10", "16"}, {"-0x10", "-16"}, {"+0x10", "0"},   {"0X10", "0"},     {" 0x10", "0"},
          {"0b101", "5"}, {"-0b101", "-5"}, {"+0b1", "0"},    {"0B1", "0"},      {"0b", "none"},
          {"0x", "0"},    {"-0x", "0"},     {"0b2", "none"},  {"0b12", "1"},     {"0xg", "0"},
          {"0x-1", "0"},  {"0b-1", "-1"},   {"0b 1", "1"},    {"-0b-1", "none"}, {"0b0x1", "0"},
          {"0x0x1", "0"}, {"0x10z", "16"},  {"-0b 1", "none"}});
}

TEST(TextToNumber, NoNumberAndNumbersOutOfRange) {
  expect(ValueKind::kNumber, {{"", "none"},
                              {"abc", "none"},
                              {"-", "none"},
                              {"- 7", "none"},
                              {"+-7", "none"},
                              {"9223372036854775807", "9223372036854775807"},
                              {"9223372036854775808", "does not fit"},
                              {"-9223372036854775808", "-9223372036854775808"},
                              {"-9223372036854775809", "does not fit"},
                              {"99999999999999999999", "does not fit"},
                              {"0x7fffffffffffffff", "9223372036854775807"},
                              {"0xffffffffffffffff", "does not fit"},
                              {"0b" + kOnes64, "does not fit"}});
}

TEST(TextToNumber, Unsigned) {
  expect(ValueKind::kUnsigned, {{"5x", "5"},
                                {"+5", "5"},
                                {"-7", "none"},
                                {"-0x", "none"},
                                {" -5", "18446744073709551611"},
                                {"0b-1", "18446744073709551615"},
                                {"0xffffffffffffffff", "18446744073709551615"},
                                {"0b" + kOnes64, "18446744073709551615"},
                                {"18446744073709551615", "18446744073709551615"},
                                {"18446744073709551616", "does not fit"},
                                {"0b2", "none"}});
}

TEST(TextToNumber, Floats) {
  expect(ValueKind::kFloat, {{"1.5x", "1.5"},
                             {"0x10", "16"},
                             {"0x1.8p1", "3"},
                             {"  1.5", "1.5"},
                             {"+1.5", "1.5"},
                             {"-1.5", "-1.5"},
                             {"inf", "inf"},
                             {"-inf", "-inf"},
                             {"INF", "inf"},
                             {"infx", "inf"},
                             {"nan", "nan"},
                             {"nanx", "nan"},
                             {"NaN", "nan"},
                             {".5", "0.5"},
                             {"5.", "5"},
                             {"1e", "1"},
                             {"1e+", "1"},
                             {"1,5", "1"},
                             {"0x", "0"},
                             {"0xg", "0"},
                             {"0x-1", "0"},
                             {"0xinf", "0"},
                             {"-0", "-0"},
                             {"0b1", "0"},
                             {"", "none"},
                             {"x", "none"},
                             {".", "none"},
                             {"-", "none"},
                             {"--1", "none"},
                             {"+-1", "none"},
                             {"1e400", "does not fit"},
                             {"1e-400", "does not fit"},
                             {"-1e400", "does not fit"},
                             {"0x1p9999", "does not fit"}});
}

TEST(TextToNumber, TakesFloatsThatAreTooSmallForFullPrecision) {
  // Soufflé ends with an error at them.
  expect(ValueKind::kFloat, {{"5e-324", "5e-324"}, {"1e-310", "1e-310"}});
}

}  // namespace
}  // namespace stratalog::datalog
