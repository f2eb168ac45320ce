// SPDX-License-Identifier: Apache-2.0
// Manifests come back as they were written; whatever does not fit together is refused by name;
// retention keeps what it must.
#include "commit/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "commit/retention.h"
#include "commit/store_file.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

Manifest sample_manifest() {
  Manifest m;
  m.store = {.low = 1, .high = 2};
  m.id = {.epoch = 3, .sequence = 4};
  m.nonce = {.low = 5, .high = 6};
  m.ranks = 2;
  m.mode = CheckpointMode::kShared;
  m.iteration = 77;
  m.program_hash = "abc";
  m.engine_state = "{\"a\":\"\xCF\x80\"}";
  m.relations.push_back({.name = "path",
                         .version = RelationVersion::kDelta,
                         .arity = 2,
                         .column_order = {1, 0},
                         .rows = 30,
                         .hash = {.low = 8, .high = 9}});
  m.sections.push_back({.name = "symbols", .file = "s", .bytes = 10, .blocks = 1, .hash = {}});
  m.files.push_back({.name = "s", .bytes = 600, .frame = {}});
  m.files.push_back({.name = "f", .bytes = 9000, .frame = {}});
  ManifestShard shard;
  shard.file = "f";
  shard.rows = 10;
  shard.blocks = 1;
  shard.extents = {{.offset = 0, .bytes = 600}, {.offset = 8192, .bytes = 100}};
  m.shards.push_back(shard);
  shard.rank = 1;
  shard.rows = 20;
  shard.extents = {{.offset = 4096, .bytes = 700}};
  m.shards.push_back(shard);
  return m;
}

std::string text_of(const Manifest& m) {
  std::string files;
  std::string shards;
  for (const ManifestFile& f : m.files) files += file_line(f);
  for (const ManifestShard& s : m.shards) shards += shard_line(s);
  return manifest_text(m, files, shards);
}

Status parse(const Manifest& m) { return parse_manifest(text_of(m), CheckManifest::kYes).status(); }

TEST(Manifest, ComesBack) {
  const Manifest m = sample_manifest();
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(text_of(parsed.value()), text_of(m));
  EXPECT_EQ(parsed.value().engine_state, m.engine_state);
  EXPECT_EQ(parsed.value().shards[0].extents, m.shards[0].extents);
}

TEST(Manifest, EveryChangedByteIsRefused) {
  const std::string text = text_of(sample_manifest());
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char flip : {1, 2, 32, 64}) {
      std::string bad = text;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      EXPECT_FALSE(parse_manifest(bad, CheckManifest::kYes).is_ok()) << i;
    }
  for (std::size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(parse_manifest(text.substr(0, length), CheckManifest::kYes).is_ok());
}

TEST(Manifest, WhatDoesNotFitTogetherIsRefused) {
  const auto refused = [](auto change, const char* why) {
    Manifest m = sample_manifest();
    change(m);
    const Status status = parse(m);
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << why;
    EXPECT_NE(status.message().find("MANIFEST"), std::string::npos) << status.message();
  };
  refused([](Manifest& m) { m.shards[0].rows = 11; }, "rows do not add up");
  refused([](Manifest& m) { m.shards[1].rank = 0; }, "a rank twice");
  refused([](Manifest& m) { m.shards[1].rank = 2; }, "no such rank");
  refused([](Manifest& m) { m.shards[0].relation = 1; }, "no such relation");
  refused([](Manifest& m) { m.shards[0].extents[1].offset = 4200; }, "overlap");
  refused([](Manifest& m) { m.shards[0].extents[1].offset = 8901; }, "beyond the file");
  refused([](Manifest& m) { m.shards[0].extents[1].offset = ~std::uint64_t{0} - 5; }, "overflow");
  refused([](Manifest& m) { m.shards[0].extents.clear(); }, "nowhere");
  refused([](Manifest& m) { m.shards[0].file = "g"; }, "no such file");
  refused([](Manifest& m) { m.files[1].name = "../f"; }, "a name that leaves the directory");
  refused([](Manifest& m) { m.files[1].name = "s"; }, "a file twice");
  refused([](Manifest& m) { m.sections[0].file = "f"; }, "a section in a shard's file");
  refused([](Manifest& m) { m.relations[0].column_order = {0, 0}; }, "no permutation");
  refused([](Manifest& m) { m.relations[0].arity = 300; }, "too many columns");
  refused([](Manifest& m) { m.ranks = 0; }, "no ranks");
}

std::string sealed(std::string body) {
  return body + fmt::format("{{\"xxh3_128\":\"{}\"}}\n", to_hex(hash128(body)));
}

