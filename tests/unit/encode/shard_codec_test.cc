// SPDX-License-Identifier: Apache-2.0
// Groups of every shape go through every encoding and come back; the compact encoding agrees with
// the reference; its decoder survives anything.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "encode/block_decoder.h"
#include "encode/byte_order.h"
#include "encode/shard_encoder.h"
#include "model/set_walk.h"
#include "unit/model/group_list.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

using Tuples = std::set<std::vector<Cell>>;  // group order

// A set of random shape in one of the three representations, with its storage.
struct RandomSet {
  std::vector<Cell> values;
  std::vector<std::uint16_t> offsets;
  std::vector<std::uint64_t> words;
  SetView view;
};

std::vector<Cell> random_elements(Random& random, Cell base, std::uint64_t span) {
  std::set<Cell> elements;
  const std::uint64_t shape = random.below(4);
  const std::uint64_t count = 1 + random.below(shape == 0 ? 2 : 600);
  std::uint64_t at = base;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (shape == 1) {
      at += 1 + (random.below(20) == 0 ? random.below(300) : 0);  // runs
    } else if (shape == 2) {
      at += 1 + random.below(3);  // dense
    } else {
      at = base + random.below(span);
    }
    if (at >= base + span) break;
    elements.insert(static_cast<Cell>(at));
  }
  elements.insert(base + static_cast<Cell>(random.below(span)));
  return {elements.begin(), elements.end()};
}

void make_random_set(Random& random, RandomSet& set) {
  const std::uint64_t kind = random.below(4);
  if (kind == 0) {
    const std::uint64_t spans[] = {10, 512, 65536, 1U << 24};
    const std::uint64_t span = spans[random.below(4)];
    const auto top = 0xFFFFFFFFULL - span;
    const Cell base =
        random.below(8) == 0 ? static_cast<Cell>(top) : static_cast<Cell>(random.below(top));
    set.values = random_elements(random, base, span);
    set.view = array_view(set.values);
    return;
  }
  set.view.base =
      static_cast<Cell>(random.below(4) == 0 ? random.below(1U << 31) : 512 * random.below(9));
  if (kind == 1) {
    for (const Cell e : random_elements(random, 0, 65536))
      set.offsets.push_back(static_cast<std::uint16_t>(e));
    set.view.kind = SetKind::kOffsets;
    set.view.offsets = set.offsets;
    set.view.count = set.offsets.size();
    return;
  }
  if (kind == 3) {
    for (std::uint32_t at = static_cast<std::uint32_t>(random.below(300)); at < 65000;) {
      const std::uint64_t length = random.below(3) == 0 ? 0 : random.below(200);
      set.offsets.push_back(static_cast<std::uint16_t>(at));
      set.offsets.push_back(static_cast<std::uint16_t>(length));
      set.view.count += length + 1;
      at += static_cast<std::uint32_t>(length) + 2;
      at += static_cast<std::uint32_t>(random.below(random.below(4) == 0 ? 20000 : 30));
      if (random.below(12) == 0) break;
    }
    set.view.kind = SetKind::kRuns;
    set.view.offsets = set.offsets;
    return;
  }
  const std::uint64_t sizes[] = {1, 8, 8, 8, 40, 1500};
  set.words.assign(sizes[random.below(6)], 0);
  for (const Cell e : random_elements(random, 0, set.words.size() * 64))
    set.words[e / 64] |= std::uint64_t{1} << (e % 64);
  if (random.below(set.words.size() > 40 ? 60 : 10) == 0)
    set.words.assign(set.words.size(), ~std::uint64_t{0});
  set.view.kind = SetKind::kBitmap;
  set.view.words = set.words;
  set.view.count = count_bits(set.words);
}

void add_tuples(Tuples& tuples, std::span<const Cell> prefix, const SetView& set) {
  walk_set(set, [&](Cell cell) {
    std::vector<Cell> tuple(prefix.begin(), prefix.end());
    tuple.push_back(cell);
    tuples.insert(tuple);
  });
}

