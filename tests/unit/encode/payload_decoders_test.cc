// SPDX-License-Identifier: Apache-2.0
// The decoders of block payloads: good ones give the good tuples, whatever else comes is refused or
// stays within the limits.
#include <gtest/gtest.h>

#include <algorithm>

#include "encode/byte_order.h"
#include "encode/compact_codec.h"
#include "encode/streams_codec.h"
#include "unit/encode/random_sets.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

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

}  // namespace
}  // namespace stratalog