TEST(Manifest, NewerVersionsAndUnknownFeaturesAreRefusedByName) {
  std::string text = text_of(sample_manifest());
  text = text.substr(0, text.rfind('\n', text.size() - 2) + 1);
  std::string newer = text;
  newer.replace(newer.find("\"version\":1"), 11, "\"version\":2");
  const Status version = parse_manifest(sealed(newer), CheckManifest::kYes).status();
  EXPECT_EQ(version.code(), StatusCode::kNotSupported);
  EXPECT_NE(version.message().find("version 2"), std::string::npos);
  std::string critical = text;
  critical.replace(critical.find("\"critical\":[]"), 13, "\"critical\":[\"delta-chain\"]");
  const Status feature = parse_manifest(sealed(critical), CheckManifest::kYes).status();
  EXPECT_EQ(feature.code(), StatusCode::kNotSupported);
  EXPECT_NE(feature.message().find("delta-chain"), std::string::npos);
  // Unknown fields that are not critical are passed over.
  std::string more = text;
  more.replace(more.find("\"critical\":[]"), 13, "\"critical\":[],\"later\":{\"x\":1}");
  EXPECT_TRUE(parse_manifest(sealed(more), CheckManifest::kYes).is_ok());
}

TEST(Manifest, SealedNonsenseIsRefusedWithoutHarm) {
  for (const char* body : {"\n", "{}\n", "[]\n", "null\n", "{\"stratalog\":\"manifest\"}\n",
                           "{\"stratalog\":\"manifest\",\"version\":1,\"critical\":[],"
                           "\"relations\":18446744073709551615}\n",
                           "{\"stratalog\":\"manifest\",\"version\":-1,\"critical\":1.5e999}\n"})
    EXPECT_FALSE(parse_manifest(sealed(body), CheckManifest::kYes).is_ok()) << body;
  EXPECT_FALSE(
      parse_manifest(sealed(std::string(100000, '[') + "\n"), CheckManifest::kYes).is_ok());
}

TEST(StoreFile, IsMadeOnceAndChecked) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  EXPECT_EQ(read_store_id(*store).status().code(), StatusCode::kNotFound);
  const auto first = claim_store(*store, Durability::kFull, {});
  const auto second = claim_store(*store, Durability::kFull, {});
  ASSERT_TRUE(first.is_ok() && second.is_ok());
  EXPECT_TRUE(first.value().id == second.value().id);
  EXPECT_EQ(first.value().epoch, 1U);
  EXPECT_EQ(second.value().epoch, 2U);
  EXPECT_EQ(second.value().notes.size(), 1U);  // no locks in memory
  Bytes& data = disk->node(disk->find("STORE").value()).data;
  const Bytes whole = data;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    data[i] ^= std::byte{1};
    EXPECT_FALSE(read_store_id(*store).is_ok()) << i;
    data = whole;
    data.resize(i);
    EXPECT_EQ(read_store_id(*store).status().code(), StatusCode::kCorruption) << i;
    data = whole;
  }
  // Torn by a crash while it was made, and nothing committed under it: made anew.
  data.resize(20);
  const auto third = claim_store(*store, Durability::kFull, {});
  ASSERT_TRUE(third.is_ok()) << third.status().to_string();
  EXPECT_FALSE(third.value().id == first.value().id);
}

KnownGeneration known(std::uint32_t epoch, std::uint64_t sequence, bool manifest, bool valid) {
  return {
      .id = {.epoch = epoch, .sequence = sequence}, .has_manifest = manifest, .is_valid = valid};
}

TEST(Retention, KeepsTheNewestValidOnes) {
  const std::vector<KnownGeneration> all = {
      known(3, 9, false, false),  // ours, under way
      known(3, 8, true, true),
      known(2, 7, true, false),  // damaged, newer than the second valid one
      known(2, 6, true, true),
      known(2, 5, false, false),  // unfinished, of a job that is gone
      known(1, 4, true, false),
      known(1, 3, true, true)};
  const std::vector<GenerationId> two = plan_retention(all, 2, 3);
  const std::vector<GenerationId> expected = {
      {.epoch = 2, .sequence = 5}, {.epoch = 1, .sequence = 4}, {.epoch = 1, .sequence = 3}};
  EXPECT_EQ(two, expected);
  EXPECT_EQ(plan_retention(all, 3, 3), (std::vector<GenerationId>{{.epoch = 2, .sequence = 5}}));
  // Fewer valid ones than to be kept: nothing committed goes, not even what is damaged.
  EXPECT_EQ(plan_retention(all, 4, 3), (std::vector<GenerationId>{{.epoch = 2, .sequence = 5}}));
}

}  // namespace
}  // namespace stratalog