// Decodes a whole shard held in memory.
Status decode_shard(const std::vector<std::byte>& bytes, const ShardHeader& header,
                    std::span<const std::uint32_t> order, std::uint64_t blocks,
                    const GroupVisitor& visit) {
  const auto footer_bytes = std::span(bytes).last(footer_bytes_for(blocks));
  STRATALOG_ASSIGN_OR_RETURN(const ShardFooter footer,
                             parse_shard_footer(footer_bytes, bytes.size(), header.file_id));
  BlockDecoder decoder(order);
  std::size_t at = kShardHeaderBytes;
  for (std::uint32_t b = 0; b < footer.blocks.size(); ++b) {
    const auto block = std::span(bytes).subspan(at, footer.blocks[b].bytes);
    STRATALOG_ASSIGN_OR_RETURN(
        const BlockHeader found,
        open_block(block, footer.blocks[b], header.file_id, b, header.nonce, CheckBlocks::kYes));
    STRATALOG_RETURN_IF_ERROR(
        decoder.decode(found, block.subspan(kBlockHeaderBytes, found.payload_bytes), visit));
    at += block.size();
  }
  return Status::ok();
}

TEST(ShardCodec, RandomGroupsComeBack) {
  for (const ShardEncoding encoding : {ShardEncoding::kCompact, ShardEncoding::kRowsU64,
                                       ShardEncoding::kStreams, ShardEncoding::kAuto})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      SCOPED_TRACE(::testing::Message() << encoding_name(encoding) << ", seed " << seed);
      Random random(seed);
      const std::uint32_t arity =
          1 + static_cast<std::uint32_t>(random.below(seed % 10 == 0 ? 9 : 4));
      std::vector<std::uint32_t> order(arity);
      for (std::uint32_t i = 0; i < arity; ++i) order[i] = (i + 1) % arity;
      ShardHeader header;
      header.encoding = encoding;
      header.file_id = seed;
      header.nonce = {.low = seed * 7, .high = seed * 11};
      header.arity = arity;
      std::vector<std::byte> bytes;
      ShardEncoder encoder(header, order, 256 + random.below(20000),
                           [&](std::span<const std::byte> piece) {
                             bytes.insert(bytes.end(), piece.begin(), piece.end());
                             return Status::ok();
                           });
      Tuples expected;
      std::vector<Cell> prefix(arity - 1, 0);
      std::uint64_t rows = 0;
      for (std::uint64_t g = 0; g < (arity == 1 ? 1 : 25); ++g) {
        RandomSet set;
        make_random_set(random, set);
        if (arity > 1) {
          // Ascending prefixes, mostly small steps of the last column.
          if (random.below(6) == 0) {
            for (Cell& cell : prefix) cell = static_cast<Cell>(random.below(0xFFFFFFFFULL));
          } else {
            prefix.back() += 1 + static_cast<Cell>(random.below(2) * random.below(1000));
          }
        }
        ASSERT_TRUE(encoder.add({.prefix = prefix, .set = set.view}).is_ok());
        rows += set.view.count;
        add_tuples(expected, prefix, set.view);
      }
      const auto summary = encoder.finish();
      ASSERT_TRUE(summary.is_ok());
      EXPECT_EQ(summary.value().rows, rows);
      EXPECT_EQ(summary.value().bytes, bytes.size());
      Tuples found;
      const Status decoded =
          decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& group) {
            std::uint64_t walked = 0;
            walk_set(group.set, [&](Cell) { ++walked; });
            EXPECT_EQ(walked, group.set.count);
            add_tuples(found, group.prefix, group.set);
            return Status::ok();
          });
      ASSERT_TRUE(decoded.is_ok()) << decoded.to_string();
      ASSERT_EQ(found, expected);
    }
}

TEST(ShardCodec, TypicalRowsAreSmall) {
  // 512-bit rows with a shared base: one byte of overhead each.
  const std::vector<std::uint32_t> order = {0, 1};
  ShardHeader header;
  std::uint64_t bytes = 0;
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    bytes += piece.size();
    return Status::ok();
  });
  Random random(3);
  std::vector<std::uint64_t> words(8);
  constexpr std::uint64_t kGroups = 10000;
  for (Cell p = 1; p <= kGroups; ++p) {
    for (std::uint64_t& word : words) word = splitmix64(random.below(~std::uint64_t{0}));
    SetView set;
    set.kind = SetKind::kBitmap;
    set.base = 5120;
    set.words = words;
    set.count = count_bits(words);
    ASSERT_TRUE(encoder.add({.prefix = std::span(&p, 1), .set = set}).is_ok());
  }
  ASSERT_TRUE(encoder.finish().is_ok());
  EXPECT_LT(bytes, kGroups * 66 + 2000);
}

