// SPDX-License-Identifier: Apache-2.0
// Manifests come back as they were written; whatever does not fit together is refused by name;
// retention keeps what it must.
#include "commit/manifest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "commit/retention.h"
#include "commit/store_file.h"
#include "model/multiset_hash.h"
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

Manifest manifest_with_zones() {
  Manifest m = sample_manifest();
  m.encoding = ShardEncoding::kAuto;
  m.shards[0].blocks = 2;
  m.shards[0].streams_blocks = 1;
  m.shards[0].zones = {0, 4294967295, 7, 7, 5, 6, 0, 9};
  return m;
}

TEST(Manifest, ZonesComeBack) {
  const Manifest m = manifest_with_zones();
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().shards[0].zones, m.shards[0].zones);
  EXPECT_EQ(parsed.value().shards[0].streams_blocks, 1U);
  EXPECT_TRUE(parsed.value().shards[1].zones.empty());
  EXPECT_EQ(parsed.value().encoding, ShardEncoding::kAuto);
  EXPECT_EQ(text_of(parsed.value()), text_of(m));
}

// Also those that a shard of an older generation brings along.
TEST(Manifest, StreamsAreCritical) {
  Manifest m = manifest_with_zones();
  EXPECT_NE(text_of(m).find(R"("critical":["streams"])"), std::string::npos);
  m.encoding = ShardEncoding::kCompact;
  EXPECT_NE(text_of(m).find(R"("critical":["streams"])"), std::string::npos);
  m.shards[0].streams_blocks = 0;
  EXPECT_NE(text_of(m).find(R"("critical":[])"), std::string::npos);
}

TEST(Manifest, CopiesAreCriticalAndComeBack) {
  Manifest m = sample_manifest();
  m.shards[0].groups = 7;
  m.shards[0].copies = 7;
  EXPECT_NE(text_of(m).find(R"("critical":["copies"])"), std::string::npos);
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().shards[0].copies, 7U);
  EXPECT_EQ(text_of(parsed.value()), text_of(m));
  ++m.shards[0].copies;
  EXPECT_EQ(parse(m).code(), StatusCode::kCorruption) << "more copies than groups";
}

TEST(Manifest, PoolsAreCriticalAndComeBack) {
  Manifest m = sample_manifest();
  m.shards[0].pools = m.shards[0].blocks;
  EXPECT_NE(text_of(m).find(R"("critical":["pools"])"), std::string::npos);
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().shards[0].pools, m.shards[0].blocks);
  EXPECT_EQ(text_of(parsed.value()), text_of(m));
  ++m.shards[0].pools;
  EXPECT_EQ(parse(m).code(), StatusCode::kCorruption) << "more pools than blocks";
}

TEST(Manifest, RunPoolsAreCriticalAndComeBack) {
  Manifest m = sample_manifest();
  m.shards[0].run_pools = m.shards[0].blocks;
  EXPECT_NE(text_of(m).find(R"("critical":["run-pools"])"), std::string::npos);
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(parsed.value().shards[0].run_pools, m.shards[0].blocks);
  EXPECT_EQ(text_of(parsed.value()), text_of(m));
  ++m.shards[0].run_pools;
  EXPECT_EQ(parse(m).code(), StatusCode::kCorruption) << "more pools than blocks";
}

TEST(Manifest, ZonesThatCannotBeAreRefused) {
  const auto refused = [](auto change, const char* why) {
    Manifest m = manifest_with_zones();
    change(m.shards[0]);
    EXPECT_EQ(parse(m).code(), StatusCode::kCorruption) << why;
  };
  refused([](ManifestShard& s) { s.zones[1] = 0, s.zones[0] = 1; }, "lowest above highest");
  refused(
      [](ManifestShard& s) {
        s.zones.resize(4), s.zones.resize(8);
        s.blocks = 4;
      },
      "a block's columns are missing");
  refused(
      [](ManifestShard& s) {
        s.zones.resize(12);
        s.blocks = 3;
        s.zones[8] = 1;
      },
      "and a third");
  refused([](ManifestShard& s) { s.streams_blocks = 3; }, "more streams than blocks");
}

