// SPDX-License-Identifier: Apache-2.0
// The specification of a bench worker: fields and defaults, and complaints that name the field.
#include "cli/bench_spec.h"

#include <gtest/gtest.h>

namespace stratalog::cli {
namespace {

constexpr const char* kWhole = R"({
  "directory": "/tmp/x", "repeats": 3, "earlier_repeats": 2, "seconds": 1.5, "restarts": ["as-written", "balanced"],
  "data": [{"name": "4M", "bytes": 4000000, "skew": "one-giant", "texture": "random", "columns": 3},
           {"name": "real", "checkpoint": "ck"}, {"name": "grown", "bytes": 1, "grows": [13, 75]}],
  "cases": [{"name": "opt", "strategy": "hdf5-opt", "ladder": "O1,O2", "files": 2},
            {"name": "raw", "strategy": "raw-shared", "durability": "none"},
            {"name": "fpp", "strategy": "fpp", "encoding": "rows_u64", "keep": true},
            {"name": "learned", "strategy": "hdf5-auto", "saves": 12}]})";

constexpr const char* kChains = R"({"directory": "x",
  "data": [{"name": "grown", "grows": [13, 75], "bytes": 8000}],
  "cases": [{"name": "chain", "strategy": "fpp", "parts": "growth"}]})";

TEST(BenchSpec, EveryFieldArrives) {
  const auto parsed = parse_bench_spec(kWhole);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  const BenchSpec& spec = parsed.value();
  EXPECT_EQ(spec.repeats, 3U);
  EXPECT_EQ(spec.earlier_repeats, 2U);
  EXPECT_EQ(spec.seconds, 1.5);
  ASSERT_EQ(spec.restarts.size(), 2U);
  EXPECT_EQ(spec.restarts[1], ReadParts::kBalanced);
  ASSERT_EQ(spec.data.size(), 3U);
  EXPECT_EQ(spec.data[0].share, RankShare::kOneGiant);
  EXPECT_EQ(spec.data[0].texture, Texture::kRandom);
  EXPECT_EQ(spec.data[0].columns, 3U);
  EXPECT_EQ(spec.data[1].checkpoint, "ck");
  EXPECT_TRUE(spec.data[1].grows.empty());
  EXPECT_EQ(spec.data[2].grows, (std::vector<std::uint64_t>{13, 75}));
  ASSERT_EQ(spec.cases.size(), 4U);
  EXPECT_EQ(spec.cases[0].mode, CheckpointMode::kHdf5Opt);
  EXPECT_FALSE(spec.cases[0].ladder.takes(LadderStep::kHints));
  EXPECT_EQ(spec.cases[0].files, 2U);
  EXPECT_EQ(spec.cases[1].raw, RawFiles::kShared);
  EXPECT_EQ(spec.cases[1].files, 0U);
  EXPECT_EQ(spec.cases[1].durability, Durability::kNone);
  EXPECT_EQ(spec.cases[2].encoding, ShardEncoding::kRowsU64);
  EXPECT_EQ(spec.cases[2].keep, KeepFiles::kYes);
  EXPECT_EQ(spec.cases[2].saves, 1U);
  EXPECT_EQ(spec.cases[2].parts, SequenceParts::kWhole);
  EXPECT_EQ(spec.cases[3].mode, CheckpointMode::kHdf5Auto);
  EXPECT_EQ(spec.cases[3].saves, 12U);
}

TEST(BenchSpec, ChainsNeedSomethingThatGrows) {
  const auto parsed = parse_bench_spec(kChains);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().cases[0].parts, SequenceParts::kGrowth);
  std::string text = kChains;
  text.replace(text.find(", \"grows\": [13, 75]"), 19, "");
  const std::string said = parse_bench_spec(text).status().to_string();
  EXPECT_NE(said.find("data grown that does not grow"), std::string::npos) << said;
}

std::string complaint(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return parse_bench_spec(text).status().to_string();
}

TEST(BenchSpec, ComplaintsNameTheField) {
  EXPECT_NE(complaint("hdf5-opt", "hdf6").find("hdf6"), std::string::npos);
  EXPECT_NE(complaint("[13, 75]", "[75, 13]").find("growing sizes"), std::string::npos);
  EXPECT_NE(complaint("\"checkpoint\": \"ck\"", "\"checkpoint\": \"ck\", \"grows\": [1]")
                .find("synthetic"),
            std::string::npos);
  EXPECT_NE(complaint("\"saves\": 12", "\"saves\": 0").find("saves"), std::string::npos);
  EXPECT_NE(complaint("\"saves\": 12", "\"parts\": \"half\"").find("half"), std::string::npos);
  EXPECT_NE(complaint("one-giant", "two-giants").find("two-giants"), std::string::npos);
  EXPECT_NE(complaint("O1,O2", "O9").find("O9"), std::string::npos);
  EXPECT_NE(complaint("rows_u64", "columns").find("columns"), std::string::npos);
  EXPECT_NE(complaint("\"fpp\", \"strategy\"", "\"../fpp\", \"strategy\"").find("folder"),
            std::string::npos);
  EXPECT_NE(complaint("4000000", "-4").find("bytes"), std::string::npos);
  EXPECT_NE(complaint("balanced\"]", "sideways\"]").find("restarts"), std::string::npos);
  EXPECT_NE(parse_bench_spec("[]").status().to_string().find("object"), std::string::npos);
  EXPECT_NE(parse_bench_spec("{").status().to_string().find("object"), std::string::npos);
}

}  // namespace
}  // namespace stratalog::cli
