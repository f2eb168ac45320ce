// SPDX-License-Identifier: Apache-2.0
// PackedRows against the rows that went in: every format at every width, order, membership.
#include "datalog/pivot/packed_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "model/set_walk.h"

namespace stratalog {
namespace {

using Words = std::array<std::uint64_t, kMaxRowWords>;

// Rows of all densities: single bits, runs, checkers, full.
Words random_row(std::mt19937_64& draw, std::uint32_t width) {
  Words words{};
  const std::uint32_t lanes = width * 64;
  const std::uint64_t kind = draw() % 5;
  if (kind == 0) {
    for (std::uint64_t n = 1 + draw() % 6; n != 0; --n) {
      const std::uint64_t bit = draw() % lanes;
      words[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  } else if (kind == 1) {
    for (std::uint64_t n = 1 + draw() % 4; n != 0; --n) {
      const std::uint64_t first = draw() % lanes;
      const std::uint64_t last = first + draw() % (lanes - first);
      for (std::uint64_t bit = first; bit <= last; ++bit)
        words[bit / 64] |= std::uint64_t{1} << (bit % 64);
    }
  } else {
    for (std::uint32_t w = 0; w < width; ++w)
      words[w] = kind == 2 ? draw() : kind == 3 ? draw() | draw() | draw() : ~std::uint64_t{0};
  }
  if (words == Words{}) words[0] = 1;
  return words;
}

TEST(PackedRows, GiveBackEveryRowAtEveryWidth) {
  for (const std::uint32_t width : {1U, 2U, 4U, 8U})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      SCOPED_TRACE(testing::Message() << "width " << width << " seed " << seed);
      std::mt19937_64 draw(seed);
      PackedRows rows;
      std::vector<Words> expected;
      std::vector<SlotId> slots;
      std::uint64_t tuples = 0;
      SlotId slot = 0;
      for (int i = 0; i < 200; ++i) {
        slot += 1 + static_cast<SlotId>(draw() % 5);
        slots.push_back(slot);
        expected.push_back(random_row(draw, width));
        for (const std::uint64_t word : expected.back()) tuples += std::popcount(word);
        rows.append(slot, expected.back().data(), width);
      }
      EXPECT_TRUE(rows.is_sorted());
      EXPECT_EQ(rows.rows(), 200U);
      EXPECT_EQ(rows.tuples(), tuples);
      EXPECT_EQ(rows.slots(), slots);
      std::size_t at = 0;
      for (PackedRows::Cursor cursor(rows, width); !cursor.at_end(); ++at) {
        EXPECT_EQ(cursor.slot(), slots[at]);
        Words read{};
        read.fill(0);
        cursor.read(read.data());
        EXPECT_EQ(read, expected[at]);
      }
      EXPECT_EQ(at, expected.size());
      for (int i = 0; i < 500; ++i) {
        const std::size_t row = draw() % expected.size();
        const auto offset = static_cast<std::uint32_t>(draw() % (width * 64));
        EXPECT_EQ(rows.contains(slots[row], offset, width),
                  (expected[row][offset / 64] >> (offset % 64) & 1) != 0);
      }
      EXPECT_FALSE(rows.contains(slots.back() + 1, 0, width));
    }
}

TEST(PackedRows, UniteKeepsWhatTheBufferHolds) {
  for (const std::uint32_t width : {1U, 8U}) {
    std::mt19937_64 draw(width);
    PackedRows rows;
    std::vector<Words> expected;
    for (SlotId slot = 0; slot < 100; ++slot) {
      expected.push_back(random_row(draw, width));
      rows.append(slot, expected.back().data(), width);
    }
    std::size_t at = 0;
    for (PackedRows::Cursor cursor(rows, width); !cursor.at_end(); ++at) {
      Words held = random_row(draw, width);
      Words both = held;
      for (std::uint32_t w = 0; w < width; ++w) both[w] |= expected[at][w];
      cursor.unite(held.data());
      EXPECT_EQ(held, both);
    }
  }
}

// Rows that come again are stored as references, and read as if they were not.
TEST(PackedRows, EqualRowsAreStoredOnce) {
  for (const std::uint32_t width : {1U, 2U, 4U, 8U}) {
    SCOPED_TRACE(testing::Message() << "width " << width);
    std::mt19937_64 draw(width + 99);
    std::vector<Words> kinds;
    kinds.reserve(40);
    for (int i = 0; i < 40; ++i) kinds.push_back(random_row(draw, width));
    PackedRows plain;
    PackedRows rows;
    RecentRows recent;
    std::vector<std::size_t> chosen;
    for (SlotId slot = 0; slot < 3000; ++slot) {
      chosen.push_back(draw() % kinds.size());
      plain.append(slot * 3, kinds[chosen.back()].data(), width);
      rows.append(slot * 3, kinds[chosen.back()].data(), width, recent);
    }
    EXPECT_EQ(rows.slots(), plain.slots());
    EXPECT_EQ(rows.tuples(), plain.tuples());
    EXPECT_TRUE(rows.is_sorted());
    if (width == 8) {
      EXPECT_LT(rows.places(), plain.places() / 3);
    }
    std::map<std::uint64_t, std::size_t> kind_at;
    std::size_t at = 0;
    PackedRows::Cursor reading(rows, width);
    PackedRows::Cursor plainly(plain, width);
    for (PackedRows::Cursor cursor(rows, width); !cursor.at_end(); ++at) {
      const Words& expected = kinds[chosen[at]];
      ASSERT_LT(cursor.place(), rows.places());
      // One place, one row.
      EXPECT_EQ(kinds[kind_at.try_emplace(cursor.place(), chosen[at]).first->second], expected);
      Words buffer{};
      Words plain_buffer{};
      const SetView set = cursor.view(7, buffer.data());
      const SetView other = plainly.view(7, plain_buffer.data());
      EXPECT_EQ(set.kind, other.kind);
      EXPECT_EQ(set.count, other.count);
      std::vector<Cell> cells;
      std::vector<Cell> others;
      walk_set(set, [&](Cell cell) { cells.push_back(cell); });
      walk_set(other, [&](Cell cell) { others.push_back(cell); });
      EXPECT_EQ(cells, others);
      Words read{};
      reading.read(read.data());
      EXPECT_EQ(read, expected);
    }
    EXPECT_EQ(at, chosen.size());
    for (int i = 0; i < 500; ++i) {
      const auto slot = static_cast<SlotId>(draw() % (chosen.size() * 3));
      const auto offset = static_cast<std::uint32_t>(draw() % (width * 64));
      EXPECT_EQ(rows.contains(slot, offset, width), plain.contains(slot, offset, width));
    }
    // What was known of other rows is forgotten.
    rows.clear();
    recent.clear();
    rows.append(5, kinds[0].data(), width, recent);
    Words read{};
    PackedRows::Cursor(rows, width).read(read.data());
    EXPECT_EQ(read, kinds[0]);
  }
}

TEST(PackedRows, AreShownAsTheyRest) {
  for (const std::uint32_t width : {1U, 8U}) {
    std::mt19937_64 draw(width + 7);
    PackedRows rows;
    std::vector<Words> expected;
    for (SlotId slot = 0; slot < 300; ++slot) {
      expected.push_back(random_row(draw, width));
      rows.append(slot, expected.back().data(), width);
    }
    std::set<SetKind> kinds;
    std::size_t at = 0;
    for (PackedRows::Cursor cursor(rows, width); !cursor.at_end(); ++at) {
      Words buffer{};
      const SetView set = cursor.view(1000, buffer.data());
      kinds.insert(set.kind);
      Words found{};
      std::uint64_t count = 0;
      walk_set(set, [&](Cell cell) {
        found[(cell - 1000) / 64] |= std::uint64_t{1} << ((cell - 1000) % 64);
        ++count;
      });
      EXPECT_EQ(found, expected[at]);
      EXPECT_EQ(count, set.count);
    }
    EXPECT_EQ(at, expected.size());
    EXPECT_EQ(kinds.size(), 3U);
  }
}

TEST(PackedRows, NoticeRowsOutOfOrder) {
  const Words row = {1};
  PackedRows repeated;
  repeated.append(3, row.data(), 1);
  repeated.append(3, row.data(), 1);
  EXPECT_FALSE(repeated.is_sorted());
  PackedRows descending;
  descending.append(3, row.data(), 1);
  descending.append(2, row.data(), 1);
  EXPECT_FALSE(descending.is_sorted());
  descending.clear();
  EXPECT_TRUE(descending.is_sorted());
  EXPECT_TRUE(descending.is_empty());
}

TEST(PackedRows, StoreDenseRowsAsRunsAndThinRowsAsOffsets) {
  Words full{};
  full.fill(~std::uint64_t{0});
  PackedRows dense;
  PackedRows thin;
  for (SlotId slot = 0; slot < 1000; ++slot) {
    dense.append(slot, full.data(), 8);
    const Words one = {std::uint64_t{1} << (slot % 64)};
    thin.append(slot, one.data(), 8);
  }
  dense.shrink_to_fit();
  thin.shrink_to_fit();
  EXPECT_EQ(dense.tuples(), 512000U);
  EXPECT_LT(dense.memory_bytes(), 12000U);
  EXPECT_LT(thin.memory_bytes(), 12000U);
}

}  // namespace
}  // namespace stratalog
