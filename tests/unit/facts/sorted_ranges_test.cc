// SPDX-License-Identifier: Apache-2.0
// The distributed sort: every row once, in order over passes and ranks, for even, skewed and empty
// ranks.
#include "datalog/facts/sorted_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>

namespace stratalog::datalog {
namespace {

constexpr unsigned kRangesSeed = 5;

std::vector<std::vector<Cell>> random_rows(std::size_t count, std::size_t width, Cell values) {
  std::mt19937 random(kRangesSeed);
  std::vector<std::vector<Cell>> rows(count, std::vector<Cell>(width));
  for (auto& row : rows)
    for (auto& cell : row) cell = random() % values;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

// Where row i lies: dealt evenly, all on the last rank, or on even ranks.
enum class Deal { kEven, kLast, kEveryOther };

int owner(Deal deal, std::size_t i, int ranks) {
  if (deal == Deal::kLast) return ranks - 1;
  if (deal == Deal::kEveryOther)
    return static_cast<int>(i % static_cast<std::size_t>((ranks + 1) / 2)) * 2;
  return static_cast<int>(i % static_cast<std::size_t>(ranks));
}

void expect_sorted(const std::vector<std::vector<Cell>>& rows, std::size_t width, int ranks,
                   Deal deal, std::uint64_t rows_per_pass) {
  const ValueDictionary dictionary;
  std::map<std::pair<int, int>, CodeRows> ranges;  // (pass, rank)
  std::mutex mutex;
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    TupleColumns mine;
    mine.columns.resize(width);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (owner(deal, i, ranks) != comm.rank()) continue;
      for (std::size_t c = 0; c < width; ++c) mine.columns[c].push_back(rows[i][c]);
      ++mine.rows;
    }
    ValueOrder order(dictionary);
    const std::vector<ColumnOrder> orders(width, order.for_kind(ValueKind::kUnsigned));
    int pass = 0;
    return for_each_sorted_range(
        comm, source_of_columns(mine, orders), {.rows_per_pass = rows_per_pass},
        [&](std::span<const OrderCode> range) {
          const std::lock_guard lock(mutex);
          ranges[{pass++, comm.rank()}] = CodeRows(range.begin(), range.end());
          return Status::ok();
        });
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  auto expected = rows;
  std::sort(expected.begin(), expected.end());
  CodeRows all;
  std::uint64_t largest = 0;
  for (const auto& [where, range] : ranges) {
    all.insert(all.end(), range.begin(), range.end());
    largest = std::max<std::uint64_t>(largest, range.size() / width);
  }
  CodeRows flat;
  for (const auto& row : expected) flat.insert(flat.end(), row.begin(), row.end());
  EXPECT_EQ(all, flat) << ranks << " ranks, width " << width << ", seed " << kRangesSeed;
  if (rows.size() > 2000) {
    EXPECT_LT(largest,
              4 * std::max(rows_per_pass * 4, rows.size() / static_cast<std::uint64_t>(ranks)));
  }
}

TEST(SortedRanges, EveryRowOnceInOrder) {
  for (const std::size_t width : {1U, 2U, 3U, 5U})
    for (const int ranks : {1, 2, 3, 4, 7})
      for (const Deal deal : {Deal::kEven, Deal::kLast, Deal::kEveryOther})
        for (const std::uint64_t rows_per_pass : {50U, 1000000U})
          expect_sorted(random_rows(3000, width, width == 1 ? 1000000 : 60), width, ranks, deal,
                        rows_per_pass);
}

TEST(SortedRanges, NoRowsAndOneRow) {
  for (const int ranks : {1, 4}) {
    expect_sorted({}, 2, ranks, Deal::kEven, 10);
    expect_sorted({{3, 4}}, 2, ranks, Deal::kLast, 10);
  }
}

TEST(SortedRanges, OneFirstValueDoesNotMakeOneRange) {
  std::vector<std::vector<Cell>> rows;
  rows.reserve(5000);
  for (Cell i = 0; i < 5000; ++i) rows.push_back({7, (i * 2654435761U) % 1000003});
  expect_sorted(rows, 2, 4, Deal::kLast, 100);
}

TEST(SortedRanges, AFailingRankFailsAll) {
  const Status status = sim_run(3, [&](Comm& comm) -> Status {
    TupleSource source;
    source.rows = 10;
    source.width = 1;
    source.sample = [&](std::uint64_t, CodeRows& out) {
      out.push_back(1);
      return Status::ok();
    };
    source.collect = [&](const RowRange&, CodeRows&) {
      return comm.rank() == 1 ? Status::io_error("broken source") : Status::ok();
    };
    const Status sorted =
        for_each_sorted_range(comm, source, {}, [](auto) { return Status::ok(); });
    EXPECT_EQ(sorted.to_string(), "IoError: rank 1: broken source");
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok());
}

}  // namespace
}  // namespace stratalog::datalog
