// SPDX-License-Identifier: Apache-2.0
// Keys as people write them choose the cells whose values they mean: against the values themselves.
#include "datalog/facts/key_cells.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace stratalog::datalog {
namespace {

Attribute column(ValueKind kind) {
  return {.name = "x", .type_name = "t", .kind = kind, .structure = kNoStructure};
}

CellSet cells(const Attribute& attribute, const ValueDictionary& dictionary,
              std::string_view text) {
  auto found = cells_of_key(attribute, {}, dictionary, text);
  EXPECT_TRUE(found.is_ok()) << text << ": " << found.status().to_string();
  return found.is_ok() ? found.value() : CellSet();
}

TEST(KeyCells, RangesOfWholeNumbers) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> values = {kLeast,
                                            -(1LL << 40),
                                            -(1 << 24) - 1,
                                            -(1 << 24),
                                            -2,
                                            -1,
                                            0,
                                            1,
                                            77,
                                            (1LL << 31) - (1 << 24) - 1,
                                            (1LL << 31) - (1 << 24),
                                            1LL << 40,
                                            ~kLeast};
  ValueDictionary dictionary;
  const Attribute number = column(ValueKind::kNumber);
  for (const std::int64_t v : values) dictionary.encode(static_cast<std::uint64_t>(v));
  for (const std::int64_t low : values) {
    const CellSet one = cells(number, dictionary, std::to_string(low));
    const CellSet up = cells(number, dictionary, std::to_string(low) + ":");
    const CellSet down = cells(number, dictionary, ":" + std::to_string(low));
    for (const std::int64_t v : values) {
      const Cell cell = dictionary.encode(static_cast<std::uint64_t>(v));
      EXPECT_EQ(one.contains(cell), v == low) << v << ' ' << low;
      EXPECT_EQ(up.contains(cell), v >= low) << v << ' ' << low;
      EXPECT_EQ(down.contains(cell), v < low) << v << ' ' << low;
    }
    for (const std::int64_t high : values) {
      const CellSet range =
          cells(number, dictionary, std::to_string(low) + ":" + std::to_string(high));
      for (const std::int64_t v : values)
        EXPECT_EQ(range.contains(dictionary.encode(static_cast<std::uint64_t>(v))),
                  v >= low && v < high)
            << v << " in " << low << ':' << high;
    }
  }
  const Attribute natural = column(ValueKind::kUnsigned);
  const Cell largest = dictionary.encode(~std::uint64_t{0});
  EXPECT_TRUE(cells(natural, dictionary, "18446744073709551615").contains(largest));
  EXPECT_TRUE(cells(natural, dictionary, "5:").contains(largest));
  EXPECT_FALSE(cells(natural, dictionary, ":18446744073709551615").contains(largest));
  EXPECT_FALSE(cells(natural, dictionary, "4:5").contains(narrow_cell(5)));
  EXPECT_TRUE(cells(natural, dictionary, "0:6").contains(narrow_cell(5)));
  EXPECT_TRUE(cells(natural, dictionary, ":").contains(narrow_cell(5)));
}

TEST(KeyCells, Floats) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {-infinity, -1e300, -0.5, -0.0, 0.0, 5e-324, 0.1, 3, infinity};
  ValueDictionary dictionary;
  const auto cell = [&](double v) { return dictionary.encode(std::bit_cast<std::uint64_t>(v)); };
  for (const double v : values) (void)cell(v);
  const Cell not_a_number = cell(std::nan(""));
  const Attribute attribute = column(ValueKind::kFloat);
  const std::vector<std::string> texts = {"-inf", "-1e300", "-0.5", "-0.0", "0", "0.1", "3", "inf"};
  for (const std::string& text : texts) {
    const double bound = std::stod(text);
    const CellSet one = cells(attribute, dictionary, text);
    const CellSet up = cells(attribute, dictionary, text + ":");
    const CellSet down = cells(attribute, dictionary, ":" + text);
    for (const double v : values) {
      EXPECT_EQ(one.contains(cell(v)), v == bound) << v << ' ' << text;
      EXPECT_EQ(up.contains(cell(v)), v >= bound) << v << ' ' << text;
      EXPECT_EQ(down.contains(cell(v)), v < bound) << v << ' ' << text;
    }
    EXPECT_FALSE(up.contains(not_a_number) || down.contains(not_a_number));
  }
}

TEST(KeyCells, SymbolsAndBranches) {
  ValueDictionary dictionary;
  const Cell text = dictionary.encode_symbol("a:b");
  const Attribute symbol = column(ValueKind::kSymbol);
  EXPECT_TRUE(cells(symbol, dictionary, "a:b").contains(text)) << "no range";
  EXPECT_TRUE(cells(symbol, dictionary, "a").ranges().empty());
  Structure colours{.name = "C", .form = StructureForm::kEnumeration, .branches = {}};
  colours.branches.push_back({.name = "Blue", .fields = {}, .shape = 0});
  colours.branches.push_back({.name = "Red", .fields = {}, .shape = 0});
  Structure list{.name = "L", .form = StructureForm::kRecord, .branches = {}};
  const std::vector<Structure> structures = {colours, list};
  Attribute colour = column(ValueKind::kNumber);
  colour.structure = 0;
  for (const char* key : {"Red", "$Red"})
    EXPECT_TRUE(cells_of_key(colour, structures, dictionary, key).value().contains(1)) << key;
  EXPECT_EQ(cells_of_key(colour, structures, dictionary, "Green").status().code(),
            StatusCode::kInvalidArgument);
  Attribute record = column(ValueKind::kRecord);
  record.structure = 1;
  EXPECT_EQ(cells_of_key(record, structures, dictionary, "nil").status().code(),
            StatusCode::kNotSupported);
}

TEST(KeyCells, WhatIsNoValueIsRefused) {
  const ValueDictionary dictionary;
  for (const char* text : {"x", "", "1:x", "1:2:3", "1.5", "99999999999999999999"}) {
    const auto found = cells_of_key(column(ValueKind::kNumber), {}, dictionary, text);
    EXPECT_EQ(found.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(found.status().message().find("column x has type t"), std::string::npos);
  }
  EXPECT_FALSE(cells_of_key(column(ValueKind::kUnsigned), {}, dictionary, "-1").is_ok());
}

}  // namespace
}  // namespace stratalog::datalog
