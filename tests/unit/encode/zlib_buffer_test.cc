// SPDX-License-Identifier: Apache-2.0
// Streams of ours are zlib's and the other way round, whichever library made them.
#include "encode/zlib_buffer.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace stratalog {
namespace {

using Buffer = std::vector<std::byte>;

// What checkpoints hold: small numbers, runs, and now and then noise.
Buffer some_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  Buffer bytes(size);
  for (std::size_t at = 0; at < size;) {
    const bool is_noise = random() % 4 == 0;
    const auto same = static_cast<std::byte>(random() % 5);
    for (std::size_t left = 1 + (random() % 300); left > 0 && at < size; --left, ++at)
      bytes[at] = is_noise ? static_cast<std::byte>(random()) : same;
  }
  return bytes;
}

Buffer deflated(std::span<const std::byte> bytes, int level) {
  ZlibDeflater deflater(level);
  Buffer to(bytes.size() + 100);
  to.resize(deflater.deflate(bytes, to));
  return to;
}

TEST(ZlibBuffer, ZlibReadsWhatIsDeflatedHere) {
  for (const int level : {1, 3, 6, 9})
    for (const std::size_t size : {1U, 2U, 100U, 65'536U, 262'144U}) {
      const Buffer bytes = some_bytes(size, static_cast<std::uint32_t>(size) + 1);
      const Buffer stream = deflated(bytes, level);
      ASSERT_FALSE(stream.empty());
      Buffer back(size);
      uLongf length = size;
      ASSERT_EQ(::uncompress(reinterpret_cast<Bytef*>(back.data()), &length,
                             reinterpret_cast<const Bytef*>(stream.data()), stream.size()),
                Z_OK);
      EXPECT_EQ(length, size);
      EXPECT_EQ(back, bytes);
    }
}

// Shuffled small numbers end in runs, which are deflated apart.
TEST(ZlibBuffer, ZlibReadsRunsAtTheEnd) {
  for (const int level : {1, 4}) {
    ZlibDeflater deflater(level);
    for (const std::size_t before : {0U, 1U, 5'000U, 65'536U})
      for (const std::size_t run : {100U, 16'383U, 16'384U, 16'385U, 196'608U, 400'000U})
        for (const std::byte value : {std::byte{0}, std::byte{255}}) {
          Buffer bytes = some_bytes(before, 11);
          bytes.resize(before + run, value);
          Buffer stream(bytes.size() + 100);
          stream.resize(deflater.deflate(bytes, stream));
          ASSERT_FALSE(stream.empty());
          Buffer back(bytes.size());
          uLongf length = back.size();
          ASSERT_EQ(::uncompress(reinterpret_cast<Bytef*>(back.data()), &length,
                                 reinterpret_cast<const Bytef*>(stream.data()), stream.size()),
                    Z_OK)
              << before << " " << run;
          EXPECT_EQ(length, bytes.size());
          EXPECT_EQ(back, bytes);
          EXPECT_EQ(deflater.deflate(bytes, std::span(back).first(stream.size() - 1)), 0U);
          ZlibInflater inflater;
          EXPECT_TRUE(inflater.inflate(stream, back).is_ok());
          EXPECT_EQ(back, bytes);
        }
  }
}

// More runs than are kept.
TEST(ZlibBuffer, RunsOfAllValues) {
  ZlibDeflater deflater(1);
  ZlibInflater inflater;
  for (int round = 0; round < 2; ++round)
    for (int value = 0; value < 256; ++value) {
      const Buffer bytes(20'000, static_cast<std::byte>(value));
      Buffer stream(200);
      stream.resize(deflater.deflate(bytes, stream));
      ASSERT_FALSE(stream.empty()) << value;
      Buffer back(bytes.size());
      ASSERT_TRUE(inflater.inflate(stream, back).is_ok()) << value;
      EXPECT_EQ(back, bytes);
    }
}

TEST(ZlibBuffer, InflatesWhatZlibDeflated) {
  ZlibInflater inflater;
  for (const int level : {0, 1, 6, 9}) {
    const Buffer bytes = some_bytes(100'000, 7);
    uLongf length = ::compressBound(bytes.size());
    Buffer stream(length);
    ASSERT_EQ(::compress2(reinterpret_cast<Bytef*>(stream.data()), &length,
                          reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), level),
              Z_OK);
    stream.resize(length);
    Buffer back(bytes.size());
    EXPECT_TRUE(inflater.inflate(stream, back).is_ok());
    EXPECT_EQ(back, bytes);
  }
}

TEST(ZlibBuffer, WhatDoesNotFitIsNotWritten) {
  const Buffer bytes = some_bytes(10'000, 3);
  const std::size_t needed = deflated(bytes, 1).size();
  ZlibDeflater deflater(1);
  Buffer to(needed - 1);
  EXPECT_EQ(deflater.deflate(bytes, to), 0U);
  // It goes on.
  to.resize(bytes.size());
  EXPECT_EQ(deflater.deflate(bytes, to), needed);
}

TEST(ZlibBuffer, OnlyWholeStreamsOfExactlySoManyBytes) {
  const Buffer bytes = some_bytes(10'000, 5);
  const Buffer stream = deflated(bytes, 1);
  ZlibInflater inflater;
  Buffer exact(bytes.size());
  Buffer larger(bytes.size() + 1);
  Buffer smaller(bytes.size() - 1);
  EXPECT_FALSE(inflater.inflate(stream, larger).is_ok());
  EXPECT_FALSE(inflater.inflate(stream, smaller).is_ok());
  Buffer longer = stream;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(inflater.inflate(longer, exact).is_ok());
  EXPECT_FALSE(inflater.inflate(std::span(stream).first(stream.size() - 1), exact).is_ok());
  EXPECT_FALSE(inflater.inflate({}, exact).is_ok());
  EXPECT_TRUE(inflater.inflate(stream, exact).is_ok());
  EXPECT_EQ(exact, bytes);
}

TEST(ZlibBuffer, EveryDamagedByteIsSeen) {
  const Buffer bytes = some_bytes(2'000, 9);
  const Buffer stream = deflated(bytes, 6);
  ZlibInflater inflater;
  Buffer back(bytes.size());
  for (std::size_t at = 0; at < stream.size(); ++at) {
    Buffer damaged = stream;
    damaged[at] ^= std::byte{0x10};
    // A bit that no reader looks at may be another one, the bytes may not.
    EXPECT_TRUE(!inflater.inflate(damaged, back).is_ok() || back == bytes) << "byte " << at;
  }
}

}  // namespace
}  // namespace stratalog
