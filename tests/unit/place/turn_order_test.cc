// SPDX-License-Identifier: Apache-2.0
// Every piece of every block is read once, a block is complete with its last piece, reads ascend
// but for blocks that are read in one go, and never more bytes wait than allowed. Local.
#include "place/turn_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

namespace stratalog {
namespace {

// Shards of blocks of up to `most` bytes that take turns in a file by extents of `extent` bytes.
std::vector<BlockPieces> dealt(std::uint64_t seed, std::size_t shards, std::uint64_t extent,
                               std::uint64_t most) {
  std::mt19937_64 random(seed);
  std::vector<BlockPieces> blocks;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    std::uint64_t at = 0;  // in the shard
    const auto place = [&](std::uint64_t byte) {
      return (byte / extent * shards + shard) * extent + byte % extent;
    };
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t end = at + 1 + random() % most;
      BlockPieces pieces;
      while (at < end) {
        const std::uint64_t next = std::min(end, (at / extent + 1) * extent);
        pieces.push_back({.offset = place(at), .bytes = next - at});
        at = next;
      }
      blocks.push_back(std::move(pieces));
    }
  }
  return blocks;
}

struct Followed {
  std::uint64_t most_waiting = 0;
  std::size_t leaps = 0;  // back
  std::size_t read_over = 0;  // short stretches of nobody
};

// Does what the order says and checks it on the way.
Followed follow(const std::vector<BlockPieces>& blocks, const TurnOrder& order) {
  Followed seen;
  EXPECT_EQ(order.blocks.size(), blocks.size());
  EXPECT_EQ(order.reads_until.size(), blocks.size());
  std::map<std::size_t, std::uint64_t> read;  // bytes of blocks that are not complete
  std::size_t at = 0;
  std::uint64_t before = 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < order.blocks.size(); ++i) {
    for (; at < order.reads_until[i]; ++at) {
      const TurnOrder::Read& next = order.reads[at];
      seen.leaps += next.piece.offset < before ? 1 : 0;
      before = next.piece.offset;
      const bool is_near =
          at > 0 && next.piece.offset > end && next.piece.offset - end <= kMostReadOver;
      EXPECT_EQ(next.read_over, is_near ? next.piece.offset - end : 0);
      seen.read_over += next.read_over > 0 ? 1 : 0;
      end = next.piece.offset + next.piece.bytes;
      std::uint64_t within = 0;
      bool known = false;
      for (const ShardPlace::Piece& piece : blocks[next.block]) {
        known |= within == next.within && piece.offset == next.piece.offset &&
                 piece.bytes == next.piece.bytes;
        within += piece.bytes;
      }
      EXPECT_TRUE(known);
      EXPECT_EQ(read[next.block], next.within) << "in the order of the block";
      read[next.block] += next.piece.bytes;
    }
    std::uint64_t all = 0;
    for (const ShardPlace::Piece& piece : blocks[order.blocks[i]]) all += piece.bytes;
    EXPECT_EQ(read[order.blocks[i]], all);
    read.erase(order.blocks[i]);
    std::uint64_t waiting = 0;
    for (const auto& [block, bytes] : read) waiting += bytes;
    seen.most_waiting = std::max(seen.most_waiting, waiting);
  }
  EXPECT_EQ(at, order.reads.size());
  EXPECT_TRUE(read.empty());
  return seen;
}

TEST(TurnOrder, NothingToRead) {
  const TurnOrder order = plan_turns({}, 100);
  EXPECT_TRUE(order.reads.empty());
  EXPECT_TRUE(order.blocks.empty());
}

TEST(TurnOrder, FrontToBackWhereThereIsRoom) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<BlockPieces> blocks = dealt(seed, 1 + seed % 7, 100, 1 + seed * 7 % 250);
    const Followed seen = follow(blocks, plan_turns(blocks, 100'000));
    EXPECT_EQ(seen.leaps, 0U);
  }
}

TEST(TurnOrder, NoMoreWaitsThanAllowed) {
  std::size_t leaps = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<BlockPieces> blocks = dealt(seed, 7, 100, 90);
    for (const std::uint64_t most : {0U, 1U, 50U, 150U, 300U}) {
      const Followed seen = follow(blocks, plan_turns(blocks, most));
      EXPECT_LE(seen.most_waiting, most);
      leaps += seen.leaps;
    }
  }
  EXPECT_GT(leaps, 0U) << "the bound must have been felt";
}

// Our writers do not lay them so, but a manifest may say so.
TEST(TurnOrder, PiecesThatDoNotLieInTheOrderOfTheBlock) {
  const std::vector<BlockPieces> blocks{{{.offset = 900, .bytes = 10}, {.offset = 100, .bytes = 5}},
                                        {{.offset = 500, .bytes = 20}}};
  for (const std::uint64_t most : {0U, 9U, 10U, 100U}) {
    const TurnOrder order = plan_turns(blocks, most);
    EXPECT_EQ(follow(blocks, order).most_waiting, 0U);
    EXPECT_EQ(order.reads.size(), 3U);
    EXPECT_EQ(order.blocks.size(), 2U);
    EXPECT_EQ(order.reads_until.back(), 3U);
  }
}

TEST(TurnOrder, ShortStretchesOfOthersAreReadOverAndLongOnesLeapt) {
  const std::vector<BlockPieces> blocks{
      {{.offset = 1000, .bytes = 50}, {.offset = 1100, .bytes = 10}},
      {{.offset = 1110 + kMostReadOver, .bytes = 5}},
      {{.offset = 1116 + (2 * kMostReadOver), .bytes = 5}}};
  const TurnOrder order = plan_turns(blocks, 1 << 20);
  EXPECT_EQ(follow(blocks, order).read_over, 2U);
  ASSERT_EQ(order.reads.size(), 4U);
  EXPECT_EQ(order.reads[1].read_over, 50U);
  EXPECT_EQ(order.reads[2].read_over, kMostReadOver);
  EXPECT_EQ(order.reads[3].read_over, 0U) << "one byte too long";
}

}  // namespace
}  // namespace stratalog
