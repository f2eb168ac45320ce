// SPDX-License-Identifier: Apache-2.0
// Groups of every shape go through every encoding as whole shards and come back; how large they
// are.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "encode/block_decoder.h"
#include "encode/shard_encoder.h"
#include "model/set_walk.h"
#include "unit/encode/random_sets.h"
#include "unit/model/group_list.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

// Decodes a whole shard held in memory.
Status decode_shard(const std::vector<std::byte>& bytes, const ShardHeader& header,
                    std::span<const std::uint32_t> order, std::uint64_t blocks,
                    const GroupVisitor& visit) {
  const auto footer_bytes = std::span(bytes).last(footer_bytes_for(blocks));
  STRATALOG_ASSIGN_OR_RETURN(const ShardFooter footer,
                             parse_shard_footer(footer_bytes, bytes.size(), header.file_id));
  BlockDecoder decoder(order);
  std::size_t at = kShardHeaderBytes;
  for (std::uint32_t b = 0; b < footer.blocks.size(); ++b) {
    const auto block = std::span(bytes).subspan(at, footer.blocks[b].bytes);
    STRATALOG_ASSIGN_OR_RETURN(
        const BlockHeader found,
        open_block(block, footer.blocks[b], header.file_id, b, header.nonce, CheckBlocks::kYes));
    STRATALOG_RETURN_IF_ERROR(
        decoder.decode(found, block.subspan(kBlockHeaderBytes, found.payload_bytes), visit));
    at += block.size();
  }
  return Status::ok();
}

TEST(ShardCodec, RandomGroupsComeBack) {
  for (const ShardEncoding encoding : {ShardEncoding::kCompact, ShardEncoding::kRowsU64,
                                       ShardEncoding::kStreams, ShardEncoding::kAuto})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(::testing::Message() << encoding_name(encoding) << ", seed " << seed);
      Random random(seed);
      const std::uint32_t arity =
          1 + static_cast<std::uint32_t>(random.below(seed % 10 == 0 ? 9 : 4));
      std::vector<std::uint32_t> order(arity);
      for (std::uint32_t i = 0; i < arity; ++i) order[i] = (i + 1) % arity;
      ShardHeader header;
      header.encoding = encoding;
      header.file_id = seed;
      header.nonce = {.low = seed * 7, .high = seed * 11};
      header.arity = arity;
      std::vector<std::byte> bytes;
      ShardEncoder encoder(header, order, 256 + random.below(20000),
                           [&](std::span<const std::byte> piece) {
                             bytes.insert(bytes.end(), piece.begin(), piece.end());
                             return Status::ok();
                           });
      Tuples expected;
      std::vector<Cell> prefix(arity - 1, 0);
      std::uint64_t rows = 0;
      for (std::uint64_t g = 0; g < (arity == 1 ? 1 : 25); ++g) {
        RandomSet set;
        make_random_set(random, set);
        if (arity > 1) {
          // Ascending prefixes, mostly small steps of the last column.
          if (random.below(6) == 0) {
            for (Cell& cell : prefix) cell = static_cast<Cell>(random.below(0xFFFFFFFFULL));
          } else {
            prefix.back() += 1 + static_cast<Cell>(random.below(2) * random.below(1000));
          }
        }
        ASSERT_TRUE(encoder.add({.prefix = prefix, .set = set.view}).is_ok());
        rows += set.view.count;
        add_tuples(expected, prefix, set.view);
      }
      const auto summary = encoder.finish();
      ASSERT_TRUE(summary.is_ok());
      EXPECT_EQ(summary.value().rows, rows);
      EXPECT_EQ(summary.value().bytes, bytes.size());
      Tuples found;
      const Status decoded =
          decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& group) {
            std::uint64_t walked = 0;
            walk_set(group.set, [&](Cell) { ++walked; });
            EXPECT_EQ(walked, group.set.count);
            add_tuples(found, group.prefix, group.set);
            return Status::ok();
          });
      ASSERT_TRUE(decoded.is_ok()) << decoded.to_string();
      ASSERT_EQ(found, expected);
    }
}

