// SPDX-License-Identifier: Apache-2.0
// Units of every width, streams of every shape, and the bounds on their size: zeros cost a byte for
// 256, random numbers hardly more than themselves.
#include "encode/packed_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

using Numbers = std::vector<std::uint32_t>;

std::vector<std::byte> pack(const Numbers& numbers, UnitForm form) {
  StreamPacker packer(form);
  for (const std::uint32_t n : numbers) packer.put(n);
  EXPECT_EQ(packer.values(), numbers.size());
  packer.finish();
  std::vector<std::byte> bytes(packer.finished_bytes());
  EXPECT_EQ(packer.copy_to(bytes.data()), bytes.data() + bytes.size());
  EXPECT_EQ(bytes.size() % 4, 0U);
  return bytes;
}

Numbers unpack(const std::vector<std::byte>& bytes, std::uint64_t count) {
  StreamUnpacker unpacker;
  Numbers numbers;
  EXPECT_TRUE(unpacker.open(bytes, count));
  while (unpacker.remaining() != 0) {
    // Single numbers and stretches in turns.
    numbers.push_back(unpacker.next());
    if (unpacker.remaining() == 0) break;
    const auto taken = unpacker.take(100);
    EXPECT_FALSE(taken.empty());
    numbers.insert(numbers.end(), taken.begin(), taken.end());
  }
  return numbers;
}

TEST(BitPacking, EveryWidthComesBack) {
  for (unsigned width = 0; width <= kMaxPackedWidth; ++width) {
    std::array<std::uint32_t, kPackedValues> numbers{};
    const std::uint64_t limit = std::uint64_t{1} << width;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<std::uint32_t>(splitmix64(i + width * 1000) % limit);
    numbers[0] = static_cast<std::uint32_t>(limit - 1);
    // One word more, which must stay as it is.
    Numbers words(packed_words(width) + 1, 0xABCDEF01U);
    pack_bits(numbers, width, words.data());
    EXPECT_EQ(words.back(), 0xABCDEF01U);
    std::array<std::uint32_t, kPackedValues> found{};
    // From an odd address.
    std::vector<std::byte> bytes((words.size() * 4) + 1);
    std::memcpy(bytes.data() + 1, words.data(), words.size() * 4);
    unpack_bits(bytes.data() + 1, width, found);
    EXPECT_EQ(found, numbers) << width;
    // The layout of the format: number i in lane i % 8.
    for (std::size_t i = 0; width != 0 && i < numbers.size(); ++i) {
      std::uint64_t value = 0;
      for (unsigned b = 0; b < width; ++b) {
        const std::size_t bit = ((i / 8) * width) + b;
        const std::uint32_t word = words[((bit / 32) * 8) + (i % 8)];
        value |= std::uint64_t{word >> (bit % 32) & 1} << b;
      }
      ASSERT_EQ(value, numbers[i]) << "width " << width << ", number " << i;
    }
  }
}

TEST(PackedStream, StreamsOfEveryShapeComeBack) {
  const std::function<std::uint32_t(std::uint64_t)> shapes[] = {
      [](std::uint64_t) { return 0U; },
      [](std::uint64_t) { return 0xFFFFFFFFU; },
      [](std::uint64_t i) { return static_cast<std::uint32_t>(splitmix64(i)); },
      [](std::uint64_t i) { return static_cast<std::uint32_t>(1000000 + (i * 7)); },
      [](std::uint64_t i) { return static_cast<std::uint32_t>(0xFFFFFFF0U + i); },
      [](std::uint64_t i) { return splitmix64(i) % 50 == 0 ? 200U : 0U; },
      [](std::uint64_t i) { return splitmix64(i) % 50 == 0 ? 60000U : 1U; },
      [](std::uint64_t i) { return splitmix64(i) % 9 == 0 ? 0xFFFFFFFFU : 3U; },
      [](std::uint64_t i) { return static_cast<std::uint32_t>(splitmix64(i) >> (i % 64)); },
  };
  for (const std::size_t count : {0, 1, 2, 3, 255, 256, 257, 511, 512, 5000})
    for (std::size_t shape = 0; shape < std::size(shapes); ++shape)
      for (const UnitForm form : {UnitForm::kPlain, UnitForm::kPlainOrDifferences}) {
        SCOPED_TRACE(::testing::Message() << "shape " << shape << ", " << count << " numbers");
        Numbers numbers;
        for (std::size_t i = 0; i < count; ++i) numbers.push_back(shapes[shape](i));
        const auto bytes = pack(numbers, form);
        EXPECT_EQ(unpack(bytes, count), numbers);
        // Never more than a unit's padding, a byte for each unit, and 7 to round up.
        EXPECT_LE(bytes.size(), ((count + 255) / 256 * (1024 + 1)) + 7);
      }
}

