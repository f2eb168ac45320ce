// SPDX-License-Identifier: Apache-2.0
// Sizes, intervals and counts as people write and read them.
#include "cli/quantities.h"

#include <gtest/gtest.h>

namespace stratalog::cli {
namespace {

TEST(ParseSize, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_size("65536").value(), 65536U);
  EXPECT_EQ(parse_size("4G").value(), 4ULL << 30U);
  EXPECT_EQ(parse_size("512M").value(), 512ULL << 20U);
  EXPECT_EQ(parse_size("1.5GiB").value(), 3ULL << 29U);
  EXPECT_EQ(parse_size("2kB").value(), 2048U);
  EXPECT_EQ(parse_size("1T").value(), 1ULL << 40U);
  EXPECT_EQ(parse_size("100B").value(), 100U);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text : {"", "G", "-4G", "4X", "4GG", "0", "1.2.3M", "4 G", "1e3", "99999999T"}) {
    const auto size = parse_size(text);
    ASSERT_FALSE(size.is_ok()) << text;
    EXPECT_EQ(size.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(size.status().message().find("4G"), std::string::npos) << "says how to write one";
  }
}

TEST(ParseIntervals, RoundsTimeOrBoth) {
  EXPECT_EQ(parse_intervals({"400it"}).value().iterations, 400U);
  EXPECT_EQ(parse_intervals({"400it"}).value().seconds, 0);
  EXPECT_EQ(parse_intervals({"60s"}).value().seconds, 60);
  EXPECT_EQ(parse_intervals({"0.5s"}).value().seconds, 0.5);
  EXPECT_EQ(parse_intervals({"5m"}).value().seconds, 300);
  EXPECT_EQ(parse_intervals({"2h"}).value().seconds, 7200);
  for (const auto& texts :
       {std::vector<std::string>{"400it,60s"}, std::vector<std::string>{"60s", "400it"}}) {
    EXPECT_EQ(parse_intervals(texts).value().iterations, 400U);
    EXPECT_EQ(parse_intervals(texts).value().seconds, 60);
  }
  EXPECT_EQ(parse_intervals({}).value().iterations, 0U);
}

TEST(ParseIntervals, AutomaticTime) {
  EXPECT_TRUE(parse_intervals({"auto"}).value().is_automatic);
  EXPECT_EQ(parse_intervals({"400it,auto"}).value().iterations, 400U);
  EXPECT_FALSE(parse_intervals({"60s"}).value().is_automatic);
  EXPECT_FALSE(parse_intervals({"auto,60s"}).is_ok());
  EXPECT_EQ(parse_intervals({"2%"}).value().most_share, 0.02);
  EXPECT_EQ(parse_intervals({"400it,0.5%"}).value().iterations, 400U);
  EXPECT_EQ(parse_intervals({"400it,0.5%"}).value().most_share, 0.005);
  for (const char* text : {"0%", "100%", "-2%", "%", "2%,3%", "2%,60s", "auto,2%"})
    EXPECT_FALSE(parse_intervals({text}).is_ok()) << text;
  EXPECT_EQ(parse_duration("24h").value(), 86400);
  EXPECT_EQ(parse_duration("1.5d").value(), 129600);
  for (const char* text : {"", "24", "0h", "24it", "auto"})
    EXPECT_FALSE(parse_duration(text).is_ok()) << text;
}

TEST(ParseIntervals, RefusesNonsenseAndRepetition) {
  for (const char* text :
       {"", "60", "it", "0s", "-1s", "1.5it", "60s,", "60s,5m", "4it,5it", "60 s"}) {
    EXPECT_FALSE(parse_intervals({text}).is_ok()) << text;
  }
}

TEST(Jobs, NumbersAndAuto) {
  EXPECT_EQ(parse_jobs("1", 8).value(), 1);
  EXPECT_EQ(parse_jobs("1024", 8).value(), 1024);
  EXPECT_EQ(parse_jobs("auto", 8).value(), 8);
  for (const char* bad : {"", "0", "-1", "1025", "2x", "2.5", "Auto", "99999999999"})
    EXPECT_FALSE(parse_jobs(bad, 8).is_ok()) << bad;
}

TEST(Format, Counts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(24413481), "24,413,481");
  EXPECT_EQ(format_short_count(0), "0");
  EXPECT_EQ(format_short_count(999), "999");
  EXPECT_EQ(format_short_count(24413481), "24.4 M");
  EXPECT_EQ(format_short_count(123456), "123 k");
  EXPECT_EQ(format_short_count(1.67e9), "1.7 G");
}

TEST(Format, SizesAndDurations) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size(5ULL << 30U), "5.0 GiB");
  EXPECT_EQ(format_duration(0), "0.00 s");
  EXPECT_EQ(format_duration(-1), "0.00 s");
  EXPECT_EQ(format_duration(1e-9), "1 us");
  EXPECT_EQ(format_duration(0.00032), "320 us");
  EXPECT_EQ(format_duration(0.0042), "4.2 ms");
  EXPECT_EQ(format_duration(0.0123), "0.01 s");
  EXPECT_EQ(format_duration(0.417), "0.42 s");
  EXPECT_EQ(format_duration(31), "31.0 s");
  EXPECT_EQ(format_duration(307.2), "5:07");
  EXPECT_EQ(format_duration(7509), "2:05:09");
}

}  // namespace
}  // namespace stratalog::cli
