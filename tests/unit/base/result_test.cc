// SPDX-License-Identifier: Apache-2.0
// Result: values, errors, move-only contents and the assign-or-return macro.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace stratalog {
namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Status::invalid_argument("odd");
  return number / 2;
}

Result<std::string> quarter_in_words(int number, int& steps) {
  STRATALOG_ASSIGN_OR_RETURN(const int first, half(number));
  ++steps;
  int second = 0;
  STRATALOG_ASSIGN_OR_RETURN(second, half(first));
  ++steps;
  return std::to_string(second);
}

TEST(Result, HoldsAValueOrAStatus) {
  const auto good = half(4);
  EXPECT_TRUE(good.is_ok());
  EXPECT_TRUE(good.status().is_ok());
  EXPECT_EQ(good.value(), 2);
  const auto bad = half(3);
  EXPECT_FALSE(bad.is_ok());
  EXPECT_EQ(bad.status().to_string(), "InvalidArgument: odd");
}

TEST(Result, AssignOrReturnStopsAtTheFirstError) {
  int steps = 0;
  EXPECT_EQ(quarter_in_words(12, steps).value(), "3");
  EXPECT_EQ(steps, 2);
  EXPECT_EQ(quarter_in_words(6, steps).status().message(), "odd");
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(quarter_in_words(5, steps).status().message(), "odd");
  EXPECT_EQ(steps, 3);
}

TEST(Result, CarriesMoveOnlyValuesAndLetsThemBeChanged) {
  Result<std::unique_ptr<int>> owner(std::make_unique<int>(5));
  const std::unique_ptr<int> taken = std::move(owner).value();
  EXPECT_EQ(*taken, 5);
  Result<std::vector<int>> numbers(std::vector<int>{1});
  numbers.value().push_back(2);
  EXPECT_EQ(numbers.value().size(), 2U);
}

TEST(Result, AResultOfAStatusCodeIsAValue) {
  const Result<StatusCode> code(StatusCode::kIoError);
  EXPECT_TRUE(code.is_ok());
  EXPECT_EQ(code.value(), StatusCode::kIoError);
}

}  // namespace
}  // namespace stratalog
