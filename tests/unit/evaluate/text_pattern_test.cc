// SPDX-License-Identifier: Apache-2.0
// match: texts and patterns of all lengths end with an answer or a message.
#include "datalog/evaluate/text_pattern.h"

#include <gtest/gtest.h>

namespace stratalog::datalog {
namespace {

bool matches(const std::string& pattern, const std::string& text) {
  auto made = TextPattern::of(pattern);
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  if (!made.is_ok()) return false;
  const auto answer = made.value().matches(text);
  EXPECT_TRUE(answer.is_ok()) << answer.status().to_string();
  return answer.is_ok() && answer.value();
}

std::string nested(int levels) { return std::string(levels, '(') + "a" + std::string(levels, ')'); }

TEST(TextPattern, LongTextsAreMatchedAsShortOnesAre) {
  for (const int length : {10, 1'999, 2'000, 2'001, 300'000}) {
    const std::string text(length, 'a');
    EXPECT_TRUE(matches(".*", text)) << length;
    EXPECT_TRUE(matches("(a|b)*", text)) << length;
    EXPECT_TRUE(matches("(?=a)[a-c]+", text)) << length;
    EXPECT_TRUE(matches("a.*b", text + "b")) << length;
    EXPECT_FALSE(matches("a.*b", text)) << length;
    EXPECT_FALSE(matches("(a|b)*", text + "\nc")) << length;
    EXPECT_EQ(matches("a{5,20}", text), length == 10) << length;
  }
}

TEST(TextPattern, WhatIsTooLargeIsRefused) {
  EXPECT_TRUE(matches(nested(400), "a"));
  std::string choice = "a";
  for (int i = 0; i < 50'000; ++i) choice += "|b";
  for (const std::string& pattern : {nested(50'000), choice, std::string(100'000, 'a')}) {
    const auto made = TextPattern::of(pattern);
    ASSERT_FALSE(made.is_ok());
    EXPECT_NE(made.status().message().find("too large"), std::string::npos);
  }
  // What is escaped or in brackets is no parenthesis.
  std::string escaped;
  for (int i = 0; i < 1'000; ++i) escaped += "\\([(|]";
  std::string text;
  for (int i = 0; i < 1'000; ++i) text += "(|";
  EXPECT_TRUE(matches(escaped, text));
  EXPECT_FALSE(TextPattern::of("(a").is_ok());
}

TEST(TextPattern, ReferencesBackNeedShortTexts) {
  auto made = TextPattern::of("(a*)b\\1");
  ASSERT_TRUE(made.is_ok());
  const auto answer = made.value().matches("aabaa");
  ASSERT_TRUE(answer.is_ok());
  EXPECT_TRUE(answer.value());
  const auto refused = made.value().matches(std::string(100'000, 'a'));
  ASSERT_FALSE(refused.is_ok());
  EXPECT_NE(refused.status().message().find("100000 characters is too long"), std::string::npos);
}

}  // namespace
}  // namespace stratalog::datalog
