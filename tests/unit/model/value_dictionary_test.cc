// SPDX-License-Identifier: Apache-2.0
// Images of a dictionary: round trips in pieces, and every kind of damage.
#include "model/value_dictionary.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include <xxhash.h>

namespace stratalog {
namespace {

ValueDictionary make_dictionary(int symbols, int wides) {
  ValueDictionary dictionary;
  for (int i = 0; i < symbols; ++i) dictionary.encode_symbol("symbol " + std::to_string(i));
  for (int i = 0; i < wides; ++i) dictionary.encode((1ULL << 40) + static_cast<unsigned>(i));
  return dictionary;
}

void expect_equal(const ValueDictionary& a, const ValueDictionary& b) {
  ASSERT_EQ(a.size(), b.size());
  for (Cell id = 0; id < a.symbols().size(); ++id) EXPECT_EQ(a.text(id), b.text(id));
  for (std::uint32_t id = 0; id < a.wides().size(); ++id)
    EXPECT_EQ(a.wides().bits(id), b.wides().bits(id));
}

// Repairs the checksum, so that the checks behind it are reached.
void reseal(std::vector<std::byte>& image) {
  const std::uint64_t hash = XXH3_64bits(image.data() + 56, image.size() - 56);
  std::memcpy(image.data() + 48, &hash, 8);
}

TEST(DictionaryImage, RoundTripsWholeAndInPieces) {
  ValueDictionary dictionary = make_dictionary(100, 20);
  dictionary.encode_symbol("");
  dictionary.encode_symbol(std::string("\0\n", 2));
  ValueDictionary copy;
  ASSERT_TRUE(
      decode_dictionary(encode_dictionary(dictionary, {}, dictionary.size()), copy).is_ok());
  expect_equal(dictionary, copy);

  ValueDictionary pieces;
  const DictionarySize middle{.symbols = 37, .wides = 5};
  ASSERT_TRUE(decode_dictionary(encode_dictionary(dictionary, {}, middle), pieces).is_ok());
  ASSERT_TRUE(
      decode_dictionary(encode_dictionary(dictionary, middle, dictionary.size()), pieces).is_ok());
  expect_equal(dictionary, pieces);
}

// The worked example of docs/formats/facts.md.
TEST(DictionaryImage, HasTheDocumentedBytes) {
  ValueDictionary dictionary;
  dictionary.encode_symbol("a");
  dictionary.encode_symbol("bc");
  dictionary.encode(1ULL << 40);
  std::string hex;
  for (const std::byte byte : encode_dictionary(dictionary, {}, dictionary.size()))
    hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  EXPECT_EQ(hex,
            "534c444943543031"
            "0000000000000000"
            "0200000000000000"
            "0300000000000000"
            "0000000000000000"
            "0100000000000000"
            "111a6d8290adfbd6"
            "01000000"
            "02000000"
            "61"
            "6263"
            "0000000000010000");
}

TEST(DictionaryImage, EmptyRoundTrips) {
  const ValueDictionary dictionary;
  ValueDictionary copy;
  EXPECT_TRUE(decode_dictionary(encode_dictionary(dictionary, {}, {}), copy).is_ok());
  EXPECT_EQ(copy.size(), DictionarySize{});
}

TEST(DictionaryImage, RefusesPiecesOutOfOrder) {
  const ValueDictionary dictionary = make_dictionary(10, 2);
  ValueDictionary copy;
  const Status status = decode_dictionary(
      encode_dictionary(dictionary, {.symbols = 5, .wides = 0}, dictionary.size()), copy);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_EQ(status.message(),
            "value dictionary, offset 8: expected values from symbol 0 and wide number 0 on, found "
            "5 and 0; images must be read in the order they were written");
}

TEST(DictionaryImage, EveryFlippedBitIsNoticed) {
  const ValueDictionary dictionary = make_dictionary(5, 3);
  const std::vector<std::byte> image = encode_dictionary(dictionary, {}, dictionary.size());
  for (std::size_t bit = 0; bit < image.size() * 8; ++bit) {
    std::vector<std::byte> damaged = image;
    damaged[bit / 8] ^= std::byte{1} << (bit % 8);
    ValueDictionary copy;
    EXPECT_EQ(decode_dictionary(damaged, copy).code(), StatusCode::kCorruption) << "bit " << bit;
  }
}

TEST(DictionaryImage, EveryTruncationIsNoticed) {
  const ValueDictionary dictionary = make_dictionary(5, 3);
  const std::vector<std::byte> image = encode_dictionary(dictionary, {}, dictionary.size());
  for (std::size_t size = 0; size < image.size(); ++size) {
    ValueDictionary copy;
    EXPECT_EQ(decode_dictionary(std::span(image).first(size), copy).code(), StatusCode::kCorruption)
        << "size " << size;
  }
}

TEST(DictionaryImage, RefusesRepeatedAndMisplacedValuesUnderAGoodChecksum) {
  ValueDictionary dictionary;
  dictionary.encode_symbol("aa");
  dictionary.encode_symbol("ab");
  dictionary.encode(1ULL << 40);
  dictionary.encode(1ULL << 41);
  const std::vector<std::byte> image = encode_dictionary(dictionary, {}, dictionary.size());

  std::vector<std::byte> repeated = image;
  repeated[56 + 8 + 3] = std::byte{'a'};
  reseal(repeated);
  ValueDictionary a;
  EXPECT_EQ(decode_dictionary(repeated, a).message(),
            "value dictionary, offset 66: symbol 1 occurs twice");

  std::vector<std::byte> narrow = image;
  std::memset(narrow.data() + 56 + 12, 0, 8);
  reseal(narrow);
  ValueDictionary b;
  EXPECT_EQ(decode_dictionary(narrow, b).message(),
            "value dictionary, offset 68: 0x0 is no wide number");

  std::vector<std::byte> long_symbol = image;
  long_symbol[56] = std::byte{200};
  reseal(long_symbol);
  ValueDictionary c;
  EXPECT_EQ(decode_dictionary(long_symbol, c).message(),
            "value dictionary, offset 56: symbol 0 has 200 bytes, 4 are left");
}

TEST(NewValues, KnownValuesGetFinalCellsAndOthersProvisionalOnes) {
  ValueDictionary shared;
  const Cell known = shared.encode_symbol("known");
  const Cell wide = shared.encode(1ULL << 50);
  NewValues mine(shared);
  EXPECT_EQ(mine.symbol("known"), known);
  EXPECT_EQ(mine.number(1ULL << 50), wide);
  EXPECT_EQ(mine.number(5), 5U);
  EXPECT_EQ(mine.symbols().size() + mine.wides().size(), 0U);
  const Cell fresh = mine.symbol("fresh");
  EXPECT_TRUE(is_provisional_symbol(fresh));
  EXPECT_EQ(mine.symbol("fresh"), fresh);
  EXPECT_EQ(mine.text(fresh), "fresh");
  EXPECT_EQ(mine.text(known), "known");
  const Cell fresh_wide = mine.number(1ULL << 51);
  EXPECT_TRUE(is_provisional_wide(fresh_wide));
  EXPECT_EQ(mine.bits(fresh_wide), 1ULL << 51);
  EXPECT_EQ(mine.bits(wide), 1ULL << 50);
  EXPECT_EQ(mine.bits(5), 5U);
}

}  // namespace
}  // namespace stratalog
