// SPDX-License-Identifier: Apache-2.0
// BucketCount: what ranks plan together, telling each other little, is the plan of all rows; want
// of memory on one of them ends it on all.
#include "datalog/evaluate/bucket_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <random>
#include <vector>

#include "datalog/evaluate/placement.h"
#include "failing_memory.h"
#include "model/set_union.h"

namespace stratalog::datalog {
namespace {

using KeyedPair = std::array<Cell, 2>;

// By their first columns: many keys, some with much.
std::vector<KeyedPair> pairs_of(int rank, Cell keys, std::uint64_t heavy_every) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank));
  std::vector<KeyedPair> pairs;
  for (int i = 0; i < 300; ++i) {
    const bool is_heavy = heavy_every != 0 && random() % heavy_every == 0;
    pairs.push_back(
        {is_heavy ? Cell{7} : static_cast<Cell>(random() % keys), static_cast<Cell>(random())});
  }
  return pairs;
}

std::optional<BucketMap> plan_of_all(int ranks, Cell keys, std::uint64_t heavy_every) {
  const BucketMap even = BucketMap::trivial(8 * static_cast<std::uint32_t>(ranks), ranks);
  std::vector<std::uint64_t> rows(even.buckets(), 0);
  for (int rank = 0; rank < ranks; ++rank)
    for (const KeyedPair& pair : pairs_of(rank, keys, heavy_every))
      ++rows[even.bucket_of(hash_cells(std::span(pair).first(1)))];
  const auto map = plan_buckets(rows, ranks, {.min_rows = 0});
  EXPECT_TRUE(map.is_ok()) << map.status().to_string();
  if (!map.is_ok() || map.value().is_trivial()) return std::nullopt;
  return map.value();
}

TEST(BucketCount, RanksPlanWhatTheirRowsTogetherWouldGive) {
  int moved = 0;
  int even = 0;
  for (const int ranks : {1, 2, 3, 7, 64})
    for (const Cell keys : {Cell{5}, Cell{100}, Cell{1000000}})
      for (const std::uint64_t heavy_every : {0U, 3U}) {
        const auto expected = plan_of_all(ranks, keys, heavy_every);
        const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
          BucketCount count(2, {0}, ranks);
          const std::array<std::uint32_t, 2> order{1, 0};  // the key is a group's last column
          const std::array<std::uint32_t, 2> straight{0, 1};
          for (const KeyedPair& pair : pairs_of(comm.rank(), keys, heavy_every)) {
            const bool turned = pair[1] % 2 == 0;
            count.add(turned ? order : straight,
                      {.prefix = std::span(pair).subspan(turned ? 1 : 0, 1),
                       .set = array_view(std::span(pair).subspan(turned ? 0 : 1, 1))});
          }
          STRATALOG_ASSIGN_OR_RETURN(const auto planned, count.plan(comm, {.min_rows = 0}));
          return planned == expected ? Status::ok() : Status::internal("another plan");
        });
        EXPECT_TRUE(status.is_ok()) << ranks << " ranks, " << keys << " keys, every " << heavy_every
                                    << "th heavy: " << status.to_string();
        ++(expected ? moved : even);
      }
  // Neither is the rule.
  EXPECT_GT(moved, 10);
  EXPECT_GT(even, 5);
}

TEST(BucketCount, WantOfMemoryIsEverybodys) {
  constexpr int kRanks = 256;
  constexpr std::size_t kMuch = 12 << 10;  // bytes: less than one rank's buckets, more than calls
  for (const bool is_poor : {false, true}) {
    std::atomic<int> told{0};
    const Status status = sim_run(kRanks, [&](Comm& comm) -> Status {
      BucketCount count(2, {0}, kRanks);
      const std::array<std::uint32_t, 2> straight{0, 1};
      for (int seed = 0; comm.rank() == 3 && seed < 20; ++seed)
        for (const KeyedPair& pair : pairs_of(seed, 1000000, 0))
          count.add(straight, {.prefix = std::span(pair).first(1),
                               .set = array_view(std::span(pair).last(1))});
      Status planned;
      {
        std::optional<FailingMemory> end;
        if (comm.rank() == 3 && is_poor) end.emplace(MemoryEnd{.bytes = kMuch});
        planned = count.plan(comm, {.min_rows = 0}).status();
      }
      if (planned.code() == StatusCode::kNoSpace) ++told;
      return comm.barrier();
    });
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_EQ(told, is_poor ? kRanks : 0);
  }
}

}  // namespace
}  // namespace stratalog::datalog
