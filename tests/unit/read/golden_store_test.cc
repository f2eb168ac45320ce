// SPDX-License-Identifier: Apache-2.0
// Stores written by released versions stay readable: tests/golden/checkpoint_v1 holds one for each
// mode and encoding, with its tuples as text (tests/fault/golden_writer_test.cc wrote them; for a
// new format version it writes others, and these stay).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commit/manifest.h"
#include "commit/store_file.h"
#include "encode/shard_encoder.h"
#include "model/set_walk.h"
#include "read/shard_reader.h"

namespace stratalog {
namespace {

const char* const kStores[] = {"fpp",    "shared", "rows",      "streams",     "auto",
                               "copies", "pools",  "run_pools", "hdf5_direct", "hdf5_streams"};

std::string golden() { return std::string(STRATALOG_SOURCE_DIR) + "/tests/golden/checkpoint_v1/"; }

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class GoldenStore : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenStore, IsRead) {
  const std::string root = golden() + GetParam();
  const auto opened = open_posix_store(root, RootMode::kMustExist);
  ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
  Store& store = *opened.value();
  const auto id = read_store_id(store);
  ASSERT_TRUE(id.is_ok()) << id.status().to_string();
  const auto text = read_text_file(store, "gen-00000001-0000000001/MANIFEST", 1 << 20);
  ASSERT_TRUE(text.is_ok());
  const auto parsed = parse_manifest(text.value(), CheckManifest::kYes);
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  const Manifest& manifest = parsed.value();
  EXPECT_TRUE(manifest.store == id.value());
  EXPECT_EQ(manifest.iteration, 5U);
  std::set<std::string> lines;
  std::uint64_t copies = 0;
  std::uint64_t pools = 0;
  std::uint64_t run_pools = 0;
  for (const ManifestShard& shard : manifest.shards) {
    const ManifestRelation& relation = manifest.relations[shard.relation];
    ReadCounts counts;
    const ReadOutcome outcome = read_shard(
        store, manifest, shard, 0, shard.bytes(), {},
        [&](const TupleGroup& group) {
          walk_set(group.set, [&](Cell cell) {
            std::vector<Cell> tuple(relation.arity);
            for (std::size_t i = 0; i + 1 < relation.arity; ++i)
              tuple[relation.column_order[i]] = group.prefix[i];
            tuple[relation.column_order.back()] = cell;
            std::string line = relation.name + "." + std::string(version_name(relation.version));
            for (const Cell c : tuple) line += "\t" + std::to_string(c);
            EXPECT_TRUE(lines.insert(line).second) << line;
          });
          return Status::ok();
        },
        counts);
    ASSERT_TRUE(outcome.is_ok()) << outcome.read.to_string();
    EXPECT_EQ(counts.rows, shard.rows);
    copies += shard.copies;
    pools += shard.pools;
    run_pools += shard.run_pools;
  }
  EXPECT_EQ(copies > 300, std::string(GetParam()) == "copies") << copies;
  EXPECT_EQ(pools > 3, std::string(GetParam()) == "pools") << pools;
  EXPECT_EQ(run_pools > 3, std::string(GetParam()) == "run_pools") << run_pools;
  std::set<std::string> expected;
  const bool has_copies = pools + run_pools + copies > 0;
  std::istringstream in(read_text(golden() + (has_copies ? "copies.tsv" : "tuples.tsv")));
  for (std::string line; std::getline(in, line);) expected.insert(line);
  EXPECT_GT(expected.size(), 100U);
  EXPECT_EQ(lines, expected);
  const auto section = read_section(store, manifest, 0, {});
  ASSERT_TRUE(section.is_ok()) << section.status().to_string();
  EXPECT_EQ(section.value().size(), 300U);
}

INSTANTIATE_TEST_SUITE_P(All, GoldenStore, ::testing::ValuesIn(kStores));

}  // namespace
}  // namespace stratalog
