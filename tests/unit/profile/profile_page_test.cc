// SPDX-License-Identifier: Apache-2.0
// The page of a profile: hostile texts, empty and very large profiles, long series.
#include "profile/profile_page.h"

#include <gtest/gtest.h>

#include <limits>

#include "profile/svg_chart.h"

namespace stratalog {
namespace {

constexpr const char* kEvil = "\"><script>alert(1)</script><img src=x onerror='a'>&\x01";

// A profile whose every text is hostile.
RunProfile evil_profile(std::uint32_t ranks) {
  RunProfile profile;
  profile.program = kEvil;
  profile.ranks = ranks;
  profile.resumed_from = kEvil;
  profile.total_seconds = 2;
  profile.strata = {{.relations = kEvil, .strategy = kEvil, .iterations = 3}};
  ProfileRule rule;
  rule.text = rule.file = rule.delta = kEvil;
  rule.seconds = 1;
  rule.derivations = 10;
  rule.new_tuples = 0;
  profile.rules = {rule, rule};
  profile.rules[1].work = ProfileWork::kSweep;
  profile.rules[1].new_tuples.reset();
  profile.by_rank.resize(ranks);
  for (ProfileRank& rank : profile.by_rank) rank.total_seconds = rank.seconds[2] = 1;
  profile.rounds = {{.stratum = 0, .first = 1, .rounds = 1, .new_tuples = 1, .largest = 1},
                    {.stratum = 0, .first = 2, .rounds = 1, .new_tuples = 0, .largest = 0}};
  profile.samples = {{.at_seconds = 0}, {.at_seconds = 1, .memory_bytes = ~std::uint64_t{0}}};
  profile.relations = {{.name = kEvil, .rows = 3, .largest_rows = 2}};
  profile.checkpoints = {{.generation = kEvil, .bytes = 1, .seconds = 0}};
  return profile;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(ProfilePage, EscapesWhateverCameFromTheProgram) {
  for (const std::uint32_t ranks : {1U, 3U, 100U}) {
    const std::string page = profile_page(evil_profile(ranks));
    EXPECT_EQ(count(page, "<script>"), 1U) << "only the page's own";
    EXPECT_EQ(count(page, "<img"), 0U);
    EXPECT_EQ(count(page, "\x01"), 0U);
    EXPECT_GE(count(page, "&lt;script&gt;alert(1)&lt;/script&gt;"), 10U);
    EXPECT_EQ(count(page, "http://"), 0U) << "loads nothing";
    EXPECT_EQ(count(page, "https://"), 0U);
    EXPECT_EQ(count(page, "nan"), 0U);
    EXPECT_EQ(count(page, "<svg"), count(page, "</svg>"));
    EXPECT_EQ(count(page, "<table>"), count(page, "</table>"));
    EXPECT_EQ(count(page, "<tr>"), count(page, "</tr>"));
  }
}

TEST(ProfilePage, AnEmptyProfileIsAPage) {
  const std::string page = profile_page(RunProfile{});
  EXPECT_EQ(count(page, "</html>"), 1U);
  EXPECT_EQ(count(page, "nan"), 0U);
  EXPECT_EQ(count(page, "inf"), 0U);
}

TEST(ProfilePage, ManyRanksAreBoundedAndSaidSo) {
  RunProfile profile = evil_profile(16384);
  profile.by_rank[777].total_seconds = 9;
  const std::string page = profile_page(profile);
  EXPECT_LT(page.size(), 100000U);
  EXPECT_EQ(count(page, "rank 777<"), 1U) << "the busiest is drawn";
  EXPECT_EQ(count(page, "of 16384 ranks"), 1U);
}

LineChart empty_chart() {
  return {.label = "l",
          .x_name = "x",
          .series = {{.name = "s", .colour = 1, .points = {}}},
          .y_scale = AxisScale::kLinear,
          .x_text = [](double v) { return std::to_string(v); },
          .y_text = [](double v) { return std::to_string(v); }};
}

// One more than such a number is the same number, so an axis from it to one more had no length.
TEST(SvgChart, VeryLargeNumbersAreDrawn) {
  for (const std::vector<double>& places : {std::vector<double>{1e17},
                                            {1.1e32},
                                            {1.7e308},
                                            {std::numeric_limits<double>::max()},
                                            {1e32, 1e32},
                                            {0, 1.7e308},
                                            {1e16, 1e16 + 2}}) {
    LineChart chart = empty_chart();
    for (const double place : places) chart.series[0].points.push_back({.x = place, .y = place});
    const std::string svg = draw_lines(chart);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_NE(svg.find(" d=\"M"), std::string::npos);
    EXPECT_LT(svg.size(), 20'000U);
  }
}

TEST(SvgChart, LongSeriesAreThinnedToWhatCanBeSeen) {
  LineChart chart = empty_chart();
  for (int i = 0; i < 100000; ++i)
    chart.series[0].points.push_back({.x = i * 1.0, .y = i == 54321 ? 1e6 : i % 10});
  const std::string svg = draw_lines(chart);
  EXPECT_LT(svg.size(), 80000U);
  EXPECT_NE(svg.find(" 14.0"), std::string::npos) << "the single peak reaches the top";
}

}  // namespace
}  // namespace stratalog
