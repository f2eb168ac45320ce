// SPDX-License-Identifier: Apache-2.0
// Placement is arithmetic: every byte once, no overlap, the same everywhere, at 16,384 virtual
// ranks as well.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/multiset_hash.h"
#include "place/checkpoint_names.h"
#include "place/read_ranges.h"
#include "place/shared_layout.h"

namespace stratalog {
namespace {

enum class Load : std::uint8_t { kEven, kSkewed, kMostlyEmpty, kOneGiant, kNothing };

std::vector<std::uint64_t> make_load(Load load, std::size_t ranks) {
  std::vector<std::uint64_t> bytes(ranks);
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::uint64_t random = splitmix64(r);
    switch (load) {
      case Load::kEven:
        bytes[r] = 1 << 20;
        break;
      case Load::kSkewed:
        bytes[r] = random >> (20 + (random % 40));
        break;
      case Load::kMostlyEmpty:
        bytes[r] = random % 50 == 0 ? random % 9999 : 0;
        break;
      case Load::kOneGiant:
        bytes[r] = r == ranks / 3 ? std::uint64_t{1} << 42 : 17;
        break;
      case Load::kNothing:
        break;
    }
  }
  return bytes;
}

constexpr Load kLoads[] = {Load::kEven, Load::kSkewed, Load::kMostlyEmpty, Load::kOneGiant,
                           Load::kNothing};
constexpr std::size_t kRankCounts[] = {1, 2, 3, 7, 64, 1000, 4096, 16384};

TEST(SharedLayout, ExtentsAreDisjointAlignedAndInOrder) {
  for (const Load load : kLoads)
    for (const std::size_t ranks : kRankCounts) {
      const auto bytes = make_load(load, ranks);
      std::uint64_t begin = 12345;
      for (int round = 0; round < 3; ++round) {
        const auto plan = plan_round(begin, bytes, kExtentAlignment);
        ASSERT_TRUE(plan.is_ok());
        std::uint64_t end = begin;
        for (std::size_t r = 0; r < ranks; ++r) {
          if (bytes[r] == 0) continue;
          ASSERT_EQ(plan.value().offsets[r] % kExtentAlignment, 0U);
          ASSERT_GE(plan.value().offsets[r], end);
          ASSERT_LT(plan.value().offsets[r] - end, kExtentAlignment);
          end = plan.value().offsets[r] + bytes[r];
        }
        ASSERT_EQ(plan.value().end, end);
        begin = end;
      }
    }
}

TEST(SharedLayout, RefusesOverflow) {
  const std::uint64_t huge[] = {std::uint64_t{1} << 62, std::uint64_t{1} << 62, 1};
  EXPECT_EQ(plan_round(0, huge, kExtentAlignment).status().code(), StatusCode::kInvalidArgument);
  const std::uint64_t more[] = {~std::uint64_t{0}};
  EXPECT_FALSE(plan_round(4096, more, kExtentAlignment).is_ok());
  EXPECT_FALSE(plan_rows(huge).is_ok() &&
               plan_rows(huge).value().back() > (std::uint64_t{1} << 63));
  EXPECT_EQ(plan_rows({}).value(), std::vector<std::uint64_t>{0});
}

TEST(ReadRanges, EveryByteHasExactlyOneReaderAndSharesAreEven) {
  for (const Load load : kLoads)
    for (const std::size_t shards : {1, 5, 1000, 16384})
      for (const int readers : {1, 2, 3, 7, 64, 16384}) {
        const auto bytes = make_load(load, shards);
        std::uint64_t total = 0;
        for (const std::uint64_t b : bytes) total += b;
        // Walking all readers of all shards would be readers * shards; sample the readers where
        // there are many.
        const int step = readers > 64 ? 1237 : 1;
        std::uint64_t covered = 0;
        for (int r = 0; r < readers; r += step) {
          std::uint64_t mine = 0;
          std::size_t last_shard = 0;
          std::uint64_t last_end = 0;
          for (const ShardRange& range : plan_read_ranges(bytes, readers, r)) {
            ASSERT_LT(range.begin, range.end);
            ASSERT_LE(range.end, bytes[range.shard]);
            ASSERT_TRUE(range.shard > last_shard || range.begin >= last_end);
            last_shard = range.shard;
            last_end = range.end;
            mine += range.end - range.begin;
          }
          ASSERT_LE(mine, total / static_cast<std::uint64_t>(readers) + 1);
          covered += mine;
        }
        if (step == 1) {
          ASSERT_EQ(covered, total);
        }
      }
}

TEST(ReadRanges, NeighboursMeet) {
  const std::vector<std::uint64_t> bytes = {100, 0, 1, 4096, 77};
  for (const int readers : {1, 2, 3, 4, 5, 300}) {
    std::vector<int> owner(100 + 1 + 4096 + 77, 0);
    const std::uint64_t starts[] = {0, 100, 100, 101, 4197};
    for (int r = 0; r < readers; ++r)
      for (const ShardRange& range : plan_read_ranges(bytes, readers, r))
        for (std::uint64_t b = range.begin; b < range.end; ++b) ++owner[starts[range.shard] + b];
    for (const int count : owner) ASSERT_EQ(count, 1);
  }
}

// `shards` shards of `bytes` each in one file, piece after piece in turns.
std::vector<ShardPlace> shards_in_turns(std::size_t shards, std::uint64_t bytes,
                                        std::uint64_t piece) {
  std::vector<ShardPlace> places(shards);
  std::uint64_t offset = 0;
  for (std::uint64_t at = 0; at < bytes; at += piece)
    for (ShardPlace& place : places) {
      place.pieces.push_back({.offset = offset, .bytes = std::min(piece, bytes - at)});
      offset += place.pieces.back().bytes;
    }
  return places;
}

// Offset in the file of a shard's byte.
std::uint64_t offset_of(const ShardPlace& place, std::uint64_t at) {
  for (const ShardPlace::Piece& piece : place.pieces) {
    if (at < piece.bytes) return piece.offset + at;
    at -= piece.bytes;
  }
  return ~std::uint64_t{0};
}

TEST(ReadsInPlace, EachReaderGoesThroughOnePartOfTheFile) {
  // 16,384 shards and readers: samples.
  for (const std::size_t shards : {2U, 4U, 7U, 16384U})
    for (const int readers : {1, 2, 3, 4, 7, 16384}) {
      const std::uint64_t bytes = (shards > 7 ? 5 : 300) * kTurnBytes + 4097;
      const auto places = shards_in_turns(shards, bytes, 2 * kTurnBytes);
      const int step = shards > 7 && readers > 7 ? 5461 : readers > 64 ? 1237 : 1;
      const std::uint64_t total = bytes * shards;
      std::uint64_t covered = 0;
      for (int r = 0; r < readers; r += step) {
        const std::uint64_t low =
            total / static_cast<std::uint64_t>(readers) * static_cast<std::uint64_t>(r);
        std::uint64_t at = ~std::uint64_t{0};
        for (const ShardRange& range : plan_reads_in_place(places, readers, r)) {
          ASSERT_LT(range.begin, range.end);
          const std::uint64_t begin = offset_of(places[range.shard], range.begin);
          if (at == ~std::uint64_t{0}) {
            ASSERT_GE(begin, low);
            ASSERT_LE(begin, low + static_cast<std::uint64_t>(readers));
          } else {
            ASSERT_EQ(begin, at);
          }
          at = offset_of(places[range.shard], range.end - 1) + 1;
          covered += range.end - range.begin;
        }
      }
      if (step == 1) {
        ASSERT_EQ(covered, total);
      }
    }
}

TEST(ReadsInPlace, WithoutTurnsItIsTheOrderOfTheShards) {
  // Several files, a file of several shards that follow each other, and pieces too small for
  // cutting: only the last two shards are in one file.
  std::vector<ShardPlace> places(5);
  std::vector<std::uint64_t> bytes = {5000, 100, 0, 70000, 70000};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    places[i].file = std::min<std::size_t>(i, 3);
    places[i].pieces = {{.offset = 0, .bytes = bytes[i]}};
  }
  const auto turns = shards_in_turns(2, 70000, kTurnBytes / 64);
  for (std::size_t i = 0; i < 2; ++i) places[3 + i].pieces = turns[i].pieces;
  for (const int readers : {1, 2, 3, 10})
    for (int r = 0; r < readers; ++r)
      EXPECT_EQ(plan_reads_in_place(places, readers, r), plan_read_ranges(bytes, readers, r));
  EXPECT_TRUE(plan_reads_in_place({}, 3, 1).empty());
  // One reader of long pieces.
  const auto large = shards_in_turns(2, 3 * kLongTurnBytes, kLongTurnBytes);
  const std::vector<std::uint64_t> sizes(2, 3 * kLongTurnBytes);
  EXPECT_EQ(plan_reads_in_place(large, 1, 0), plan_read_ranges(sizes, 1, 0));
  EXPECT_NE(plan_reads_in_place(large, 2, 0), plan_read_ranges(sizes, 2, 0));
}

