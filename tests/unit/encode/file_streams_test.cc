// SPDX-License-Identifier: Apache-2.0
// Streams of files: what FileStreams makes of random groups is counted as it is written, is read
// back block by block, and is one sum over all blocks and ranks; chunks come back as they were.
#include "encode/file_streams.h"

#include <gtest/gtest.h>

#include <numeric>

#include "encode/shuffled_chunk.h"
#include "encode/trie_decoder.h"
#include "unit/encode/random_sets.h"

namespace stratalog {
namespace {

std::vector<std::uint32_t> order_of(std::size_t arity) {
  std::vector<std::uint32_t> order(arity);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Random groups, their keys mostly ascending.
struct Groups {
  std::vector<std::vector<Cell>> prefixes;
  std::vector<RandomSet> sets;
  Tuples tuples;
};

Groups random_groups(std::size_t arity, Random& random) {
  Groups groups;
  std::vector<Cell> prefix(arity - 1, 1);
  for (int i = 0; i < 60; ++i) {
    RandomSet set;
    make_random_set(random, set);
    if (arity > 1)
      prefix[random.below(arity - 1)] +=
          random.below(10) == 0 ? 0xF0000000U : static_cast<Cell>(random.below(100));
    groups.prefixes.push_back(prefix);
    groups.sets.push_back(std::move(set));
    // Of moved vectors: the view still shows what they hold.
    add_tuples(groups.tuples, groups.prefixes.back(), groups.sets.back().view);
  }
  return groups;
}

template <typename Stream>
void add_all(const Groups& groups, FileStreams<Stream>& streams) {
  for (std::size_t i = 0; i < groups.sets.size(); ++i)
    ASSERT_TRUE(streams.add({.prefix = groups.prefixes[i], .set = groups.sets[i].view}).is_ok());
  streams.finish();
}

TEST(FileStreams, AreCountedAndReadBackBlockByBlock) {
  for (const std::size_t arity : {1U, 2U, 3U, 8U})
    for (const std::uint64_t block_tuples : {1U, 100U, 5000U, 1U << 17}) {
      Random random((arity * 7) + block_tuples);
      const Groups groups = random_groups(arity, random);
      const auto order = order_of(arity);
      FileStreams<NumberStream> written(order, 77, block_tuples);
      FileStreams<NumberCounter> counted(order, 77, block_tuples);
      add_all(groups, written);
      add_all(groups, counted);
      ASSERT_EQ(written.size(), file_stream_count(arity));
      for (std::size_t s = 0; s < written.size(); ++s)
        ASSERT_EQ(written.stream(s).values(), counted.stream(s).values());
      EXPECT_EQ(written.last_key(), counted.last_key());
      EXPECT_EQ(written.begins(), counted.begins());
      EXPECT_EQ(written.rows(), counted.rows());

      // All keys are one sum.
      Cell key = 77;
      for (const std::uint32_t step : written.stream(0).numbers()) key += step;
      EXPECT_EQ(key, written.last_key());
      if (arity == 1) continue;

      Tuples found;
      std::uint64_t rows = 0;
      std::vector<std::uint64_t> begins = written.begins();
      for (std::size_t s = 0; s < written.size(); ++s) begins.push_back(written.stream(s).values());
      for (std::size_t b = 0; b < written.keys().size(); ++b) {
        TrieDecoder<NumberSource> decoder(arity);
        std::vector<std::uint32_t> keys;
        std::size_t s = 0;
        std::uint64_t block_groups = 0;
        std::uint64_t block_rows = 0;
        decoder.for_each_source([&](NumberSource& source) {
          const std::uint64_t begin = begins[(b * written.size()) + s];
          const std::uint64_t end = begins[((b + 1) * written.size()) + s];
          auto numbers = written.stream(s).numbers().subspan(begin, end - begin);
          if (s == 0) {
            keys.assign(numbers.begin(), numbers.end());
            keys[0] = written.keys()[b];
            numbers = keys;
          }
          if (s + 2 == written.size()) block_groups = numbers.size();
          if (s + 2 >= written.size()) block_rows += numbers.size();
          source.set(numbers);
          ++s;
          return true;
        });
        ASSERT_TRUE(decoder.fits(block_groups, block_rows));
        EXPECT_LT(block_rows, block_tuples + kFileStreamsBlock / 2);
        rows += block_rows;
        const Status status =
            decoder.decode(0, block_groups, block_rows, [&](const TupleGroup& group) {
              add_tuples(found, group.prefix, group.set);
              return Status::ok();
            });
        ASSERT_TRUE(status.is_ok()) << status.to_string();
      }
      EXPECT_EQ(rows, written.rows());
      EXPECT_EQ(found, groups.tuples);
    }
}

TEST(FileStreams, KeysGoOnFromRankToRank) {
  const std::vector<std::uint32_t> order = {0, 1};
  const std::vector<Cell> elements = {5, 9};
  const Cell first[] = {10};
  const Cell second[] = {4};
  FileStreams<NumberStream> streams(order, 12, 100);
  ASSERT_TRUE(streams.add({.prefix = first, .set = array_view(elements)}).is_ok());
  ASSERT_TRUE(streams.add({.prefix = second, .set = array_view(elements)}).is_ok());
  streams.finish();
  const auto keys = streams.stream(0).numbers();
  EXPECT_EQ(std::vector(keys.begin(), keys.end()), (std::vector<std::uint32_t>{~1U, ~5U}));
  EXPECT_EQ(streams.keys(), std::vector<Cell>{10});
  EXPECT_EQ(streams.last_key(), 4U);
}

TEST(ShuffledChunk, ComesBackAsItWas) {
  Random random(3);
  for (const int level : {0, 1, 9})
    for (const std::size_t size : {1U, 2U, 300U, 65536U})
      for (const std::uint64_t most :
           {std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{1} << 32}) {
        std::vector<std::uint32_t> chunk(size);
        for (std::uint32_t& number : chunk) number = static_cast<std::uint32_t>(random.below(most));
        ChunkDeflater deflater(level);
        std::vector<std::byte> stored(3, std::byte{7});
        const std::size_t bytes = deflater.append(chunk, stored);
        ASSERT_EQ(stored.size(), bytes + 3);
        ASSERT_LE(bytes, size * 4);
        if (level == 0 || (most > 3 && size > 1)) {
          EXPECT_EQ(bytes, size * 4);
        } else if (size > 300) {
          EXPECT_LT(bytes, size);
        }
        std::vector<std::uint32_t> back(size);
        ChunkInflater inflater;
        ASSERT_TRUE(inflater.inflate(std::span(stored).subspan(3), back).is_ok());
        EXPECT_EQ(back, chunk);
        if (bytes == size * 4) continue;
        // Not what another size, or other bytes, would be.
        std::vector<std::uint32_t> longer(size + 1);
        EXPECT_FALSE(inflater.inflate(std::span(stored).subspan(3), longer).is_ok());
        EXPECT_FALSE(inflater.inflate(std::span(stored).subspan(3, bytes - 1), back).is_ok());
        stored[3] ^= std::byte{0xFF};
        EXPECT_FALSE(inflater.inflate(std::span(stored).subspan(3), back).is_ok());
      }
}

}  // namespace
}  // namespace stratalog
