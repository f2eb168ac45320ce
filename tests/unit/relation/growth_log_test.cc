// SPDX-License-Identifier: Apache-2.0
// A growth log against plain sets: what an index gained since the mark, over many rounds, merges
// and failed or acknowledged checkpoints.
#include "relation/growth_log.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace stratalog {
namespace {

using Rows = std::map<RowId, std::set<Cell>>;

Rows read_back(const GrowthSegments& segments) {
  Rows rows;
  RowId last = 0;
  const Status status = for_each_row(segments, [&](RowId row, const SetView& elements) {
    EXPECT_TRUE(rows.empty() || row > last);
    last = row;
    std::set<Cell>& cells = rows[row];
    walk_set(elements, [&](Cell cell) {
      EXPECT_TRUE(cells.empty() || cell > *cells.rbegin());
      cells.insert(cells.end(), cell);
    });
    EXPECT_EQ(cells.size(), elements.count);
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok());
  return rows;
}

std::uint64_t count(const Rows& rows) {
  std::uint64_t tuples = 0;
  for (const auto& [row, cells] : rows) tuples += cells.size();
  return tuples;
}

TEST(GrowthLog, HoldsWhatTheIndexGained) {
  std::mt19937_64 random(11);
  SetAccumulator scratch;
  Index index({0, 1}, {});
  GrowthLog log;
  Rows since;  // the mark
  Rows frozen;
  GrowthSegments handed_out;
  for (int round = 0; round < 700; ++round) {
    for (std::uint64_t i = 0; i < random() % 40; ++i) {
      const Cell prefix = static_cast<Cell>(random() % 50);
      // Small, dense and huge elements.
      const Cell last =
          random() % 3 == 0 ? static_cast<Cell>(random()) : static_cast<Cell>(random() % 3000);
      index.queue(index.find_or_add_row(&prefix), last);
    }
    index.unite_queued(scratch, Freshness::kUnknown);
    index.advance();
    log.append(index.delta());
    for (const DeltaRow& row : index.delta())
      row.cells.walk([&](Cell cell) { since[row.row].insert(cell); });
    if (round % 53 == 20) {
      handed_out = log.freeze();
      frozen = since;
      EXPECT_EQ(read_back(handed_out), since);
    }
    if (round % 53 == 40) {
      // Rounds since then have not touched what was handed out.
      EXPECT_EQ(read_back(handed_out), frozen);
      if (round % 2 == 0) {
        log.acknowledge();
        for (const auto& [row, cells] : frozen)
          for (const Cell cell : cells) since[row].erase(cell);
        std::erase_if(since, [](const auto& entry) { return entry.second.empty(); });
      }
    }
    ASSERT_EQ(log.tuples(), count(since)) << round;
  }
  EXPECT_EQ(read_back(log.freeze()), since);
  // Compressed: far below the eight bytes of a pair, for all the overhead of small rounds.
  EXPECT_LT(log.heap_bytes(), 7 * log.tuples() + 4096);
}

// Dense rows, thin ones and both at once, each in several segments: every way to unite them.
TEST(GrowthLog, UnitesBitmapsAndLists) {
  std::mt19937_64 random(23);
  for (const std::uint64_t range : {200U, 3000U, 60000U, 4000000U}) {
    Rows expected;
    GrowthSegments segments;
    for (int s = 0; s < 5; ++s) {
      std::vector<OwnDeltaRow> rows;
      for (RowId r = 0; r < 40; ++r) {
        std::set<Cell> cells;
        const std::uint64_t density = random() % 3 == 0 ? 1 : 4 + (random() % 60);
        const std::uint64_t first = random() % range;
        for (std::uint64_t i = 0; i < random() % 150; ++i) {
          const auto cell = static_cast<Cell>(first + (random() % (150 * density)));
          if (expected[r].insert(cell).second) cells.insert(cell);
        }
        if (cells.empty()) continue;
        const std::vector<Cell> sorted(cells.begin(), cells.end());
        rows.push_back({.row = r, .cells = {}});
        rows.back().cells.assign_sorted(sorted);
      }
      segments.push_back(pack_segment(DeltaRows(rows)));
    }
    std::erase_if(expected, [](const auto& row) { return row.second.empty(); });
    EXPECT_EQ(read_back(segments), expected);
  }
}

// A bit an element and not a byte where a row is dense.
TEST(GrowthLog, DenseRowsAreKeptAsBitmaps) {
  std::vector<Cell> cells;
  for (Cell cell = 1000; cell < 9000; cell += 2) cells.push_back(cell);
  std::vector<OwnDeltaRow> rows(1);
  rows[0].row = 3;
  rows[0].cells.assign_sorted(cells);
  const auto segment = pack_segment(DeltaRows(rows));
  EXPECT_EQ(segment->tuples, cells.size());
  EXPECT_LT(segment->bytes.size() + (segment->words.size() * 8), cells.size() / 3);
  EXPECT_EQ(read_back({segment}), (Rows{{3, {cells.begin(), cells.end()}}}));
}

// What was frozen stays, whatever rows and elements the index gets afterwards.
TEST(GrowthLog, AFrozenIndexIsNotDisturbed) {
  SetAccumulator scratch;
  Index index({0, 1, 2}, {});
  std::set<std::vector<Cell>> expected;
  const auto add = [&](Cell from, Cell to) {
    for (Cell i = from; i < to; ++i) {
      const Cell prefix[2] = {i / 3, i % 5};
      index.queue(index.find_or_add_row(prefix), i * 7);
    }
    index.unite_queued(scratch, Freshness::kUnknown);
    index.advance();
  };
  add(0, 400);
  for (Cell i = 0; i < 400; ++i) expected.insert({i / 3, i % 5, i * 7});
  const FrozenKeys keys = index.freeze_prefixes();
  const GrowthSegments total = {pack_total(index)};
  EXPECT_EQ(total[0]->tuples, index.tuples());
  add(100, 9000);
  std::set<std::vector<Cell>> seen;
  ASSERT_TRUE(for_each_row(total, [&](RowId row, const SetView& elements) {
                const auto prefix = keys.key(row);
                walk_set(elements, [&](Cell cell) { seen.insert({prefix[0], prefix[1], cell}); });
                return Status::ok();
              }).is_ok());
  EXPECT_EQ(seen, expected);
}

TEST(GrowthLog, EdgesOfTheRange) {
  std::vector<OwnDeltaRow> rows(2);
  rows[0].row = 0;
  const std::vector<Cell> cells = {0, 1, 0xFFFFFFFEU, 0xFFFFFFFFU};
  rows[0].cells.assign_sorted(cells);
  rows[1].row = 0xFFFFFFFEU;
  rows[1].cells.assign_sorted(std::span(cells).last(1));
  const GrowthSegments one = {pack_segment(DeltaRows(rows))};
  EXPECT_EQ(one[0]->tuples, 5U);
  const Rows expected = {{0, {cells.begin(), cells.end()}}, {0xFFFFFFFEU, {0xFFFFFFFFU}}};
  EXPECT_EQ(read_back(one), expected);
  EXPECT_TRUE(read_back({pack_segment({})}).empty());
  EXPECT_TRUE(read_back({}).empty());
}

TEST(GrowthLog, TheVisitorsErrorEndsTheWalk) {
  std::vector<OwnDeltaRow> rows(3);
  for (RowId r = 0; r < 3; ++r) {
    rows[r].row = r;
    const Cell cell = 7;
    rows[r].cells.assign_sorted(std::span(&cell, 1));
  }
  int visits = 0;
  const GrowthSegments one = {pack_segment(DeltaRows(rows))};
  const Status status = for_each_row(one, [&](RowId, const SetView&) {
    return ++visits == 2 ? Status::io_error("enough") : Status::ok();
  });
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace stratalog