TEST(PackedStream, ZerosAndGapsInBulkAreWhatTheyAreOneByOne) {
  const std::vector<std::uint16_t> offsets = {5, 6, 7, 300, 301, 900, 65535};
  std::vector<Cell> cells;
  for (std::uint32_t i = 0; i < 1000; ++i)
    cells.push_back((i * 3) + static_cast<Cell>(splitmix64(i) % 3));
  StreamPacker bulk(UnitForm::kPlain);
  Numbers expected;
  const auto zeros = [&](std::uint64_t count) {
    bulk.put_zeros(count);
    expected.resize(expected.size() + count);
  };
  zeros(0);
  zeros(3);
  bulk.put(77);
  expected.push_back(77);
  zeros(252);
  zeros(1000);
  bulk.put_gaps<std::uint16_t>(offsets, 4);
  for (std::size_t i = 0; i < offsets.size(); ++i)
    expected.push_back(offsets[i] - (i == 0 ? 4U : offsets[i - 1]) - 1U);
  zeros(17);
  bulk.put_gaps<Cell>(cells, 0xFFFFFFFFU);
  for (std::size_t i = 0; i < cells.size(); ++i)
    expected.push_back(cells[i] - (i == 0 ? 0xFFFFFFFFU : cells[i - 1]) - 1U);
  bulk.finish();
  std::vector<std::byte> bytes(bulk.finished_bytes());
  bulk.copy_to(bytes.data());
  EXPECT_EQ(unpack(bytes, expected.size()), expected);
  bulk.clear();
  EXPECT_EQ(bulk.values(), 0U);
  bulk.put(1);
  bulk.finish();
  bytes.resize(bulk.finished_bytes());
  bulk.copy_to(bytes.data());
  EXPECT_EQ(unpack(bytes, 1), Numbers{1});
}

TEST(PackedStream, SizesAreAsPromised) {
  const auto size_of = [](std::uint64_t count, UnitForm form, auto&& number) {
    Numbers numbers;
    for (std::uint64_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<std::uint32_t>(number(i)));
    return pack(numbers, form).size();
  };
  const auto plain = UnitForm::kPlain;
  EXPECT_EQ(size_of(25600, plain, [](std::uint64_t) { return 0; }), 100U);
  // Three bits each and a head.
  EXPECT_EQ(size_of(25600, plain, [](std::uint64_t i) { return splitmix64(i) % 8; }), 100U * 97);
  // A few large ones do not widen the others.
  EXPECT_LT(size_of(25600, plain,
                    [](std::uint64_t i) { return i % 100 == 3 ? 1U << 30 : splitmix64(i) % 8; }),
            100U * (97 + 1 + (3 * 5)) + 7);
  // Slow growth costs nothing as differences.
  const auto slope = [](std::uint64_t i) { return 5000000 + i; };
  EXPECT_LT(size_of(25600, UnitForm::kPlainOrDifferences, slope) * 10,
            size_of(25600, plain, slope));
}

TEST(StreamUnpacker, RefusesWhatCannotBe) {
  Numbers numbers;
  for (std::uint32_t i = 0; i < 700; ++i)
    numbers.push_back(i % 40 == 0 ? i * 1000 : static_cast<std::uint32_t>(splitmix64(i) % 16));
  const auto good = pack(numbers, UnitForm::kPlain);
  StreamUnpacker unpacker;
  EXPECT_TRUE(unpacker.open(good, 700));
  EXPECT_FALSE(unpacker.open(good, 700 + 256));
  EXPECT_FALSE(unpacker.open(good, 256));
  EXPECT_FALSE(unpacker.open(good, 0xFFFFFFFFFFFFFFFFULL));
  EXPECT_FALSE(unpacker.open(std::span(good).first(good.size() - 4), 700));
  EXPECT_FALSE(unpacker.open({}, 1));
  EXPECT_TRUE(unpacker.open({}, 0));
  for (std::size_t at = 0; at < good.size(); ++at)
    for (unsigned bit = 0; bit < 8; ++bit) {
      auto bad = good;
      bad[at] ^= static_cast<std::byte>(1U << bit);
      if (unpacker.open(bad, 700))
        while (unpacker.remaining() != 0) static_cast<void>(unpacker.next());
    }
}

}  // namespace
}  // namespace stratalog