TEST(Manifest, ReasonsComeBackAndAreNotNeeded) {
  Manifest m = sample_manifest();
  const auto without = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(without.is_ok());
  EXPECT_TRUE(without.value().reasons.empty());
  m.reasons = {{"auto", "fpp: \"one\" rank"}, {"striping", ""}};
  const auto with = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(with.is_ok()) << with.status().to_string();
  ASSERT_EQ(with.value().reasons.size(), 2U);
  EXPECT_EQ(with.value().reasons[0].text, "fpp: \"one\" rank");
  EXPECT_EQ(with.value().reasons[1].about, "striping");
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

// The sample, with a second part of the relation in an older generation.
Manifest linked_manifest() {
  Manifest m = sample_manifest();
  m.links.push_back({.id = {.epoch = 3, .sequence = 1},
                     .nonce = {.low = 50, .high = 60},
                     .mode = CheckpointMode::kFilePerProcess});
  m.links.push_back({.id = {.epoch = 3, .sequence = 3},
                     .nonce = {.low = 51, .high = 61},
                     .mode = CheckpointMode::kShared});
  m.files.push_back({.name = "f", .bytes = 700, .frame = {}, .link = 0});
  m.files.push_back(
      {.name = "t", .bytes = 900, .frame = {}, .link = 1, .others = {{.offset = 9, .bytes = 1}}});
  ManifestShard shard;
  shard.file = "f";
  shard.link = 0;
  shard.image = 5;
  shard.rows = 12;
  shard.blocks = 1;
  shard.extents = {{.offset = 0, .bytes = 700}};
  m.shards.push_back(shard);
  m.relations[0].rows += 12;
  m.relations[0].choice = {
      .part = "growth", .reason = "why", .parts = 2, .whole_bytes = 700, .growth_bytes = 1500};
  m.sections.push_back({.name = "program",
                        .file = "t",
                        .link = 1,
                        .image = 4,
                        .bytes = 10,
                        .blocks = 1,
                        .hash = {}});
  m.files.back().others.clear();
  return m;
}

TEST(Manifest, LinksComeBack) {
  const Manifest m = linked_manifest();
  const auto parsed = parse_manifest(text_of(m), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  const Manifest& again = parsed.value();
  EXPECT_EQ(text_of(again), text_of(m));
  EXPECT_EQ(again.links, m.links);
  const ManifestShard& linked = again.shards[2];
  EXPECT_EQ(again.path(linked.link, linked.file), "gen-00000003-0000000001/f");
  EXPECT_EQ(again.path(kOwnFiles, "f"), "gen-00000003-0000000004/f");
  EXPECT_TRUE(again.nonce_of(linked.link) == m.links[0].nonce);
  EXPECT_EQ(again.mode_of(linked.link), CheckpointMode::kFilePerProcess);
  EXPECT_EQ(linked.file_id(), shard_file_id(5, 0));
  EXPECT_EQ(again.shards[1].file_id(), shard_file_id(0, 1));
  EXPECT_EQ(again.relations[0].choice.reason, "why");
}

TEST(Manifest, PiecesOfASectionComeBack) {
  Manifest m = linked_manifest();
  m.sections[1].name = m.sections[0].name;
  m.sections[1].piece = 1;
  const std::string text = text_of(m);
  EXPECT_NE(text.find("\"section-pieces\""), std::string::npos);
  EXPECT_EQ(text_of(linked_manifest()).find("\"section-pieces\""), std::string::npos);
  const auto parsed = parse_manifest(text, CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  EXPECT_EQ(text_of(parsed.value()), text);
  EXPECT_EQ(parsed.value().sections[1].piece, 1U);
}

TEST(Manifest, LinksThatDoNotFitAreRefused) {
  const auto refused = [](auto change, const char* why) {
    Manifest m = linked_manifest();
    change(m);
    const Status status = parse(m);
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << why;
  };
  refused([](Manifest& m) { m.links[0].id.epoch = 2; }, "another job's generation");
  refused([](Manifest& m) { m.links[1].id.sequence = 4; }, "itself");
  refused([](Manifest& m) { m.links[1].id.sequence = 5; }, "a newer one");
  refused([](Manifest& m) { m.links[1].id.sequence = 1; }, "one twice");
  refused([](Manifest& m) { m.shards[2].link = 2; }, "no such link");
  refused([](Manifest& m) { m.files[2].link = 2; }, "no such link");
  refused([](Manifest& m) { m.shards[2].link = 1; }, "the file is in another generation");
  refused([](Manifest& m) { m.shards[2].extents[0].bytes = 701; }, "beyond the file");
  refused([](Manifest& m) { m.shards[2].rows = 11; }, "rows do not add up");
  refused([](Manifest& m) { m.sections[1].link = 0; }, "the file is in another generation");
  refused([](Manifest& m) { m.sections[1].piece = 1; }, "a piece of another section");
  refused(
      [](Manifest& m) {
        m.sections[1].name = m.sections[0].name;
        m.sections[1].piece = 2;
      },
      "a piece is missing");
  refused([](Manifest& m) { m.sections[0].piece = 1; }, "a piece of nothing");
  refused([](Manifest& m) { m.files[2].others = {{.offset = 699, .bytes = 1}}; },
          "overlap with what is not used");
  refused(
      [](Manifest& m) {
        m.shards.push_back(m.shards[2]);
        m.shards[3].extents = {{.offset = 700, .bytes = 1}};
        m.files[2].bytes = 800;
        m.relations[0].rows += 12;
      },
      "two parts of one rank in one generation");
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
  // Links must be announced, so that readers that do not know them refuse.
  std::string linked = text_of(linked_manifest());
  linked = linked.substr(0, linked.rfind('\n', linked.size() - 2) + 1);
  EXPECT_NE(linked.find("\"critical\":[\"links\"]"), std::string::npos);
  linked.replace(linked.find("\"critical\":[\"links\"]"), 20, "\"critical\":[]");
  EXPECT_EQ(parse_manifest(sealed(linked), CheckManifest::kYes).status().code(),
            StatusCode::kCorruption);
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
  std::string deep(100001, '[');
  deep.back() = '\n';
  EXPECT_FALSE(parse_manifest(sealed(deep), CheckManifest::kYes).is_ok());
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
  Bytes& data = disk->change(disk->find("STORE").value()).data;
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

TEST(StoreFile, OfAnotherJobIsLocked) {
  const std::string folder = testing::TempDir() + "locked-store";
  std::filesystem::remove_all(folder);
  const auto store = open_posix_store(folder, RootMode::kCreate);
  ASSERT_TRUE(store.is_ok());
  EXPECT_TRUE(check_unlocked(*store.value()).is_ok());
  EXPECT_TRUE(store.value()->list(".").value().empty()) << "it only looks";
  {
    const auto claim = claim_store(*store.value(), Durability::kNone, {});
    ASSERT_TRUE(claim.is_ok());
    const auto other = open_posix_store(folder, RootMode::kMustExist);
    EXPECT_EQ(check_unlocked(*other.value()).code(), StatusCode::kAlreadyExists);
    EXPECT_EQ(claim_store(*other.value(), Durability::kNone, {}).status().to_string(),
              check_unlocked(*other.value()).to_string());
  }
  EXPECT_TRUE(check_unlocked(*store.value()).is_ok());
  std::filesystem::remove_all(folder);
}

KnownGeneration known(std::uint32_t epoch, std::uint64_t sequence, bool manifest, bool valid) {
  return {
      .id = {.epoch = epoch, .sequence = sequence}, .has_manifest = manifest, .is_valid = valid};
}

Removal removal(std::uint32_t epoch, std::uint64_t sequence, std::vector<std::string> keep = {}) {
  return {.id = {.epoch = epoch, .sequence = sequence}, .keep = std::move(keep)};
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
  const std::vector<Removal> expected = {removal(2, 5), removal(1, 4), removal(1, 3)};
  EXPECT_EQ(plan_retention(all, 2, 3), expected);
  EXPECT_EQ(plan_retention(all, 3, 3), (std::vector<Removal>{removal(2, 5)}));
  // Fewer valid ones than to be kept: nothing committed goes, not even what is damaged.
  EXPECT_EQ(plan_retention(all, 4, 3), (std::vector<Removal>{removal(2, 5)}));
}

TEST(Retention, NeverTakesWhatAKeptGenerationNeeds) {
  std::vector<KnownGeneration> all = {known(3, 9, true, true), known(3, 8, true, true),
                                      known(3, 7, true, true), known(3, 6, true, true),
                                      known(2, 5, true, true), known(2, 4, false, false)};
  all[0].needs = {{.id = {3, 6}, .name = "a"}, {.id = {3, 8}, .name = "b"}};
  all[1].needs = {{.id = {3, 6}, .name = "c"}, {.id = {3, 6}, .name = "a"}};
  all[2].needs = {{.id = {3, 6}, .name = "x"}};  // goes itself, so that nothing needs x
  all[4].needs = {{.id = {2, 4}, .name = "old"}};
  const std::vector<Removal> expected = {removal(3, 7), removal(3, 6, {"a", "c"}), removal(2, 5),
                                         removal(2, 4)};
  EXPECT_EQ(plan_retention(all, 2, 3), expected);
  // Done: the retired one has only what is needed. Nothing more to do until a user goes.
  all = {all[0], all[1], {.id = {3, 6}, .left = std::vector<std::string>{"a", "c"}}};
  EXPECT_TRUE(plan_retention(all, 2, 3).empty());
  all.insert(all.begin(), known(3, 10, true, true));
  EXPECT_EQ(plan_retention(all, 2, 3),
            (std::vector<Removal>{removal(3, 8, {"b"}), removal(3, 6, {"a"})}));
  all = {known(3, 12, true, true), known(3, 11, true, true), all.back()};
  EXPECT_EQ(plan_retention(all, 2, 3), (std::vector<Removal>{removal(3, 6)}));
  // What is left of another job's generation lies there without a manifest, and stays as long.
  all = {known(4, 13, true, true), known(3, 9, true, true), known(3, 6, false, false)};
  all[1].needs = {{.id = {3, 6}, .name = "a"}};
  EXPECT_EQ(plan_retention(all, 2, 4), (std::vector<Removal>{removal(3, 6, {"a"})}));
}

// At any time, whatever was committed and retired before: what the kept ones need is there.
TEST(Retention, LongHistoriesLoseNothing) {
  std::uint64_t random = 7;
  const auto draw = [&random](std::uint64_t below) {
    random = splitmix64(random);
    return random % below;
  };
  for (int history = 0; history < 200; ++history) {
    const auto keep = static_cast<std::uint32_t>(2 + draw(3));
    std::vector<KnownGeneration> all;  // newest first
    std::set<FileOfGeneration> disk;
    for (std::uint64_t sequence = 1; sequence < 60; ++sequence) {
      KnownGeneration next = known(1, sequence, true, true);
      disk.insert({.id = next.id, .name = "own"});
      disk.insert({.id = next.id, .name = "more"});
      // It builds on some of what the one before is made of.
      if (!all.empty() && draw(6) != 0) {
        next.needs.push_back({.id = all.front().id, .name = "own"});
        for (const FileOfGeneration& file : all.front().needs)
          if (draw(5) != 0) next.needs.push_back(file);
      }
      all.insert(all.begin(), next);
      for (const Removal& r : plan_retention(all, keep, 1)) {
        std::erase_if(disk, [&](const FileOfGeneration& file) {
          return file.id == r.id && !std::binary_search(r.keep.begin(), r.keep.end(), file.name);
        });
        const auto entry = std::find_if(all.begin(), all.end(),
                                        [&](const KnownGeneration& k) { return k.id == r.id; });
        if (r.keep.empty())
          all.erase(entry);
        else
          *entry = {.id = r.id, .left = r.keep};
      }
      std::set<FileOfGeneration> expected;
      for (std::size_t i = 0; i < std::min<std::size_t>(keep, sequence); ++i) {
        ASSERT_TRUE(all[i].has_manifest);
        expected.insert({.id = all[i].id, .name = "own"});
        expected.insert({.id = all[i].id, .name = "more"});
        expected.insert(all[i].needs.begin(), all[i].needs.end());
      }
      ASSERT_EQ(disk, expected) << "history " << history << ", generation " << sequence;
    }
  }
}

TEST(Retention, ScalesToManyRanks) {
  constexpr std::uint32_t kRanks = 16384;
  std::vector<KnownGeneration> all = {known(1, 3, true, true), known(1, 2, true, true),
                                      known(1, 1, true, true)};
  for (std::uint32_t r = 0; r < kRanks; ++r)
    for (const std::size_t user : {0, 1})
      all[user].needs.push_back({.id = {1, 1}, .name = fmt::format("0000-p.total.{:06}", r)});
  const auto plan = plan_retention(all, 2, 1);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].keep.size(), kRanks);
}

}  // namespace
}  // namespace stratalog