TEST(ShardCodec, HugeSetsAreSplit) {
  std::vector<Cell> values(3000000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<Cell>(i * 5);
  const std::vector<std::uint32_t> order = {0, 1};
  ShardHeader header;
  std::vector<std::byte> bytes;
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    EXPECT_LE(piece.size(), block_bytes_for(kMaxPayloadBytes));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status::ok();
  });
  const Cell prefix = 7;
  ASSERT_TRUE(encoder.add({.prefix = std::span(&prefix, 1), .set = array_view(values)}).is_ok());
  const auto summary = encoder.finish();
  EXPECT_GT(summary.value().blocks, 1U);
  std::vector<Cell> found;
  ASSERT_TRUE(decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& g) {
                EXPECT_EQ(g.prefix[0], 7U);
                walk_set(g.set, [&](Cell c) { found.push_back(c); });
                return Status::ok();
              }).is_ok());
  EXPECT_EQ(found, values);
}

// Whatever the payload holds: an error or groups within the limits, no crash. (Run under sanitizers
// in CI.)
TEST(CompactDecoder, SurvivesRandomAndMutatedPayloads) {
  Random random(77);
  CompactEncoder encoder(2);
  std::vector<std::byte> good(1 << 16);
  std::byte* end = good.data();
  encoder.begin_block();
  std::uint64_t groups = 0;
  std::uint64_t rows = 0;
  std::uint64_t copies = 0;
  std::vector<Cell> prefix = {1, 2};
  std::vector<std::uint64_t> spelled;  // sizes of the sets that a copy can name
  while (end - good.data() < 3000) {
    if (!spelled.empty() && random.below(3) != 0) {
      // As older versions wrote it: the set of an earlier fragment, with the prefix as it is.
      const std::uint64_t back = random.below(spelled.size());
      *end++ = static_cast<std::byte>(FragmentKind::kCopy);
      end = put_varint(end, back);
      rows += spelled[spelled.size() - 1 - back];
      ++groups;
      ++copies;
      continue;
    }
    prefix[1] += 3;
    RandomSet set;
    make_random_set(random, set);
    if (set.view.count > 500) continue;
    ASSERT_TRUE(for_each_fragment(set.view, kCompactLimits, [&](const SetView& fragment) {
                  end = encoder.encode(prefix, fragment, end);
                  ++groups;
                  rows += fragment.count;
                  if (fragment.count > 1) spelled.push_back(fragment.count);
                  return Status::ok();
                }).is_ok());
  }
  EXPECT_GT(copies, 20U);
  good.resize(static_cast<std::size_t>(end - good.data()));
  CompactDecoder decoder(2);
  const GroupVisitor check = expect_ascending_sets(kMaxDecodedElements);
  ASSERT_TRUE(decoder.decode(good, groups, rows, check).is_ok());
  std::size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bad = good;
    if (i % 4 == 0) {
      for (std::byte& b : bad) b = static_cast<std::byte>(random.below(256));
    } else {
      for (std::uint64_t k = 0; k < 1 + random.below(4); ++k)
        bad[random.below(bad.size())] = static_cast<std::byte>(random.below(256));
    }
    bad.resize(random.below(3) == 0 ? random.below(bad.size()) : bad.size());
    bad.shrink_to_fit();
    refused += decoder.decode(bad, groups, rows, check).is_ok() ? 0U : 1U;
  }
  EXPECT_GT(refused, 15000U);
}

