// SPDX-License-Identifier: Apache-2.0
// Manifests of mode hdf5-streams come back as they were written, and what does not fit together is
// refused: a reader allocates by these numbers.
#include <gtest/gtest.h>

#include "commit/manifest.h"

namespace stratalog {
namespace {

// Two ranks that meet in a chunk of each stream: blocks of 3 + 2 tuples below 3 keys, and 4
// below 1.
Manifest streams_manifest() {
  Manifest m;
  m.store = {.low = 1, .high = 2};
  m.id = {.epoch = 3, .sequence = 4};
  m.nonce = {.low = 5, .high = 6};
  m.ranks = 2;
  m.mode = CheckpointMode::kHdf5Streams;
  m.encoding = ShardEncoding::kStreams;
  m.relations.push_back(
      {.name = "path", .arity = 2, .column_order = {1, 0}, .rows = 9, .hash = {}});
  m.files.push_back({.name = "relations.h5", .bytes = 9000, .frame = {.low = 1, .high = 1}});
  ManifestShard shard;
  shard.file = "relations.h5";
  shard.rows = 5;
  shard.groups = 3;
  shard.blocks = 2;
  shard.streams = {
      .chunks = {4, 4, 4, 3}, .begins = {0, 0, 0, 0, 2, 2, 2, 1, 3, 3, 3, 2}, .keys = {7, 9}};
  shard.extents = {{4096, 12}, {4200, 12}, {4300, 16}, {4400, 9}};
  shard.pieces = {11, 12, 13, 14};
  m.shards.push_back(shard);
  shard.rank = 1;
  shard.rows = 4;
  shard.groups = 1;
  shard.blocks = 1;
  shard.streams = {.chunks = {4, 4, 4, 3}, .begins = {3, 3, 3, 2, 4, 4, 4, 5}, .keys = {30}};
  shard.extents.push_back({4500, 12});
  shard.pieces.push_back(15);
  m.shards.push_back(shard);
  return m;
}

Result<Manifest> parsed(const Manifest& m) {
  std::string files;
  std::string shards;
  for (const ManifestFile& f : m.files) files += file_line(f);
  for (const ManifestShard& s : m.shards) shards += shard_line(s);
  return parse_manifest(manifest_text(m, files, shards), CheckManifest::kYes);
}

TEST(StreamManifest, ComesBack) {
  const Manifest m = streams_manifest();
  const auto back = parsed(m);
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(back.value().mode, CheckpointMode::kHdf5Streams);
  for (std::size_t i = 0; i < 2; ++i) {
    const ManifestShard& shard = back.value().shards[i];
    EXPECT_TRUE(shard.is_streams());
    EXPECT_EQ(shard.streams.chunks, m.shards[i].streams.chunks);
    EXPECT_EQ(shard.streams.begins, m.shards[i].streams.begins);
    EXPECT_EQ(shard.streams.keys, m.shards[i].streams.keys);
    EXPECT_EQ(shard.pieces, m.shards[i].pieces);
    EXPECT_EQ(shard.extents, m.shards[i].extents);
    EXPECT_EQ(shard.rows_before(shard.blocks), shard.rows);
    EXPECT_EQ(shard.bytes(), shard.rows * 16);
  }
  EXPECT_EQ(back.value().shards[0].rows_before(1), 3U);
}

TEST(StreamManifest, WhatDoesNotFitIsRefused) {
  const auto refused = [](auto change, const char* why) {
    Manifest m = streams_manifest();
    change(m.shards[1]);
    EXPECT_EQ(parsed(m).status().code(), StatusCode::kCorruption) << why;
  };
  refused([](ManifestShard& s) { s.streams.chunks.pop_back(); }, "a stream without chunks");
  refused([](ManifestShard& s) { s.streams.chunks[0] = 0; }, "chunks without numbers");
  refused([](ManifestShard& s) { s.streams.chunks[0] = std::uint64_t{1} << 25; }, "large chunks");
  refused([](ManifestShard& s) { s.streams.chunks[2] = 3; }, "a chunk larger than its numbers");
  refused([](ManifestShard& s) { s.streams.keys.clear(); }, "a block without key");
  refused([](ManifestShard& s) { s.streams.begins.pop_back(); }, "a block without end");
  refused([](ManifestShard& s) { s.streams.begins[4] = 2; }, "a stream that goes back");
  refused([](ManifestShard& s) { s.streams.begins[4] = 3; }, "no keys");
  refused([](ManifestShard& s) { s.streams.begins[5] = 5; }, "more counts than keys");
  refused([](ManifestShard& s) { s.streams.begins[7] = 6; }, "more tuples than rows");
  refused([](ManifestShard& s) { s.streams.begins[7] = (std::uint64_t{1} << 63) - 1; },
          "more tuples than a block may have");
  refused([](ManifestShard& s) { s.groups = 2; }, "other groups");
  refused([](ManifestShard& s) { s.extents.pop_back(); }, "a chunk is missing");
  refused([](ManifestShard& s) { s.pieces.pop_back(); }, "a checksum is missing");
  refused([](ManifestShard& s) { s.extents[4].offset = 4405; }, "chunks that overlap");
  refused([](ManifestShard& s) { s.relation = 1; }, "no such relation");
}

}  // namespace
}  // namespace stratalog
