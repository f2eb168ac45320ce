// SPDX-License-Identifier: Apache-2.0
// Streams of sorted rows against a decoder that follows docs/formats/facts.md, for one to eight
// columns, whatever pieces the rows come in.
#include "datalog/facts/key_streams.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace stratalog::datalog {
namespace {

using Row = std::vector<std::uint32_t>;

std::map<std::string, KeyStreams::Stream> streams_of(const std::set<Row>& rows,
                                                     std::uint32_t columns, std::size_t piece) {
  KeyStreams streams(columns);
  Row some;
  for (const Row& row : rows) {
    some.insert(some.end(), row.begin(), row.end());
    if (some.size() >= piece * columns) {
      streams.add(some);
      some.clear();
    }
  }
  streams.add(some);
  streams.finish();
  std::map<std::string, KeyStreams::Stream> named;
  for (std::size_t s = 0; s < streams.size(); ++s) named[streams.name(s)] = streams.stream(s);
  return named;
}

// Prefixes of the first column, then every level's children below them.
std::set<Row> rows_of(std::map<std::string, KeyStreams::Stream> streams, std::uint32_t columns) {
  std::vector<Row> prefixes;
  std::uint32_t key = 0;
  for (const std::uint32_t step : streams["key"]) prefixes.push_back({key += step});
  for (std::uint32_t c = 1; c < columns; ++c) {
    const std::string level = c == 1 ? "" : std::to_string(c);
    std::vector<Row> longer;
    std::size_t gap = 0;
    EXPECT_EQ(streams["count" + level].size(), prefixes.size());
    for (std::size_t p = 0; p < prefixes.size(); ++p) {
      std::uint32_t value = streams["first" + level].at(p);
      for (std::uint32_t i = 0; i < streams["count" + level].at(p); ++i) {
        if (i != 0) value += streams["gap" + level].at(gap++) + 1;
        longer.push_back(prefixes[p]);
        longer.back().push_back(value);
      }
    }
    EXPECT_EQ(gap, streams["gap" + level].size());
    prefixes = std::move(longer);
  }
  std::set<Row> rows(prefixes.begin(), prefixes.end());
  EXPECT_EQ(rows.size(), prefixes.size());
  return rows;
}

TEST(KeyStreams, AnExample) {
  const std::set<Row> rows = {{3, 5}, {3, 6}, {3, 9}, {10, 0}};
  const auto streams = streams_of(rows, 2, 100);
  EXPECT_EQ(streams.at("key"), (Row{3, 7}));
  EXPECT_EQ(streams.at("count"), (Row{3, 1}));
  EXPECT_EQ(streams.at("first"), (Row{5, 0}));
  EXPECT_EQ(streams.at("gap"), (Row{0, 2}));
}

TEST(KeyStreams, RowsComeBack) {
  std::mt19937 random(7);
  for (std::uint32_t columns = 1; columns <= 8; ++columns)
    for (const std::uint32_t most : {1U, 3U, 40U, 0xFFFFFFFFU}) {
      std::set<Row> rows;
      for (int i = 0; i < 500; ++i) {
        Row row(columns);
        for (std::uint32_t& number : row) number = most == 0xFFFFFFFFU ? random() : random() % most;
        rows.insert(row);
      }
      rows.insert(Row(columns, 0xFFFFFFFFU));
      for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}})
        EXPECT_EQ(rows_of(streams_of(rows, columns, piece), columns), rows)
            << columns << " columns, numbers below " << most;
    }
  EXPECT_TRUE(rows_of(streams_of({}, 2, 1), 2).empty());
}

}  // namespace
}  // namespace stratalog::datalog