// Sets that come again are written once in a block; contents that are too far away, or in another
// block, are spelled out again.
TEST(ShardCodec, SetsThatComeAgainArePooled) {
  Random random(8);
  std::vector<std::unique_ptr<RandomSet>> sets;
  sets.reserve(1200);
  for (int i = 0; i < 1200; ++i) {
    sets.push_back(std::make_unique<RandomSet>());
    make_random_set(random, *sets.back());
  }
  const std::vector<std::uint32_t> order = {0, 1};
  for (const ShardEncoding encoding : {ShardEncoding::kCompact, ShardEncoding::kAuto,
                                       ShardEncoding::kStreams, ShardEncoding::kRowsU64}) {
    SCOPED_TRACE(encoding_name(encoding));
    const ShardHeader header{.encoding = encoding,
                             .file_id = 7,
                             .nonce = {.low = 1, .high = 2},
                             .store = {},
                             .arity = 2,
                             .name = "r.total"};
    std::vector<std::byte> bytes;
    ShardEncoder encoder(header, order, 1 << 16, [&](std::span<const std::byte> piece) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Status::ok();
    });
    std::vector<std::pair<Cell, std::size_t>> given;
    std::vector<Cell> prefixes(6000);
    std::uint64_t rows = 0;
    for (std::size_t at = 0; at < prefixes.size();) {
      GroupList groups;
      for (std::size_t n = std::min<std::size_t>(prefixes.size() - at, 1 + random.below(60));
           n != 0; --n, ++at) {
        prefixes[at] = static_cast<Cell>(at * 2);
        const std::size_t near = at / 6;
        const std::size_t s =
            random.below(30) == 0 ? random.below(sets.size()) : near + random.below(40);
        given.emplace_back(prefixes[at], s);
        groups.add(std::span(&prefixes[at], 1), sets[s]->view, s % 11 == 0 ? 0 : s + 1);
        rows += sets[s]->view.count;
      }
      ASSERT_TRUE(encoder.add(groups.batch()).is_ok());
    }
    const auto summary = encoder.finish();
    ASSERT_TRUE(summary.is_ok());
    EXPECT_EQ(summary.value().rows, rows);
    if (encoding == ShardEncoding::kCompact) {
      EXPECT_EQ(summary.value().pools, summary.value().blocks);
    } else if (encoding != ShardEncoding::kAuto) {
      EXPECT_EQ(summary.value().pools, 0U);
    }
    EXPECT_EQ(summary.value().pools + summary.value().streams_blocks,
              encoding == ShardEncoding::kRowsU64 ? 0 : summary.value().blocks);
    std::map<Cell, std::vector<Cell>> found;
    ASSERT_TRUE(
        decode_shard(bytes, header, order, summary.value().blocks, [&](const TupleGroup& group) {
          walk_set(group.set, [&](Cell cell) { found[group.prefix[0]].push_back(cell); });
          return Status::ok();
        }).is_ok());
    ASSERT_EQ(found.size(), given.size());
    for (const auto& [prefix, s] : given) {
      ASSERT_EQ(found[prefix], cells_in(sets[s]->view)) << prefix;
    }
  }
}

TEST(CompactDecoder, CopiesNameSetsOfTheSameBlock) {
  const GroupVisitor pass = [](const TupleGroup&) { return Status::ok(); };
  const auto decode = [&](const std::vector<int>& bytes, std::uint64_t groups, std::uint64_t rows) {
    std::vector<std::byte> payload;
    payload.reserve(bytes.size());
    for (const int b : bytes) payload.push_back(static_cast<std::byte>(b));
    return CompactDecoder(1).decode(payload, groups, rows, pass).code();
  };
  // {5, 7} for prefix 1; a single element, which copies do not count; the set again.
  EXPECT_EQ(decode({0x11, 10, 2, 1, 0x18, 0x16, 0}, 3, 5), StatusCode::kOk);
  EXPECT_EQ(decode({0x11, 10, 2, 1, 0x18, 0x16, 1}, 3, 5), StatusCode::kCorruption) << "too far";
  EXPECT_EQ(decode({0x11, 10, 2, 1, 0x18, 0x16}, 3, 5), StatusCode::kCorruption) << "cut off";
  EXPECT_EQ(decode({0x11, 10, 2, 1, 0x18, 0x1E, 0}, 3, 5), StatusCode::kCorruption) << "a base";
  EXPECT_EQ(decode({0x11, 10, 2, 1, 0x18, 0x56, 0}, 3, 5), StatusCode::kCorruption) << "a size";
  EXPECT_EQ(decode({0x16, 0}, 1, 2), StatusCode::kCorruption) << "nothing before";
}