TEST(ShardCodec, TypicalRowsAreSmall) {
  // 512-bit rows with a shared base: one byte of overhead each.
  const std::vector<std::uint32_t> order = {0, 1};
  ShardHeader header;
  std::uint64_t bytes = 0;
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    bytes += piece.size();
    return Status::ok();
  });
  Random random(3);
  std::vector<std::uint64_t> words(8);
  constexpr std::uint64_t kGroups = 10000;
  for (Cell p = 1; p <= kGroups; ++p) {
    for (std::uint64_t& word : words) word = splitmix64(random.below(~std::uint64_t{0}));
    SetView set;
    set.kind = SetKind::kBitmap;
    set.base = 5120;
    set.words = words;
    set.count = count_bits(words);
    ASSERT_TRUE(encoder.add({.prefix = std::span(&p, 1), .set = set}).is_ok());
  }
  ASSERT_TRUE(encoder.finish().is_ok());
  EXPECT_LT(bytes, kGroups * 66 + 2000);
}

TEST(ShardCodec, HugeSetsAreSplit) {
  std::vector<Cell> values(3000000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Cell>(i * 5);
  const std::vector<std::uint32_t> order = {0, 1};
  ShardHeader header;
  std::vector<std::byte> bytes;
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    EXPECT_LE(piece.size(), block_bytes_for(kMaxPayloadBytes));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status::ok();
  });
  const Cell prefix = 7;
  ASSERT_TRUE(encoder.add({.prefix = std::span(&prefix, 1), .set = array_view(values)}).is_ok());
  const auto summary = encoder.finish();
  EXPECT_GT(summary.value().blocks, 1U);
  std::vector<Cell> found;
  ASSERT_TRUE(decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& g) {
                EXPECT_EQ(g.prefix[0], 7U);
                walk_set(g.set, [&](Cell c) { found.push_back(c); });
                return Status::ok();
              }).is_ok());
  EXPECT_EQ(found, values);
}

// Sets that come again are written once in a block; contents that are too far away, or in another
// block, are spelled out again.
TEST(ShardCodec, SetsThatComeAgainArePooled) {
  Random random(8);
  std::vector<std::unique_ptr<RandomSet>> sets;
  sets.reserve(1200);
  for (int i = 0; i < 1200; ++i) {
    sets.push_back(std::make_unique<RandomSet>());
    make_random_set(random, *sets.back());
  }
  const std::vector<std::uint32_t> order = {0, 1};
  for (const ShardEncoding encoding : {ShardEncoding::kCompact, ShardEncoding::kAuto,
                                       ShardEncoding::kStreams, ShardEncoding::kRowsU64}) {
    SCOPED_TRACE(encoding_name(encoding));
    const ShardHeader header{.encoding = encoding,
                             .file_id = 7,
                             .nonce = {.low = 1, .high = 2},
                             .store = {},
                             .arity = 2,
                             .name = "r.total"};
    std::vector<std::byte> bytes;
    ShardEncoder encoder(header, order, 1 << 16, [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Status::ok();
    });
    std::vector<std::pair<Cell, std::size_t>> given;
    std::vector<Cell> prefixes(6000);
    std::uint64_t rows = 0;
    for (std::size_t at = 0; at < prefixes.size();) {
      GroupList groups;
      if (at % 2 == 0) groups.show_rows();
      for (std::size_t n = std::min<std::size_t>(prefixes.size() - at, 1 + random.below(60));
           n != 0; --n, ++at) {
        prefixes[at] = static_cast<Cell>(at * 2);
        const std::size_t near = at / 6;
        const std::size_t s =
            random.below(30) == 0 ? random.below(sets.size()) : near + random.below(40);
        given.emplace_back(prefixes[at], s);
        groups.add(std::span(&prefixes[at], 1), sets[s]->view, s % 11 == 0 ? 0 : s + 1);
        rows += sets[s]->view.count;
      }
      ASSERT_TRUE(encoder.add(groups.batch()).is_ok());
    }
    const auto summary = encoder.finish();
    ASSERT_TRUE(summary.is_ok());
    EXPECT_EQ(summary.value().rows, rows);
    if (encoding == ShardEncoding::kCompact) {
      EXPECT_EQ(summary.value().run_pools, summary.value().blocks);
    } else if (encoding != ShardEncoding::kAuto) {
      EXPECT_EQ(summary.value().run_pools, 0U);
    }
    EXPECT_EQ(summary.value().run_pools + summary.value().streams_blocks,
              encoding == ShardEncoding::kRowsU64 ? 0 : summary.value().blocks);
    std::map<Cell, std::vector<Cell>> found;
    ASSERT_TRUE(
        decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& group) {
          walk_set(group.set, [&](Cell cell) { found[group.prefix[0]].push_back(cell); });
          return Status::ok();
        }).is_ok());
    ASSERT_EQ(found.size(), given.size());
    for (const auto& [prefix, s] : given) {
      ASSERT_EQ(found[prefix], cells_in(sets[s]->view)) << prefix;
    }
  }
}

