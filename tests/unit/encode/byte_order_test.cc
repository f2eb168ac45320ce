// SPDX-License-Identifier: Apache-2.0
// Varints and checksums, of which all formats are made.
#include "encode/byte_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "encode/checksum.h"

namespace stratalog {
namespace {

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