// The same for streams, at several arities; and the good payload gives the good tuples.
TEST(StreamsDecoder, SurvivesRandomAndMutatedPayloads) {
  for (const std::uint32_t arity : {1U, 2U, 3U, 9U}) {
    Random random(arity);
    StreamsEncoder encoder(arity);
    std::vector<Cell> prefix(arity - 1, 1);
    Tuples expected;
    while (encoder.tuples() < 4000 && (arity > 1 || encoder.tuples() == 0)) {
      RandomSet set;
      make_random_set(random, set);
      if (set.view.count > 2000) continue;
      if (arity > 1) prefix[random.below(arity - 1)] += 1 + static_cast<Cell>(random.below(100));
      encoder.add(prefix, set.view);
      add_tuples(expected, prefix, set.view);
    }
    const std::uint64_t rows = encoder.tuples();
    const std::uint64_t groups = encoder.groups();
    std::vector<std::byte> good(encoder.bytes() + streams_slack_bytes(arity));
    good.resize(static_cast<std::size_t>(encoder.finish(good.data()) - good.data()));
    StreamsDecoder decoder(arity);
    Tuples found;
    ASSERT_TRUE(decoder
                    .decode(good, groups, rows,
                            [&](const TupleGroup& group) {
                              add_tuples(found, group.prefix, group.set);
                              return Status::ok();
                            })
                    .is_ok());
    EXPECT_EQ(found, expected);
    const GroupVisitor check = [](const TupleGroup& group) {
      EXPECT_LE(group.set.count, kStreamsLimits.elements);
      for (std::size_t i = 1; i < group.set.values.size(); ++i)
        EXPECT_LT(group.set.values[i - 1], group.set.values[i]);
      return Status::ok();
    };
    std::size_t refused = 0;
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::byte> bad = good;
      if (i % 4 == 0) {
        for (std::byte& b : bad) b = static_cast<std::byte>(random.below(256));
      } else {
        // The directory and the heads more often than the rest.
        const std::size_t front =
            random.below(2) == 0 ? std::min<std::size_t>(200, bad.size()) : bad.size();
        for (std::uint64_t k = 0; k < 1 + random.below(4); ++k)
          bad[random.below(front)] = static_cast<std::byte>(random.below(256));
      }
      bad.resize(random.below(3) == 0 ? random.below(bad.size()) : bad.size());
      bad.shrink_to_fit();
      refused += decoder.decode(bad, groups, rows, check).is_ok() ? 0U : 1U;
    }
    EXPECT_GT(refused, 1000U);
    EXPECT_FALSE(decoder.decode(good, groups, rows + 1, check).is_ok());
    EXPECT_FALSE(decoder.decode(good, groups + 1, rows, check).is_ok());
  }
}

// Tuples without any order do not grow by more than a fraction over 4 bytes a cell.
TEST(ShardCodec, RandomTuplesDoNotGrow) {
  for (const std::uint32_t arity : {1U, 2U, 8U, 12U}) {
    std::vector<std::uint32_t> order(arity);
    for (std::uint32_t i = 0; i < arity; ++i) order[i] = i;
    for (const ShardEncoding encoding : {ShardEncoding::kStreams, ShardEncoding::kAuto}) {
      ShardHeader header;
      header.encoding = encoding;
      std::uint64_t bytes = 0;
      ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
        bytes += piece.size();
        return Status::ok();
      });
      Random random(arity);
      constexpr std::uint64_t kTuples = 60000;
      std::vector<Cell> tuple(arity);
      std::vector<Cell> column;
      for (std::uint64_t t = 0; t < kTuples; ++t) {
        for (Cell& cell : tuple) cell = static_cast<Cell>(random.below(std::uint64_t{1} << 32));
        if (arity == 1) {
          column.push_back(tuple[0]);
          continue;
        }
        const std::span<const Cell> cells = tuple;
        ASSERT_TRUE(
            encoder.add({.prefix = cells.first(arity - 1), .set = array_view(cells.last(1))})
                .is_ok());
      }
      if (arity == 1) {
        std::sort(column.begin(), column.end());
        column.erase(std::unique(column.begin(), column.end()), column.end());
        ASSERT_TRUE(encoder.add({.prefix = {}, .set = array_view(column)}).is_ok());
      }
      ASSERT_TRUE(encoder.finish().is_ok());
      EXPECT_LT(static_cast<double>(bytes), kTuples * arity * 4 * 1.02) << arity;
    }
  }
}