// Tuples without any order do not grow by more than a fraction over 4 bytes a cell.
TEST(ShardCodec, RandomTuplesDoNotGrow) {
  for (const std::uint32_t arity : {1U, 2U, 8U, 12U}) {
    std::vector<std::uint32_t> order(arity);
    for (std::uint32_t i = 0; i < arity; ++i) order[i] = i;
    for (const ShardEncoding encoding : {ShardEncoding::kStreams, ShardEncoding::kAuto}) {
      ShardHeader header;
      header.encoding = encoding;
      std::uint64_t bytes = 0;
      ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
        bytes += piece.size();
        return Status::ok();
      });
      Random random(arity);
      constexpr std::uint64_t kTuples = 60000;
      std::vector<Cell> tuple(arity);
      std::vector<Cell> column;
      for (std::uint64_t t = 0; t < kTuples; ++t) {
        for (Cell& cell : tuple) cell = static_cast<Cell>(random.below(std::uint64_t{1} << 32));
        if (arity == 1) {
          column.push_back(tuple[0]);
          continue;
        }
        const std::span<const Cell> cells = tuple;
        ASSERT_TRUE(
            encoder.add({.prefix = cells.first(arity - 1), .set = array_view(cells.last(1))})
                .is_ok());
      }
      if (arity == 1) {
        std::sort(column.begin(), column.end());
        column.erase(std::unique(column.begin(), column.end()), column.end());
        ASSERT_TRUE(encoder.add({.prefix = {}, .set = array_view(column)}).is_ok());
      }
      ASSERT_TRUE(encoder.finish().is_ok());
      EXPECT_LT(static_cast<double>(bytes), kTuples * arity * 4 * 1.02) << arity;
    }
  }
}

// Of what `add` gives an encoder of pairs.
ShardSummary summary_of_pairs(ShardEncoding encoding,
                              const std::function<void(ShardEncoder&)>& add) {
  const std::vector<std::uint32_t> order = {0, 1};
  ShardHeader header;
  header.encoding = encoding;
  ShardEncoder encoder(header, order, 1 << 14,
                       [](std::span<const std::byte>) { return Status::ok(); });
  add(encoder);
  return encoder.finish().value();
}