TEST(CheckpointNames, RoundTripAndAreStrict) {
  const GenerationId id{.epoch = 0xABCDEF01U, .sequence = 123456789};
  EXPECT_EQ(generation_name(id), "gen-abcdef01-0123456789");
  EXPECT_EQ(parse_generation_name(generation_name(id)), id);
  for (const char* bad :
       {"gen-ABCDEF01-0123456789", "gen-abcdef01-123456789", "gen-abcdef0-01234567890",
        "gen-abcdef01-01234567890", "gen-abcdef01_0123456789", "xgen-abcdef01-012345678", "",
        "gen-abcdef01-01234 6789", "gen-abcdef01--123456789"})
    EXPECT_FALSE(parse_generation_name(bad)) << bad;
  EXPECT_EQ(parse_epoch_name(epoch_name(7)), 7U);
  EXPECT_FALSE(parse_epoch_name("epoch-7"));
  // Numbers, not text, decide which is newer.
  EXPECT_GT((GenerationId{.epoch = 1, .sequence = 1000000}),
            (GenerationId{.epoch = 1, .sequence = 900000}));
}

TEST(CheckpointNames, FileNamesAreSafeWhateverTheRelationIsCalled) {
  const std::string name =
      shard_file_name(12, "../a b/\n\xC3\xA4?", RelationVersion::kDelta, 1234567);
  EXPECT_TRUE(is_data_file_name(name)) << name;
  EXPECT_EQ(name, "0012-___a_b_____.delta.1234567");
  EXPECT_TRUE(
      is_data_file_name(shared_file_name(0, std::string(500, 'x'), RelationVersion::kTotal)));
  EXPECT_NE(shard_file_name(0, "a", RelationVersion::kTotal, 0),
            shard_file_name(1, "a", RelationVersion::kTotal, 0));
  for (const char* bad : {"", ".", "..", "a/b", ".hidden", "a b", "a\n"})
    EXPECT_FALSE(is_data_file_name(bad)) << bad;
}

}  // namespace
}  // namespace stratalog
