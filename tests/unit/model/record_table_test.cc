// SPDX-License-Identifier: Apache-2.0
// Records under numbers: the table, agreement over ranks (nested records, the same ones on several
// ranks), and images with every kind of damage.
#include "model/record_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <xxhash.h>
#include <cstring>
#include <string>

#include "comm/comm.h"
#include "model/multiset_hash.h"
#include "model/record_image.h"
#include "model/value_agreement.h"

namespace stratalog {
namespace {

const Shape kPair = {CellClass::kNumber, CellClass::kRecord};
const Shape kNamed = {CellClass::kSymbol, CellClass::kNumber, CellClass::kRecord};

TEST(RecordTable, NumbersAreDenseAndContentDecides) {
  RecordTable table;
  const ShapeId pair = table.shape(kPair);
  const ShapeId empty = table.shape({});
  EXPECT_EQ(table.shape(kPair), pair);
  EXPECT_NE(pair, empty);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    const std::vector<Cell> cells = {i % 1000, i % 1000};
    EXPECT_EQ(table.intern(pair, cells), i % 1000);
  }
  EXPECT_EQ(table.intern(empty, {}), 1000U);
  EXPECT_EQ(table.intern(empty, {}), 1000U);
  EXPECT_EQ(table.size(), 1001U);
  const std::vector<Cell> cells = {17, 17};
  EXPECT_EQ(table.find(pair, cells), 17U);
  const std::vector<Cell> other = {17, 18};
  EXPECT_FALSE(table.find(pair, other));
  EXPECT_EQ(table.cells(17)[1], 17U);
  EXPECT_EQ(table.shape_of(1000), empty);
  EXPECT_TRUE(table.cells(1000).empty());
  table.clear();
  EXPECT_EQ(table.size(), 0U);
  EXPECT_FALSE(table.find(pair, cells));
  EXPECT_EQ(table.shapes().size(), 2U);
}

// A record as text, so that dictionaries can be compared by content.
std::string text_of(const ValueDictionary& dictionary, Cell cell) {
  if (cell == kNilCell) return "nil";
  const RecordTable& records = dictionary.records();
  const Shape& shape = records.fields_of(records.shape_of(cell - 1));
  std::string text = "[";
  for (std::size_t f = 0; f < shape.size(); ++f) {
    const Cell field = records.cells(cell - 1)[f];
    if (shape[f] == CellClass::kSymbol)
      text += std::string(dictionary.text(field));
    else if (shape[f] == CellClass::kNumber)
      text += std::to_string(dictionary.decode(field));
    else
      text += text_of(dictionary, field);
    text += ' ';
  }
  return text + ']';
}

// Every rank makes its share of the lists "v0", "v0 v1", ...; every fourth list all ranks make.
void agree_on_lists(int ranks, std::uint64_t lists, std::vector<std::string>& out) {
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    ValueDictionary shared;
    const ShapeId named = shared.records().shape(kNamed);
    NewValues mine(shared);
    std::vector<std::pair<Cell, std::string>> made;
    for (std::uint64_t l = 0; l < lists; ++l) {
      if (l % 4 != 0 &&
          static_cast<int>(l % static_cast<std::uint64_t>(comm.size())) != comm.rank())
        continue;
      Cell list = kNilCell;
      std::string text = "nil";
      for (std::uint64_t i = 0; i <= l % 7; ++i) {
        const std::string symbol = fmt::format("s{}", splitmix64(l) % 50);
        const std::uint64_t number = (splitmix64(i) % 2) << 40;
        const std::vector<Cell> cells = {mine.symbol(symbol), mine.number(number), list};
        list = mine.record(named, cells);
        text = fmt::format("[{} {} {} ]", symbol, number, text);
      }
      made.emplace_back(list, text);
    }
    STRATALOG_ASSIGN_OR_RETURN(const CellRemapping remapping,
                               agree_on_new_values(comm, shared, mine));
    EXPECT_EQ(mine.records().size(), 0U);
    for (const auto& [cell, text] : made)
      if (text_of(shared, remapping.record(cell)) != text)
        return Status::internal("wrong record for " + text);
    if (comm.rank() == 0) {
      out.clear();
      for (Cell cell = 1; cell <= shared.records().size(); ++cell)
        out.push_back(text_of(shared, cell));
    }
    return Status::ok();
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RecordAgreement, NumbersDoNotDependOnTheNumberOfRanks) {
  for (const std::uint64_t lists : {1U, 9U, 500U}) {
    std::vector<std::string> expected;
    agree_on_lists(1, lists, expected);
    EXPECT_FALSE(expected.empty());
    for (const int ranks : {2, 3, 4, 7}) {
      std::vector<std::string> found;
      agree_on_lists(ranks, lists, found);
      EXPECT_EQ(found, expected) << ranks << " ranks, " << lists << " lists";
    }
  }
}

TEST(RecordAgreement, KnownRecordsAreFoundAndUnknownOnesAreNot) {
  const auto comm = make_self_comm();
  ValueDictionary shared;
  const ShapeId pair = shared.records().shape(kPair);
  NewValues mine(shared);
  const std::vector<Cell> first = {7, kNilCell};
  EXPECT_EQ(mine.known_record(pair, first), kNoRecordCell);
  const Cell inner = mine.record(pair, first);
  EXPECT_TRUE(is_provisional_record(inner));
  EXPECT_EQ((*mine.fields(pair, inner))[0], 7U);
  const std::vector<Cell> second = {8, inner};
  const Cell outer = mine.record(pair, second);
  EXPECT_EQ(mine.record(pair, second), outer);
  const auto remapping = agree_on_new_values(*comm, shared, mine);
  ASSERT_TRUE(remapping.is_ok());
  EXPECT_EQ(mine.known_record(pair, first), remapping.value().record(inner));
  const std::vector<Cell> final_second = {8, remapping.value().record(inner)};
  EXPECT_EQ(mine.record(pair, final_second), remapping.value().record(outer));
  EXPECT_EQ(remapping.value().record(kNoRecordCell), kNoRecordCell);
  EXPECT_FALSE(mine.fields(pair, kNilCell));
  EXPECT_FALSE(mine.fields(pair, 99));
  EXPECT_FALSE(mine.fields(shared.records().shape({}), 1));
}

ValueDictionary sample() {
  ValueDictionary dictionary;
  dictionary.encode_symbol("a");
  dictionary.encode(1ULL << 50);
  const ShapeId named = dictionary.records().shape(kNamed);
  const ShapeId empty = dictionary.records().shape({});
  const std::vector<Cell> first = {0, kWideBase, kNilCell};
  const Cell inner = dictionary.encode_record(named, first);
  const std::vector<Cell> second = {0, 5, inner};
  dictionary.encode_record(named, second);
  dictionary.encode_record(empty, {});
  return dictionary;
}

ValueDictionary without_records() {
  ValueDictionary dictionary;
  dictionary.encode_symbol("a");
  dictionary.encode(1ULL << 50);
  return dictionary;
}

TEST(RecordImage, RoundTrip) {
  const ValueDictionary before = sample();
  const auto image = encode_records(before);
  ValueDictionary after = without_records();
  ASSERT_TRUE(decode_records(image, after).is_ok());
  ASSERT_EQ(after.records().size(), 3U);
  for (Cell cell = 1; cell <= 3; ++cell) EXPECT_EQ(text_of(after, cell), text_of(before, cell));
  EXPECT_EQ(encode_records(after), image);
  ValueDictionary nothing;
  ASSERT_TRUE(decode_records(encode_records(nothing), nothing).is_ok());
}

TEST(RecordImage, WhatWasAddedFollows) {
  ValueDictionary before = sample();
  auto images = encode_records(before);
  const RecordCounts known{.shapes = before.records().shapes().size(),
                           .records = before.records().size()};
  const ShapeId pair = before.records().shape({CellClass::kRecord, CellClass::kRecord});
  const std::vector<Cell> cells = {1, 3};
  before.encode_record(pair, cells);
  const auto more = encode_records(before, known);
  EXPECT_LT(more.size(), images.size());
  images.insert(images.end(), more.begin(), more.end());
  ValueDictionary after = without_records();
  ASSERT_TRUE(decode_records(images, after).is_ok());
  EXPECT_EQ(encode_records(after), encode_records(before));
  for (std::size_t size = 0; size < images.size(); ++size) {
    if (size == images.size() - more.size()) continue;
    ValueDictionary dictionary = without_records();
    EXPECT_EQ(decode_records(std::span(images).first(size), dictionary).code(),
              StatusCode::kCorruption)
        << size;
  }
  ValueDictionary alone = without_records();
  EXPECT_EQ(decode_records(more, alone).code(), StatusCode::kCorruption);
  images.back() ^= std::byte{1};
  ValueDictionary damaged = without_records();
  EXPECT_NE(decode_records(images, damaged).to_string().find("the image at offset"),
            std::string::npos);
}

TEST(RecordImage, EveryFlippedByteAndEveryCutIsNoticed) {
  const auto image = encode_records(sample());
  for (std::size_t at = 0; at < image.size(); ++at) {
    auto damaged = image;
    damaged[at] ^= std::byte{0x11};
    ValueDictionary dictionary = without_records();
    EXPECT_EQ(decode_records(damaged, dictionary).code(), StatusCode::kCorruption) << at;
  }
  for (std::size_t size = 0; size < image.size(); ++size) {
    ValueDictionary dictionary = without_records();
    EXPECT_EQ(decode_records(std::span(image).first(size), dictionary).code(),
              StatusCode::kCorruption)
        << size;
  }
}

// Words of the payload replaced, with a checksum that fits.
Status decode_with(std::size_t word, std::uint32_t value) {
  auto image = encode_records(sample());
  constexpr std::size_t kHeader = 40;
  std::memcpy(image.data() + kHeader + (word * 4), &value, 4);
  const std::uint64_t hash = XXH3_64bits(image.data() + kHeader, image.size() - kHeader);
  std::memcpy(image.data() + 32, &hash, sizeof(hash));
  ValueDictionary dictionary = without_records();
  return decode_records(image, dictionary);
}

TEST(RecordImage, WhatARecordHoldsIsChecked) {
  // Words: shape (3, symbol, number, record), shape (0), then three records.
  EXPECT_TRUE(decode_with(0, 3).is_ok());
  EXPECT_EQ(decode_with(0, 99).message(), "records, offset 40: a shape of 99 fields");
  EXPECT_EQ(decode_with(1, 7).message(), "records, offset 44: 7 is no class of cells");
  EXPECT_EQ(decode_with(5, 2).message(), "records, offset 60: there is no shape 2");
  EXPECT_EQ(decode_with(6, 1).message(), "records, offset 64: 0x1 is not in the dictionary");
  EXPECT_EQ(decode_with(7, kWideBase + 1).message(),
            "records, offset 68: 0x80000001 is not in the dictionary");
  EXPECT_EQ(decode_with(8, 1).message(), "records, offset 72: 0x1 is not in the dictionary");
  EXPECT_EQ(decode_with(12, 2).message(), "records, offset 88: 0x2 is not in the dictionary");
}

}  // namespace
}  // namespace stratalog