// Each block takes the smaller encoding; what was chosen shows.
TEST(ShardCodec, AutoTakesTheSmallerEncoding) {
  const auto sparse = [](ShardEncoder& encoder) {
    Random random(9);
    for (Cell key = 0; key < 20000; ++key) {
      const Cell value = static_cast<Cell>(random.below(1 << 18));
      EXPECT_TRUE(
          encoder.add({.prefix = std::span(&key, 1), .set = array_view(std::span(&value, 1))})
              .is_ok());
    }
  };
  const auto noise = [](ShardEncoder& encoder) {
    Random random(10);
    for (Cell key = 0; key < 3000; ++key) {
      std::vector<std::uint64_t> words(8);
      for (std::uint64_t& word : words) word = splitmix64(random.below(~std::uint64_t{0}));
      SetView set;
      set.kind = SetKind::kBitmap;
      set.words = words;
      set.count = count_bits(words);
      EXPECT_TRUE(encoder.add({.prefix = std::span(&key, 1), .set = set}).is_ok());
    }
  };
  const ShardSummary thin = summary_of_pairs(ShardEncoding::kAuto, sparse);
  EXPECT_EQ(thin.streams_blocks, thin.blocks);
  EXPECT_LE(thin.bytes, summary_of_pairs(ShardEncoding::kStreams, sparse).bytes + 4096);
  EXPECT_LT(thin.bytes, summary_of_pairs(ShardEncoding::kCompact, sparse).bytes);
  const ShardSummary thick = summary_of_pairs(ShardEncoding::kAuto, noise);
  EXPECT_EQ(thick.streams_blocks, 0U);
  EXPECT_LE(thick.bytes, summary_of_pairs(ShardEncoding::kCompact, noise).bytes + 4096);
  EXPECT_LT(thick.bytes, summary_of_pairs(ShardEncoding::kStreams, noise).bytes);
  // The zones: every block's lowest and highest key and value.
  EXPECT_EQ(thin.zones.size(), thin.blocks * 4);
  EXPECT_EQ(thin.zones[0], 0U);
  EXPECT_EQ(thin.zones[thin.zones.size() - 3], 19999U);
  for (std::size_t b = 1; b < thin.blocks; ++b)
    EXPECT_EQ(thin.zones[b * 4], thin.zones[((b - 1) * 4) + 1] + 1);
}

// Few sets, each of many groups.
class FewSets final : public SetSource {
 public:
  explicit FewSets(std::size_t count) {
    Random random(21);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Cell>& cells = sets_.emplace_back();
      for (Cell cell = 0; cell < 3000; ++cell)
        if (random.below(5) == 0) cells.push_back(cell);
    }
  }
  void show(std::span<const std::size_t> which) { which_ = which; }
  SetView set(std::size_t index) override {
    const std::vector<Cell>& cells = sets_[which_[index]];
    SetView view;
    view.values = cells;
    view.count = cells.size();
    return view;
  }

 private:
  std::vector<std::vector<Cell>> sets_;
  std::span<const std::size_t> which_;
};

// The trial of auto goes on as a pool where that is better: its streams are full after a few
// hundred groups, of which a pool takes hundreds of thousands.
TEST(ShardCodec, AutoKeepsPoolsWhole) {
  const auto pooled = [](ShardEncoder& encoder) {
    constexpr std::size_t kRuns = 100;
    FewSets sets(40);
    Random random(22);
    Cell key = 0;
    for (std::size_t batch = 0; batch < 60; ++batch) {
      std::vector<Cell> keys(kRuns);
      std::vector<std::size_t> which(kRuns);
      std::vector<std::uint64_t> contents(kRuns);
      const std::vector<std::uint32_t> lengths(kRuns, 1);
      for (std::size_t i = 0; i < kRuns; ++i) {
        keys[i] = key++;
        which[i] = random.below(40);
        contents[i] = which[i] + 1;
      }
      sets.show(which);
      EXPECT_TRUE(encoder
                      .add(GroupBatch{
                          .prefixes = keys, .lengths = lengths, .contents = contents, .sets = sets})
                      .is_ok());
    }
  };
  const ShardSummary whole = summary_of_pairs(ShardEncoding::kCompact, pooled);
  const ShardSummary chosen = summary_of_pairs(ShardEncoding::kAuto, pooled);
  EXPECT_EQ(chosen.rows, whole.rows);
  EXPECT_EQ(chosen.groups, whole.groups);
  EXPECT_EQ(chosen.streams_blocks, 0U);
  EXPECT_LE(chosen.blocks, whole.blocks + 1);
  EXPECT_LE(chosen.bytes, whole.bytes + (whole.bytes / 8));
}

}  // namespace
}  // namespace stratalog