// Each block takes the smaller encoding; what was chosen shows.
TEST(ShardCodec, AutoTakesTheSmallerEncoding) {
  const std::vector<std::uint32_t> order = {0, 1};
  const auto encode = [&](ShardEncoding encoding, auto&& add) {
    ShardHeader header;
    header.encoding = encoding;
    ShardEncoder encoder(header, order, 1 << 14,
                         [](std::span<const std::byte>) { return Status::ok(); });
    add(encoder);
    return encoder.finish().value();
  };
  const auto sparse = [](ShardEncoder& encoder) {
    Random random(9);
    for (Cell key = 0; key < 20000; ++key) {
      const Cell value = static_cast<Cell>(random.below(1 << 18));
      EXPECT_TRUE(
          encoder.add({.prefix = std::span(&key, 1), .set = array_view(std::span(&value, 1))})
              .is_ok());
    }
  };
  const auto noise = [](ShardEncoder& encoder) {
    Random random(10);
    for (Cell key = 0; key < 3000; ++key) {
      std::vector<std::uint64_t> words(8);
      for (std::uint64_t& word : words) word = splitmix64(random.below(~std::uint64_t{0}));
      SetView set;
      set.kind = SetKind::kBitmap;
      set.words = words;
      set.count = count_bits(words);
      EXPECT_TRUE(encoder.add({.prefix = std::span(&key, 1), .set = set}).is_ok());
    }
  };
  const ShardSummary thin = encode(ShardEncoding::kAuto, sparse);
  EXPECT_EQ(thin.streams_blocks, thin.blocks);
  EXPECT_LE(thin.bytes, encode(ShardEncoding::kStreams, sparse).bytes + 4096);
  EXPECT_LT(thin.bytes, encode(ShardEncoding::kCompact, sparse).bytes);
  const ShardSummary thick = encode(ShardEncoding::kAuto, noise);
  EXPECT_EQ(thick.streams_blocks, 0U);
  EXPECT_LE(thick.bytes, encode(ShardEncoding::kCompact, noise).bytes + 4096);
  EXPECT_LT(thick.bytes, encode(ShardEncoding::kStreams, noise).bytes);
  // The zones: every block's lowest and highest key and value.
  EXPECT_EQ(thin.zones.size(), thin.blocks * 4);
  EXPECT_EQ(thin.zones[0], 0U);
  EXPECT_EQ(thin.zones[thin.zones.size() - 3], 19999U);
  for (std::size_t b = 1; b < thin.blocks; ++b)
    EXPECT_EQ(thin.zones[b * 4], thin.zones[((b - 1) * 4) + 1] + 1);
}

TEST(CompactDecoder, VisitorsErrorsComeBackUnchanged) {
  CompactEncoder encoder(0);
  std::byte payload[kMaxCompactFragmentBytes];
  encoder.begin_block();
  const Cell element = 9;
  const std::byte* end = encoder.encode({}, array_view(std::span(&element, 1)), payload);
  CompactDecoder decoder(0);
  const Status status =
      decoder.decode(std::span<const std::byte>(payload, static_cast<std::size_t>(end - payload)),
                     1, 1, [](const TupleGroup&) { return Status::cancelled("enough"); });
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  EXPECT_EQ(status.message(), "enough");
}

TEST(ByteReader, RefusesWhatIsTooLongOrTooLarge) {
  std::byte bytes[16];
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                    std::uint64_t{1} << 35, ~std::uint64_t{0}}) {
    const std::byte* end = put_varint(bytes, value);
    const std::span written(bytes, static_cast<std::size_t>(end - bytes));
    EXPECT_EQ(ByteReader(written).varint(~std::uint64_t{0}), value);
    ByteReader shorter(written.first(written.size() - 1));
    shorter.varint(~std::uint64_t{0});
    EXPECT_FALSE(shorter.is_ok());
    if (value != 0) {
      ByteReader limited(written);
      limited.varint(value - 1);
      EXPECT_FALSE(limited.is_ok());
    }
  }
  std::fill(std::begin(bytes), std::end(bytes), std::byte{0xFF});
  ByteReader endless(bytes);
  endless.varint(~std::uint64_t{0});
  EXPECT_FALSE(endless.is_ok());
  for (const std::int64_t v :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{-4294967295}})
    EXPECT_EQ(unzigzag(zigzag(v)), v);
}

TEST(Checksum, SeedsTellPlacesApart) {
  const Nonce nonce{.low = 1, .high = 2};
  std::set<std::uint64_t> seeds;
  for (std::uint64_t file = 0; file < 50; ++file)
    for (std::uint64_t block = 0; block < 50; ++block) seeds.insert(block_seed(nonce, file, block));
  EXPECT_EQ(seeds.size(), 2500U);
  EXPECT_EQ(to_hex(Hash128{.low = 1, .high = 0xAB}), "00000000000000ab0000000000000001");
  EXPECT_EQ(parse_hash128("00000000000000ab0000000000000001"), (Hash128{.low = 1, .high = 0xAB}));
  EXPECT_FALSE(parse_hash128("00000000000000AB0000000000000001"));
  EXPECT_FALSE(parse_hash128("ab"));
}

}  // namespace
}  // namespace stratalog
