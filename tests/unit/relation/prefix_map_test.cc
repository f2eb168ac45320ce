// SPDX-License-Identifier: Apache-2.0
// PrefixMap against standard containers: numbers in order of arrival or of ascending keys, keys
// that are found by rank, in buckets, directly, by hash or by halving, and the end of its room.
#include "relation/prefix_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "base/memory_end.h"

namespace stratalog {
namespace {

using Tuple = std::vector<Cell>;

TEST(PrefixMap, NumbersInOrderOfArrival) {
  for (std::uint32_t width = 0; width <= 5; ++width) {
    for (std::uint64_t seed = 1; seed <= 11; ++seed) {
      std::mt19937_64 random(seed);
      PrefixMap map(width);
      std::map<Tuple, std::uint32_t> model;
      // Small cells first live hashed or direct, depending on how many there are; both must be
      // found for good.
      // Beyond, too far apart for the direct table and close enough for a bit each.
      const std::uint64_t range = seed > 8        ? 30'000 * (seed - 7)
                                  : seed % 2 == 0 ? 50
                                                  : 1ULL << (8 * (1 + seed % 4));
      for (int step = 0; step < 3000; ++step) {
        Tuple key(width);
        for (Cell& cell : key)
          cell = static_cast<Cell>(random() % 10 == 0 ? random() : random() % range);
        const auto known = model.find(key);
        ASSERT_EQ(map.find(key.data()), known == model.end() ? PrefixMap::kAbsent : known->second);
        map.prefetch(key.data());
        if (random() % 4 == 0) continue;
        const auto id = static_cast<std::uint32_t>(model.size());
        ASSERT_EQ(map.find_or_add(key.data()), model.emplace(key, id).first->second);
        ASSERT_EQ(map.size(), model.size());
      }
      for (const auto& [key, id] : model) {
        ASSERT_EQ(map.find(key.data()), id);
        ASSERT_TRUE(std::equal(key.begin(), key.end(), map.key(id).begin(), map.key(id).end()));
      }
    }
  }
}

// Cells from `first` on, `spread` apart in the mean: found by rank or in buckets, as others are
// found directly, with a bit each, or neither. Without a spread they are anywhere, most of them
// small.
void number_ascending(std::uint32_t width, std::size_t wanted, Cell first, std::uint64_t spread,
                      std::mt19937_64& random) {
  const auto draw = [&] {
    if (spread == 0)
      return static_cast<Cell>(random() & ((std::uint64_t{2} << (random() % 32)) - 1));
    return static_cast<Cell>(first + (random() % (wanted * spread)));
  };
  std::set<Tuple> keys;
  while (keys.size() < (width == 0 ? 1 : wanted)) {
    Tuple key(width);
    for (Cell& cell : key) cell = draw();
    if (width > 0 && random() % 50 == 0) key.back() = static_cast<Cell>(random());
    keys.insert(key);
  }
  std::vector<Cell> flat;
  for (const Tuple& key : keys) flat.insert(flat.end(), key.begin(), key.end());
  PrefixMap map(width);
  map.assign_ascending(static_cast<std::uint32_t>(keys.size()),
                       [&](Cell* to) { std::ranges::copy(flat, to); });
  if (random() % 2 == 0) map.index_keys();
  ASSERT_EQ(map.size(), keys.size());
  std::uint32_t id = 0;
  for (const Tuple& key : keys) {
    ASSERT_EQ(map.find(key.data()), id);
    ASSERT_TRUE(std::ranges::equal(key, map.key(id++)));
  }
  for (const Tuple& key : keys) ASSERT_LT(map.find_or_add(key.data()), id);
  if (width == 0) return;
  for (int probe = 0; probe < 1000; ++probe) {
    Tuple key(width);
    for (Cell& cell : key) cell = probe % 10 == 0 ? static_cast<Cell>(random()) : draw();
    const auto known = keys.contains(key);
    ASSERT_EQ(map.find(key.data()) != PrefixMap::kAbsent, known);
    if (known) continue;
    map.prefetch(key.data());
    ASSERT_EQ(map.find_or_add(key.data()), id++);
    keys.insert(key);
  }
  std::set<std::uint32_t> ids;
  for (const Tuple& key : keys) {
    const std::uint32_t found = map.find(key.data());
    ASSERT_LT(found, id);
    ASSERT_TRUE(std::ranges::equal(key, map.key(found)));
    ids.insert(found);
  }
  ASSERT_EQ(ids.size(), keys.size());
}

TEST(PrefixMap, AscendingKeysAreNumberedAtOnce) {
  std::mt19937_64 random(3);
  for (std::uint32_t width = 0; width <= 4; ++width)
    for (const std::size_t wanted : {1U, 2U, 10U, 11U, 40U, 300U, 1000U, 20'000U})
      for (const std::uint64_t spread : {0U, 3U, 40U, 100'000U})
        for (const Cell first : {0U, 1U << 31})
          ASSERT_NO_FATAL_FAILURE(number_ascending(width, wanted, first, spread, random))
              << width << " " << wanted << " " << spread << " " << first;
}

TEST(PrefixMap, KeysBeyondTheMostAreRefused) {
  for (std::uint32_t width = 1; width <= 3; ++width)
    for (const Cell spread : {1U, 1U << 16})
      for (const std::uint32_t most : {1U, 16U, 17U, 1000U}) {
        PrefixMap map(width, most);
        std::vector<Cell> key(width);
        for (std::uint32_t i = 0; i < most; ++i) {
          key[0] = i * spread;
          ASSERT_EQ(map.find_or_add(key.data()), i);
        }
        key[0] = most * spread;
        const Status refused = or_no_space("", [&]() -> Status {
          map.find_or_add(key.data());
          return {};
        });
        ASSERT_EQ(refused.code(), StatusCode::kNoSpace);
        ASSERT_NE(refused.message().find("2^32 rows"), std::string::npos);
        ASSERT_EQ(map.find(key.data()), PrefixMap::kAbsent);
        ASSERT_EQ(map.size(), most);
        key[0] = (most - 1) * spread;
        ASSERT_EQ(map.find_or_add(key.data()), most - 1);
      }
  PrefixMap map(2, 2);
  EXPECT_THROW(map.assign_ascending(3, [](Cell*) { FAIL() << "there is no room"; }), NoRoom);
  EXPECT_EQ(map.size(), 0U);
}

// Ids of the direct table need bits that the slots of the few hashed keys have given to tags.
TEST(PrefixMap, TagsGiveWayToManyDirectKeys) {
  PrefixMap map(1);
  std::vector<Cell> far;
  std::uint32_t next = 0;
  for (Cell cell = 0; cell < 40'000; ++cell) {
    ASSERT_EQ(map.find_or_add(&cell), next++);
    if (cell % 1000 != 0) continue;
    far.push_back(0xF0000000U + cell);
    ASSERT_EQ(map.find_or_add(&far.back()), next++);
    for (const Cell known : far) ASSERT_EQ(map.key(map.find(&known))[0], known);
  }
  const Cell absent = 0xF0000001U;
  EXPECT_EQ(map.find(&absent), PrefixMap::kAbsent);
}

}  // namespace
}  // namespace stratalog
