// SPDX-License-Identifier: Apache-2.0
// Order codes: sorting them sorts the values, and they lead back to their cells.
#include "datalog/facts/value_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace stratalog::datalog {
namespace {

constexpr unsigned kOrderSeed = 99;

std::vector<std::uint64_t> interesting_bits() {
  std::mt19937_64 random(kOrderSeed);
  std::vector<std::uint64_t> bits = {0,
                                     1,
                                     42,
                                     ~0ULL,
                                     ~0ULL - 5,
                                     kNegativeBase - 1,
                                     kNegativeBase,
                                     kWideBase,
                                     1ULL << 63,
                                     (1ULL << 63) - 1,
                                     ~0ULL - (1U << 24) + 1,
                                     ~0ULL - (1U << 24)};
  for (const double d : {0.0, -0.0, 1.0, -1.0, 0.1, -1e300, std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity(), std::nan(""), -std::nan("")})
    bits.push_back(std::bit_cast<std::uint64_t>(d));
  for (int i = 0; i < 2000; ++i) bits.push_back(random() >> (random() % 64));
  for (int i = 0; i < 500; ++i) bits.push_back(0 - (random() >> (random() % 64)));
  return bits;
}

template <typename Less>
void expect_ordered(ValueKind kind, const Less& less) {
  ValueDictionary dictionary;
  std::vector<std::uint64_t> bits = interesting_bits();
  std::vector<Cell> cells;
  cells.reserve(bits.size());
  for (const auto b : bits) cells.push_back(dictionary.encode(b));
  ValueOrder order(dictionary);
  const ColumnOrder& column = order.for_kind(kind);
  std::sort(bits.begin(), bits.end(), less);
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  for (std::size_t i = 0; i < bits.size(); ++i) {
    const Cell cell = dictionary.encode(bits[i]);
    EXPECT_EQ(column.cell(column.code(cell)), cell) << "seed " << kOrderSeed << " bits " << bits[i];
    if (i > 0) {
      EXPECT_LT(column.code(dictionary.encode(bits[i - 1])), column.code(cell))
          << "seed " << kOrderSeed << " bits " << bits[i - 1] << " and " << bits[i];
    }
  }
}

TEST(ValueOrder, Numbers) {
  expect_ordered(ValueKind::kNumber, [](auto a, auto b) {
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  });
}

TEST(ValueOrder, Unsigned) {
  expect_ordered(ValueKind::kUnsigned, [](auto a, auto b) { return a < b; });
}

TEST(ValueOrder, Floats) {
  expect_ordered(ValueKind::kFloat, [](auto a, auto b) {
    return std::strong_order(std::bit_cast<double>(a), std::bit_cast<double>(b)) < 0;
  });
}

TEST(ValueOrder, SymbolsByTheirBytes) {
  std::mt19937 random(kOrderSeed);
  ValueDictionary dictionary;
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) {
    std::string text(random() % 14, 'a');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : 'a');
    texts.push_back(text);
    dictionary.encode_symbol(text);
  }
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  ValueOrder order(dictionary);
  const ColumnOrder& column = order.for_kind(ValueKind::kSymbol);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Cell cell = dictionary.symbols().find(texts[i]).value();
    ASSERT_EQ(column.code(cell), i) << "seed " << kOrderSeed;
    ASSERT_EQ(column.cell(static_cast<OrderCode>(i)), cell) << "seed " << kOrderSeed;
  }
}

// Of a few tuples, which have ranks of their own, and of many, for which all values are sorted.
TEST(ValueOrder, CodesOfTuplesCompareAsTheirValuesDo) {
  std::mt19937 random(kOrderSeed);
  ValueDictionary dictionary;
  const std::vector<std::uint64_t> bits = interesting_bits();
  for (const auto b : bits) dictionary.encode(b);
  for (int i = 0; i < 2000; ++i) dictionary.encode_symbol(std::to_string(random()));
  Relation relation;
  relation.attributes.resize(3);
  relation.attributes[0].kind = ValueKind::kSymbol;
  relation.attributes[1].kind = ValueKind::kNumber;
  relation.attributes[2].kind = ValueKind::kFloat;
  ValueOrder order(dictionary);
  for (const std::size_t rows : {1, 50, 5000}) {
    std::vector<Cell> tuples;
    for (std::size_t row = 0; row < rows; ++row) {
      tuples.push_back(static_cast<Cell>(random() % 2000));
      for (int c = 0; c < 2; ++c) tuples.push_back(dictionary.encode(bits[random() % bits.size()]));
    }
    const std::vector<OrderCode> codes = order.codes_of(relation, tuples);
    ASSERT_EQ(codes.size(), tuples.size());
    const std::vector<ColumnOrder> all = order.for_relation(relation);
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      const std::size_t other = i % 3 + 3 * (random() % rows);
      EXPECT_EQ(codes[i] < codes[other],
                all[i % 3].code(tuples[i]) < all[i % 3].code(tuples[other]))
          << "seed " << kOrderSeed << " " << rows << " rows, cells " << tuples[i] << " and "
          << tuples[other];
    }
  }
}

TEST(ValueOrder, FollowsAGrowingDictionary) {
  ValueDictionary dictionary;
  dictionary.encode_symbol("m");
  ValueOrder order(dictionary);
  EXPECT_EQ(order.for_kind(ValueKind::kSymbol).code(0), 0U);
  dictionary.encode_symbol("a");
  EXPECT_EQ(order.for_kind(ValueKind::kSymbol).code(0), 1U);
  EXPECT_EQ(order.for_kind(ValueKind::kNumber).code(5),
            order.for_kind(ValueKind::kNumber).code(4) + 1);
}

}  // namespace
}  // namespace stratalog::datalog
