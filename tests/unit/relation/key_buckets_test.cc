// SPDX-License-Identifier: Apache-2.0
// Buckets of keys: each key, and all keys that begin alike, lie where the buckets say, which hold
// few; keys that crowd have none.
#include "relation/key_buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace stratalog {
namespace {

using Key = std::vector<Cell>;

// Distinct ones, ascending.
std::vector<Key> keys_of(std::size_t count, auto&& draw) {
  std::set<Key> keys;
  while (keys.size() < count) keys.insert(draw());
  return {keys.begin(), keys.end()};
}

KeyBuckets buckets_from(const std::vector<Key>& keys, std::uint32_t first) {
  KeyBuckets buckets;
  const auto width = static_cast<std::uint32_t>(keys.empty() ? 1 : keys.front().size());
  buckets.assign(first, static_cast<std::uint32_t>(keys.size()), width,
                 [&](std::uint32_t place) { return keys[place].data(); });
  return buckets;
}

// The first key that begins with `prefix` is in the first bucket or at its end, and so on.
void expect_ends(const KeyBuckets& buckets, const std::vector<Key>& keys, std::uint32_t first,
                 const Key& prefix) {
  const auto length = static_cast<std::uint32_t>(prefix.size());
  const auto cut = [&](const Key& key) { return Key(key.begin(), key.begin() + length); };
  const auto found =
      std::ranges::equal_range(keys.begin() + first, keys.end(), prefix, std::less<>(), cut);
  const auto begin = static_cast<std::uint32_t>(found.begin() - keys.begin());
  const auto end = static_cast<std::uint32_t>(found.end() - keys.begin());
  buckets.prefetch(prefix.data(), length);
  const KeyBuckets::Ends ends = buckets.ends_of(prefix.data(), length);
  if (begin == end) return;
  ASSERT_LE(ends.first.from, begin);
  ASSERT_GE(ends.first.to, begin);
  ASSERT_LE(ends.last.from, end);
  ASSERT_GE(ends.last.to, end);
}

TEST(KeyBuckets, NameTheEndsOfAllKeysThatBeginAlike) {
  std::mt19937_64 random(5);
  for (std::uint32_t width = 1; width <= 5; ++width)
    for (const std::size_t count : {20U, 1000U, 20'000U})
      for (const std::uint64_t spread : {2U, 300U}) {
        const auto range = static_cast<Cell>(
            std::pow(static_cast<double>(count * spread), 1.0 / std::min(width, 3U)) + 2);
        const auto draw = [&] {
          Key key(width);
          for (Cell& cell : key) cell = 77 + (static_cast<Cell>(random()) % range);
          return key;
        };
        for (const std::uint32_t first : {0U, 3U}) {
          const std::vector<Key> keys = keys_of(count, draw);
          const KeyBuckets buckets = buckets_from(keys, first);
          ASSERT_FALSE(buckets.empty()) << width << " " << count << " " << spread;
          EXPECT_LE(buckets.heap_bytes(), 2 * count + 16);
          std::uint64_t seen = 0;
          for (std::uint32_t place = first; place < count; ++place) {
            const auto [from, to] = buckets.bucket_of(keys[place].data());
            ASSERT_LE(from, place);
            ASSERT_LT(place, to);
            seen += to - from;
          }
          EXPECT_LE(seen, 12 * count);
          for (int probe = 0; probe < 300; ++probe) {
            Key prefix = probe % 2 == 0 ? draw() : keys[first + (random() % (count - first))];
            if (probe % 10 == 0) prefix[random() % width] = static_cast<Cell>(random());
            prefix.resize(1 + (random() % width));
            ASSERT_NO_FATAL_FAILURE(expect_ends(buckets, keys, first, prefix));
          }
        }
      }
}

TEST(KeyBuckets, AreEmptyBeyondAllKeys) {
  const KeyBuckets buckets =
      buckets_from(keys_of(100, [next = Cell{5000}]() mutable { return Key{next += 7}; }), 0);
  ASSERT_FALSE(buckets.empty());
  for (const Cell cell : {Cell{0}, Cell{5006}, Cell{5701}, std::numeric_limits<Cell>::max()}) {
    const auto [from, to] = buckets.bucket_of(&cell);
    EXPECT_EQ(from, to) << cell;
    buckets.prefetch(&cell, 1);
  }
}

TEST(KeyBuckets, KeysThatCrowdHaveNone) {
  std::mt19937_64 random(6);
  const Cell most = std::numeric_limits<Cell>::max();
  auto keys = keys_of(5000, [&] { return Key{static_cast<Cell>(random() % 9000)}; });
  keys.push_back({most});
  EXPECT_TRUE(buckets_from(keys, 0).empty()) << "all but one in the first bucket";
  keys = keys_of(5000, [&] { return Key{0, 0, 0, static_cast<Cell>(random())}; });
  EXPECT_TRUE(buckets_from(keys, 0).empty()) << "what tells them apart comes too late";
  keys = keys_of(100, [&] { return Key{static_cast<Cell>(random()), 1, 2}; });
  keys.push_back({most, most, most});
  EXPECT_FALSE(buckets_from(keys, 0).empty()) << "one cell is enough";
  EXPECT_TRUE(buckets_from({{1}, {2}, {3}}, 0).empty()) << "too few";
  EXPECT_TRUE(buckets_from({}, 0).empty());
  const Cell any = 0;
  EXPECT_EQ(buckets_from({}, 0).bucket_of(&any).to, 0U);
}

}  // namespace
}  // namespace stratalog
