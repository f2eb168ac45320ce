// SPDX-License-Identifier: Apache-2.0
// Who writes which chunk, on 1 to 16,384 ranks of random sizes.
#include "place/chunk_owners.h"

#include <gtest/gtest.h>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

std::vector<std::uint64_t> random_numbers(std::size_t ranks, std::uint64_t seed,
                                          std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::uint64_t random = splitmix64(seed + r);
    numbers.push_back(random % 3 == 0 ? 0 : (random >> 8) % (most + 1));
  }
  return numbers;
}

// Every chunk has one owner, the rank with its first number; each number is a head or lies in a
// chunk of its rank's own; heads go to the rank that owns the chunk which they are in.
TEST(ChunkOwners, EveryNumberHasOneWriter) {
  for (const std::size_t ranks : {1, 2, 3, 7, 300, 16384})
    for (const std::uint64_t chunk : {1, 3, 64, 65536})
      for (const std::uint64_t most : {1, 5, 64, 200000}) {
        const auto numbers = random_numbers(ranks, chunk * most, most);
        const auto planned = ChunkOwners::plan(numbers, chunk);
        ASSERT_TRUE(planned.is_ok());
        const ChunkOwners& owners = planned.value();
        std::uint64_t next_chunk = 0;
        std::uint64_t next_number = 0;
        int owner = -1;  // of the last chunk
        for (std::size_t r = 0; r < ranks; ++r) {
          const int rank = static_cast<int>(r);
          const NumberRange mine = owners.numbers_of(rank);
          ASSERT_EQ(mine.begin, next_number);
          ASSERT_EQ(mine.size(), numbers[r]);
          next_number = mine.end;
          const NumberRange chunks = owners.chunks_of(rank);
          const std::uint64_t head = owners.head_of(rank);
          ASSERT_LE(head, mine.size());
          if (head != 0) {
            ASSERT_EQ(owners.head_owner(rank), owner);
          }
          if (chunks.size() != 0) {
            ASSERT_EQ(chunks.begin, next_chunk);
            ASSERT_EQ(mine.begin + head, chunks.begin * chunk);
            next_chunk = chunks.end;
            owner = rank;
          } else {
            ASSERT_EQ(head, mine.size());
          }
          if (mine.size() != 0) {
            ASSERT_EQ(
                owners.chunks_holding(rank),
                (NumberRange{.begin = mine.begin / chunk, .end = (mine.end - 1) / chunk + 1}));
          }
        }
        ASSERT_EQ(next_number, owners.numbers());
        ASSERT_EQ(next_chunk, owners.chunks());
      }
}

TEST(ChunkOwners, RefusesWhatCannotBe) {
  const std::uint64_t many[] = {std::uint64_t{1} << 60, 1};
  EXPECT_EQ(ChunkOwners::plan(many, 4).status().code(), StatusCode::kInvalidArgument);
  const auto none = ChunkOwners::plan({}, 4);
  ASSERT_TRUE(none.is_ok());
  EXPECT_EQ(none.value().chunks(), 0U);
}

}  // namespace
}  // namespace stratalog
