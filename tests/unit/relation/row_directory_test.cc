// SPDX-License-Identifier: Apache-2.0
// Rows under a prefix: exactly those that begin with it, whether they were made in order or came
// one by one, few or many.
#include "relation/row_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

using Key = std::vector<Cell>;

constexpr std::uint32_t kWidth = 3;

class NumberedRows {
 public:
  explicit NumberedRows(std::uint32_t length) : directory_(length), length_(length) {}

  void assign(const std::set<Key>& keys) {
    map_.assign_ascending(static_cast<std::uint32_t>(keys.size()), [&](Cell* to) {
      for (const Key& key : keys) to = std::ranges::copy(key, to).out;
    });
    directory_.assign_ascending(map_);
    for (const Key& key : keys) note(key);
  }
  void add(const Key& key) {
    const std::uint32_t before = map_.size();
    if (map_.find_or_add(key.data()) < before) return;
    directory_.add(map_);
    note(key);
  }
  void check() const {
    for (const auto& [prefix, rows] : expected_) {
      const FoundRows found = directory_.find(prefix.data(), map_);
      ASSERT_EQ(found.size(), rows.size());
      std::vector<RowId> in_order;
      for (const RowId row : found) in_order.push_back(row);
      ASSERT_EQ(in_order, rows);
      ASSERT_EQ(found[rows.size() - 1], rows.back());
    }
    for (Cell unknown = 0; unknown < 1000; ++unknown) {
      const Key prefix(length_, 7000000 + unknown);
      ASSERT_TRUE(directory_.find(prefix.data(), map_).empty());
    }
  }
  bool has_buckets() const { return !map_.buckets().empty(); }
  std::uint64_t heap_bytes() const { return directory_.heap_bytes(); }

 private:
  void note(const Key& key) {
    expected_[Key(key.begin(), key.begin() + length_)].push_back(next_++);
  }

  PrefixMap map_{kWidth};
  RowDirectory directory_;
  std::uint32_t length_;
  std::map<Key, std::vector<RowId>> expected_;
  RowId next_ = 0;
};

// Many keys with few rows each, and few with many.
Key random_key(std::mt19937_64& random, Cell firsts) {
  const auto first = static_cast<Cell>(random() % firsts);
  const auto second = static_cast<Cell>(random() % (first % 5 == 0 ? 3 : 100));
  return {first, second, static_cast<Cell>(random() % 3000)};
}

TEST(RowDirectory, FindsRowsThatWereMadeInOrderAndThoseThatCame) {
  std::mt19937_64 random(19);
  for (std::uint32_t length = 1; length < kWidth; ++length)
    for (const Cell firsts : {1U, 2U, 40U, 100000U})
      for (const std::size_t ascending : {0U, 1U, 2U, 300U, 20000U}) {
        NumberedRows rows(length);
        std::set<Key> keys;
        while (keys.size() < std::min<std::size_t>(ascending, firsts * 1000U))
          keys.insert(random_key(random, firsts));
        if (!keys.empty()) rows.assign(keys);
        ASSERT_NO_FATAL_FAILURE(rows.check()) << length << " " << firsts << " " << ascending;
        for (int more = 0; more < 3000; ++more) rows.add(random_key(random, firsts));
        ASSERT_NO_FATAL_FAILURE(rows.check()) << length << " " << firsts << " " << ascending;
      }
}

// Those of a first cell crowd, and the cells behind it are too far apart for buckets.
TEST(RowDirectory, FindsRowsThatCrowd) {
  std::mt19937_64 random(20);
  const auto draw = [&](Cell firsts) -> Key {
    return {static_cast<Cell>(random() % firsts),
            random() % 100 == 0 ? static_cast<Cell>(random()) : 0, static_cast<Cell>(random())};
  };
  for (std::uint32_t length = 1; length < kWidth; ++length)
    for (const Cell firsts : {2U, 40U, 300U}) {
      NumberedRows rows(length);
      std::set<Key> keys;
      while (keys.size() < 10000) keys.insert(draw(firsts));
      rows.assign(keys);
      ASSERT_FALSE(rows.has_buckets());
      ASSERT_NO_FATAL_FAILURE(rows.check()) << length << " " << firsts;
      for (int more = 0; more < 3000; ++more) rows.add(draw(2 * firsts));
      ASSERT_NO_FATAL_FAILURE(rows.check()) << length << " " << firsts;
    }
}

TEST(RowDirectory, KeepsNoRowsThatStandSideBySide) {
  NumberedRows rows(1);
  std::set<Key> keys;
  for (Cell i = 0; i < 100000; ++i) keys.insert({i / 100, i, i});
  rows.assign(keys);
  EXPECT_LT(rows.heap_bytes(), 1000U * 16);
}

}  // namespace
}  // namespace stratalog
