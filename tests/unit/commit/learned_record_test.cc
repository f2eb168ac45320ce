// SPDX-License-Identifier: Apache-2.0
// What was learned, in the manifest: it comes back to the last bit, its text is pinned, readers do
// not need it, and nonsense in it is as if it were not there.
#include "commit/learned_record.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "commit/manifest.h"

namespace stratalog {
namespace {

LearnedRecord sample_record() {
  LearnedRecord record;
  record.on = {.format = LearnedFormat::kEncoded,
               .ranks = 64,
               .nodes = 2,
               .file_system = "lustre",
               .durability = Durability::kData,
               .stage = StageUse::kStaged,
               .shared = SharedWriting::kByMpi,
               .encoding = ShardEncoding::kAuto,
               .aggregators = 4,
               .alignment = 65536,
               .relations_per_file = 1};
  const LayoutOption shared{.mode = CheckpointMode::kSharedOpt,
                            .files = 2,
                            .aggregators = 8,
                            .alignment = 1 << 20,
                            .relations_per_file = kAllRelations,
                            .coding = TupleCoding::kBlockwise};
  record.costs.costs = {
      {.option = {.coding = TupleCoding::kCompact},
       .bytes = 1000000,
       .seconds_per_byte = 1.5e-9,
       .saves = 2,
       .last = 2},
      {.option = shared, .bytes = 4000000, .seconds_per_byte = 1e-9 / 3, .saves = 1, .last = 3}};
  record.costs.settled = shared;
  record.costs.saves = 3;
  record.costs.since_try = 1;
  return record;
}

constexpr const char* kText =
    R"({"on":{"format":"encoded","ranks":64,"nodes":2,"file_system":"lustre",)"
    R"("durability":"data","stage":"used","shared":"mpi","encoding":"auto","aggregators":4,)"
    R"("alignment":65536,"relations_per_file":1},"saves":3,"since_try":1,)"
    R"("settled":{"mode":"shared-opt","files":2,"aggregators":8,"alignment":1048576,)"
    R"("relations_per_file":4294967295,"coding":"blockwise"},)"
    R"("costs":[{"mode":"fpp","coding":"compact","bytes":1000000,"seconds_per_byte":1.5e-09,)"
    R"("saves":2,"last":2},{"mode":"shared-opt","files":2,"aggregators":8,"alignment":1048576,)"
    R"("relations_per_file":4294967295,"coding":"blockwise","bytes":4000000,)"
    R"("seconds_per_byte":3.3333333333333337e-10,"saves":1,"last":3}]})";

TEST(LearnedRecord, TheTextIsThatOfTheFormat) {
  EXPECT_EQ(learned_text(sample_record()), kText);
  EXPECT_EQ(parse_learned(kText), sample_record());
}

TEST(LearnedRecord, EveryNumberComesBackExactly) {
  std::uint64_t random = 3;
  for (int round = 0; round < 300; ++round) {
    LearnedRecord record = sample_record();
    record.on.format = round % 2 == 0 ? LearnedFormat::kEncoded : LearnedFormat::kRows;
    record.costs.settled.reset();
    for (LearnedCost& cost : record.costs.costs) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      cost.bytes = (random >> 4U) | 1U;
      cost.seconds_per_byte = static_cast<double>(random >> 11U) * 1e-27;
    }
    record.costs.costs[0].option = {
        .mode = CheckpointMode::kHdf5Opt, .files = 1, .deflate_level = round % 10};
    EXPECT_EQ(parse_learned(learned_text(record)), record) << learned_text(record);
  }
}

TEST(LearnedRecord, AsMuchAsALearnerKnowsComesBack) {
  LearnedRecord record = sample_record();
  record.costs = {};
  for (std::uint32_t i = 1; i <= kMostLearned; ++i)
    record.costs.costs.push_back({.option = {.mode = CheckpointMode::kSharedOpt, .files = i},
                                  .bytes = i,
                                  .saves = 1,
                                  .last = i});
  record.costs.saves = kMostLearned;
  EXPECT_EQ(parse_learned(learned_text(record)), record);
  record.costs.costs.push_back(record.costs.costs.back());
  record.costs.costs.back().option.files = 1000;
  record.costs.costs.back().last = ++record.costs.saves;
  EXPECT_FALSE(parse_learned(learned_text(record)).has_value()) << "one too many";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

// Each of them by itself.
const std::array<std::array<const char*, 2>, 34> kNonsense = {{
    {R"("on":{"format")", R"("on":{"shape")"},
    {R"("encoded")", R"("enciphered")"},
    {R"("encoded")", "1"},
    {R"("ranks":64)", R"("ranks":-64)"},
    {R"("ranks":64)", R"("ranks":4294967296)"},
    {R"("ranks":64)", R"("ranks":64.5)"},
    {R"("nodes":2,)", ""},
    {R"("lustre")", "[]"},
    {R"("durability":"data")", R"("durability":"some")"},
    {R"("stage":"used")", R"("stage":true)"},
    {R"("shared":"mpi")", R"("shared":"")"},
    {R"("encoding":"auto")", R"("encoding":"none")"},
    {R"("saves":3)", R"("saves":2)"},
    {R"("saves":3)", R"("saves":18446744073709551615)"},
    {R"("saves":3)", R"("saves":"3")"},
    {R"("since_try":1,)", ""},
    {R"("since_try":1)", R"("since_try":4)"},
    {R"("settled":{"mode":"shared-opt")", R"("settled":{"mode":"auto")"},
    {R"("settled":{"mode":"shared-opt")", R"("settled":{"mode":"best")"},
    {R"("settled":{)", R"("settled":7,"x":{)"},
    {R"("costs":[)", R"("costs":[null,)"},
    {R"("costs":[)", R"("costs":[[],)"},
    {R"("mode":"fpp")", R"("mode":"shared")"},
    {R"("mode":"fpp")", R"("mode":"fpp","files":1)"},
    {R"("mode":"fpp")", R"("mode":"fpp","deflate":1)"},
    {R"("coding":"compact")", R"("coding":"packed")"},
    {R"("bytes":1000000)", R"("bytes":0)"},
    {R"("bytes":1000000)", R"("bytes":18446744073709551615)"},
    {R"("bytes":1000000)", R"("bytes":1e6)"},
    {"1.5e-09", "-1.5e-09"},
    {"1.5e-09", "null"},
    {"1.5e-09", "1e300"},
    {R"("last":3)", R"("last":4)"},
    {R"("last":3)", R"("last":2)"},
}};

TEST(LearnedRecord, NonsenseIsNoRecord) {
  for (const auto& [from, to] : kNonsense)
    EXPECT_FALSE(parse_learned(changed(from, to)).has_value()) << from << " as " << to;
  for (const char* text : {"", "{}", "[]", "null", "1", R"({"on":{},"costs":[]})"})
    EXPECT_FALSE(parse_learned(text).has_value()) << text;
  EXPECT_FALSE(
      parse_learned(changed(R"("file_system":"lustre")",
                            fmt::format(R"("file_system":"{}")", std::string(100000, 'x'))))
          .has_value());
  // Half a record.
  const std::string text = kText;
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_learned(text.substr(0, length)).has_value());
  EXPECT_TRUE(parse_learned(changed(R"("saves":3)", R"("later":{"a":[1]},"saves":3)")).has_value())
      << "what is unknown is passed over";
}

Manifest manifest_with(const std::optional<LearnedRecord>& learned) {
  Manifest m;
  m.store = {.low = 1, .high = 2};
  m.id = {.epoch = 3, .sequence = 4};
  m.nonce = {.low = 5, .high = 6};
  m.learned = learned;
  return m;
}

std::string with_hash(const std::string& body) {
  return body + fmt::format("{{\"xxh3_128\":\"{}\"}}\n", to_hex(hash128(body)));
}

// The manifest with other text in the place of the record's.
std::string manifest_saying(const std::string& learned) {
  std::string text = manifest_text(manifest_with(sample_record()), "", "");
  text = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  const std::size_t at = text.find(kText);
  EXPECT_NE(at, std::string::npos);
  return with_hash(text.replace(at, std::string(kText).size(), learned));
}

TEST(LearnedRecord, ComesBackWithTheManifestAndIsNotCritical) {
  const std::string text = manifest_text(manifest_with(sample_record()), "", "");
  EXPECT_NE(text.find(R"("critical":[])"), std::string::npos);
  EXPECT_NE(text.find(fmt::format(R"("learned":{})", kText)), std::string::npos);
  const auto parsed = parse_manifest(text, CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().learned, sample_record());
  EXPECT_EQ(manifest_text(parsed.value(), "", ""), text);
  const std::string without = manifest_text(manifest_with({}), "", "");
  EXPECT_EQ(without.find("learned"), std::string::npos);
  const auto old = parse_manifest(without, CheckManifest::kYes);
  ASSERT_TRUE(old.is_ok());
  EXPECT_FALSE(old.value().learned.has_value());
}

TEST(LearnedRecord, NonsenseHarmsNoManifest) {
  std::vector<std::string> all = {"null", "[]", "7", "\"learned\"", "{}", "{\"on\":null}"};
  // Deeper and larger than anything that should be walked through.
  all.push_back(std::string(100000, '[') + std::string(100000, ']'));
  std::string many = "0";
  for (int i = 0; i < 100000; ++i) many += ",0";
  all.push_back(changed("\"costs\":[", "\"costs\":[" + many + ","));
  for (const auto& [from, to] : kNonsense) all.push_back(changed(from, to));
  for (const std::string& learned : all) {
    const auto parsed = parse_manifest(manifest_saying(learned), CheckManifest::kYes);
    ASSERT_TRUE(parsed.is_ok()) << learned.substr(0, 200) << parsed.status().to_string();
    EXPECT_FALSE(parsed.value().learned.has_value()) << learned.substr(0, 200);
    EXPECT_EQ(parsed.value().id, (GenerationId{.epoch = 3, .sequence = 4}));
  }
  const auto good = parse_manifest(manifest_saying(kText), CheckManifest::kYes);
  ASSERT_TRUE(good.is_ok());
  EXPECT_TRUE(good.value().learned.has_value());
}

}  // namespace
}  // namespace stratalog
