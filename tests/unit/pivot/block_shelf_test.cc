// SPDX-License-Identifier: Apache-2.0
// BlockShelf: who gets which block, when others may have some, and that each is swept once.
#include "datalog/pivot/block_shelf.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace stratalog {
namespace {

TEST(BlockShelf, OwnersTakeFromTheFrontAndOthersFromTheBack) {
  BlockShelf shelf;
  shelf.fill({3, 5, 8, 9});
  EXPECT_FALSE(shelf.borrow()) << "no run yet";
  shelf.open(BlockShelf::Lending::kYes);
  EXPECT_EQ(shelf.take(), 3U);
  EXPECT_EQ(shelf.borrow(), 9U);
  shelf.put_back(3);
  EXPECT_EQ(shelf.take(), 3U);
  EXPECT_EQ(shelf.take(), 5U);
  shelf.give_back(9, BlockShelf::Outcome::kAsBefore, 0);
  EXPECT_EQ(shelf.borrow(), 9U);
  EXPECT_EQ(shelf.take(), 8U);
  EXPECT_FALSE(shelf.take());
  EXPECT_FALSE(shelf.borrow());
  shelf.give_back(9, BlockShelf::Outcome::kSwept, 100);
  EXPECT_EQ(shelf.close(), 100);
  EXPECT_EQ(shelf.close(), 0) << "told once";
}

TEST(BlockShelf, LendsOnlyDuringRunsThatAllowIt) {
  BlockShelf shelf;
  shelf.fill({0, 1});
  shelf.open(BlockShelf::Lending::kNo);
  EXPECT_FALSE(shelf.borrow());
  EXPECT_EQ(shelf.close(), 0);
  shelf.open(BlockShelf::Lending::kYes);
  EXPECT_EQ(shelf.borrow(), 1U);
  shelf.give_back(1, BlockShelf::Outcome::kSwept, -7);
  EXPECT_EQ(shelf.close(), -7);
  EXPECT_FALSE(shelf.borrow());
  EXPECT_EQ(shelf.take(), 0U) << "what a run left is there for the next";
}

// No block is lost, none is swept twice, and a run ends when all that was lent is back.
TEST(BlockShelf, EachBlockOnceAmongThreads) {
  constexpr std::uint32_t kBlocks = 2000;
  constexpr int kOthers = 3;
  for (int trial = 0; trial < 20; ++trial) {
    BlockShelf shelf;
    std::deque<std::uint32_t> all;
    for (std::uint32_t b = 0; b < kBlocks; ++b) all.push_back(b);
    shelf.fill(all);
    shelf.open(BlockShelf::Lending::kYes);
    std::vector<int> swept(kBlocks, 0);  // plain numbers: the shelf orders who comes to them
    std::array<std::int64_t, kOthers> grown = {};
    std::atomic<bool> is_over = false;
    std::vector<std::thread> others;
    for (int t = 0; t < kOthers; ++t)
      others.emplace_back([&, t] {
        while (!is_over.load()) {
          const auto block = shelf.borrow();
          if (!block) continue;
          if (*block % 7 == 0 && swept[*block] == 0) {  // fails at first
            swept[*block] = 100;
            shelf.give_back(*block, BlockShelf::Outcome::kAsBefore, 0);
            continue;
          }
          ++swept[*block];
          grown[static_cast<std::size_t>(t)] += *block;
          shelf.give_back(*block, BlockShelf::Outcome::kSwept, *block);
        }
      });
    std::int64_t mine = 0;
    while (const auto block = shelf.take()) {
      ++swept[*block];
      mine += *block;
    }
    std::int64_t lent = shelf.close();
    while (const auto block = shelf.take()) {  // was given back unswept meanwhile
      ++swept[*block];
      mine += *block;
    }
    for (const int times : swept) ASSERT_EQ(times % 100, 1);
    EXPECT_EQ(lent + mine, std::int64_t{kBlocks} * (kBlocks - 1) / 2);
    is_over = true;
    for (std::thread& other : others) other.join();
    for (const std::int64_t bytes : grown) lent -= bytes;
    EXPECT_EQ(lent, 0);
  }
}

}  // namespace
}  // namespace stratalog
