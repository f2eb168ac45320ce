// SPDX-License-Identifier: Apache-2.0
// The JSON of a profile: what is written is read again, and what is wrong is named.
#include "profile/profile_json.h"

#include <gtest/gtest.h>

namespace stratalog {
namespace {

RunProfile sample() {
  RunProfile profile;
  profile.program = "a<b>.dl";
  profile.ranks = 2;
  profile.total_seconds = 1.5;
  profile.peak_memory_bytes = 1U << 30U;
  profile.strata = {{.relations = "edge"}, {.relations = "path", .strategy = "semi-naive"}};
  ProfileRule rule;
  rule.stratum = 1;
  rule.text = "path(x, z) :- path(x, y), edge(y, z), s = \"</script>\\\"\".";
  rule.file = "tc.dl";
  rule.line = 7;
  rule.delta = "path";
  rule.seconds = 0.25;
  rule.derivations = 18000000000000000000U;
  profile.rules.push_back(rule);
  rule.work = ProfileWork::kSweep;
  rule.new_tuples = 12;
  profile.rules.push_back(rule);
  profile.by_rank.resize(2);
  profile.by_rank[1].seconds[2] = 0.5;
  profile.rounds = {
      {.stratum = 1, .first = 1, .rounds = 2, .new_tuples = 9, .largest = 5},
      {.stratum = 1, .first = 3, .rounds = 1, .new_tuples = 4, .largest = 4, .seconds = 0.125}};
  profile.samples = {{.at_seconds = 0.5, .stratum = 1, .memory_bytes = 7, .is_estimate = true}};
  profile.relations = {{.name = "path", .rows = 10, .largest_rows = 6, .smallest_rows = 4}};
  profile.checkpoints = {{.generation = "gen-1", .bytes = 3, .seconds = 0.1}};
  return profile;
}

TEST(ProfileJson, RoundTrip) {
  const std::string text = profile_to_json(sample());
  const auto read = profile_from_json(text);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(profile_to_json(read.value()), text);
  EXPECT_EQ(read.value().rules[0].text, sample().rules[0].text);
  EXPECT_EQ(read.value().rules[0].derivations, 18000000000000000000U);
  EXPECT_FALSE(read.value().rules[0].new_tuples.has_value());
  EXPECT_EQ(read.value().rules[1].new_tuples, 12U);
  EXPECT_TRUE(read.value().samples[0].is_estimate);
}

std::string complaint(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  const auto read = profile_from_json(text);
  return read.is_ok() ? "read" : read.status().to_string();
}

TEST(ProfileJson, SaysWhatIsWrong) {
  const std::string text = profile_to_json(sample());
  const auto contains = [](const std::string& all, const char* part) {
    return all.find(part) != std::string::npos;
  };
  EXPECT_PRED2(contains, complaint(text, "stratalog-profile", "other"), "profile.format");
  EXPECT_PRED2(contains, complaint(text, "\"version\": 1", "\"version\": 2"), "version 2");
  EXPECT_PRED2(contains, complaint(text, "\"line\": 7", "\"line\": -7"), "rules[0].line");
  EXPECT_PRED2(contains, complaint(text, "\"line\": 7", "\"lime\": 7"), "rules[0].line");
  EXPECT_PRED2(contains, complaint(text, "\"work\": \"rule\"", "\"work\": \"x\""), "rules[0].work");
  EXPECT_PRED2(contains, complaint(text, "\"stratum\": 1", "\"stratum\": 2"), "the stratum of a");
  EXPECT_PRED2(contains, complaint(text, "\"total_seconds\": 1.5", "\"total_seconds\": 1e999"),
               "JSON");
  EXPECT_PRED2(contains, complaint(text, "\"strata\": [", "\"strata\": 4, \"s\": ["), "an array");
  for (std::size_t cut = 0; cut + 2 < text.size(); cut += 7)
    EXPECT_FALSE(profile_from_json(text.substr(0, cut)).is_ok()) << cut;
  EXPECT_FALSE(profile_from_json("[]").is_ok());
  EXPECT_FALSE(profile_from_json("null").is_ok());
}

}  // namespace
}  // namespace stratalog
