// SPDX-License-Identifier: Apache-2.0
// Structured values in fact files: what is printed, what is read back, and the sentence for every
// mistake; also for lists that are very long.
#include "datalog/facts/structured_text.h"

#include <gtest/gtest.h>

#include <string>

#include "comm/comm.h"
#include "datalog/facts/structured_parser.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {
namespace {

Attribute field(std::string name, ValueKind kind, StructureId structure = kNoStructure) {
  return {.name = std::move(name), .type_name = {}, .kind = kind, .structure = structure};
}

enum : StructureId { kList, kShape, kColour };

// List = [n: number, s: symbol, t: List]; Shape = Circle {r: float} | Dot {} | Pair {l: List, c:
// Colour, u: unsigned}; Colour = Green {} | Red {}.
class Text : public testing::Test {
 protected:
  Text() : values_(dictionary_) {
    using enum CellClass;
    structures_.resize(3);
    structures_[kList] = {
        .name = "List",
        .form = StructureForm::kRecord,
        .branches = {{.name = {},
                      .fields = {field("n", ValueKind::kNumber), field("s", ValueKind::kSymbol),
                                 field("t", ValueKind::kRecord, kList)},
                      .shape = dictionary_.records().shape({kNumber, kSymbol, kRecord})}}};
    structures_[kShape] = {
        .name = "Shape",
        .form = StructureForm::kAlgebraic,
        .branches = {
            {.name = "Circle",
             .fields = {field("r", ValueKind::kFloat)},
             .shape = dictionary_.records().shape({kNumber, kNumber})},
            {.name = "Dot", .fields = {}, .shape = dictionary_.records().shape({kNumber})},
            {.name = "g.Pair",
             .fields = {field("l", ValueKind::kRecord, kList),
                        field("c", ValueKind::kNumber, kColour), field("u", ValueKind::kUnsigned)},
             .shape = dictionary_.records().shape({kNumber, kRecord, kNumber, kNumber})}}};
    structures_[kColour] = {.name = "Colour",
                            .form = StructureForm::kEnumeration,
                            .branches = {{.name = "Green", .fields = {}, .shape = 0},
                                         {.name = "Red", .fields = {}, .shape = 0}}};
  }

  // The text read, agreed on and printed; or what is wrong with it.
  std::string round_trip(StructureId id, std::string_view text,
                         SymbolQuotes quotes = SymbolQuotes::kNone) {
    const ParsedStructure parsed = parse_structured(structures_, id, text, values_);
    if (!parsed.is_ok) return std::to_string(parsed.at) + ": " + parsed.expected;
    const auto comm = make_self_comm();
    const auto remapping = agree_on_new_values(*comm, dictionary_, values_);
    const bool is_record = structures_[id].form != StructureForm::kEnumeration;
    const Cell cell =
        is_record ? remapping.value().record(parsed.cell) : remapping.value().number(parsed.cell);
    std::string printed;
    append_structured(structures_, id, dictionary_, cell, quotes, printed);
    return printed;
  }

  ValueDictionary dictionary_;
  NewValues values_;
  std::vector<Structure> structures_;
};

TEST_F(Text, RoundTrips) {
  EXPECT_EQ(round_trip(kList, "nil"), "nil");
  EXPECT_EQ(round_trip(kList, "  nil "), "nil");
  EXPECT_EQ(round_trip(kList, "[1, a, nil]"), "[1, a, nil]");
  EXPECT_EQ(round_trip(kList, "[ -0x10,a b ,[\t-9223372036854775808 ,, nil ] ] "),
            "[-16, a b , [-9223372036854775808, , nil]]");
  EXPECT_EQ(round_trip(kList, "[1,\"a, \\\"]\\\\\",nil]"), "[1, a, \"]\\, nil]");
  EXPECT_EQ(round_trip(kList, "[1,\"say \\\"a\\\"\",nil]", SymbolQuotes::kDouble),
            "[1, \"say \\\"a\\\"\", nil]");
  EXPECT_EQ(round_trip(kShape, "$Circle(1e-3)"), "$Circle(0.001)");
  EXPECT_EQ(round_trip(kShape, " $ Dot"), "$Dot");
  EXPECT_EQ(round_trip(kShape, "$g.Pair([1,x,nil], $Red, 18446744073709551615)"),
            "$g.Pair([1, x, nil], $Red, 18446744073709551615)");
  EXPECT_EQ(round_trip(kColour, "$Green"), "$Green");
}

TEST_F(Text, Mistakes) {
  EXPECT_EQ(round_trip(kList, ""), "0: `[` or `nil`");
  EXPECT_EQ(round_trip(kList, "[1, a, nil"), "10: `]`");
  EXPECT_EQ(round_trip(kList, "[1, a]"), "5: `,` and the next field");
  EXPECT_EQ(round_trip(kList, "[1, a, nil, 2]"), "10: `]`");
  EXPECT_EQ(round_trip(kList, "[1, a, nil]]"), "11: the end of the field");
  EXPECT_EQ(round_trip(kList, "[x, a, nil]"), "1: a number");
  EXPECT_EQ(round_trip(kList, "[9223372036854775808, a, nil]"), "1: a number");
  EXPECT_EQ(round_trip(kList, "[1, a"), "5: `,` or `]`");
  EXPECT_EQ(round_trip(kList, "[1, \"a"), "6: a closing double quote");
  EXPECT_EQ(round_trip(kList, "[1, \"a\\"), "7: a closing double quote");
  EXPECT_EQ(round_trip(kShape, "Dot"), "0: `$` and a branch");
  EXPECT_EQ(round_trip(kShape, "$Dott"), "1: a branch of Shape");
  EXPECT_EQ(round_trip(kShape, "$Circle"), "7: `(` and the fields of the branch");
  EXPECT_EQ(round_trip(kShape, "$Circle(x)"), "8: a float");
  EXPECT_EQ(round_trip(kShape, "$g.Pair(nil, $Blue, 1)"), "14: a branch of Colour");
  EXPECT_EQ(round_trip(kShape, "$g.Pair(nil, $Red, -1)"), "19: an unsigned");
}

TEST_F(Text, AHundredThousandFieldsDeep) {
  constexpr std::size_t kLength = 100000;
  std::string text;
  for (std::size_t i = 0; i < kLength; ++i) text += "[1, a, ";
  text += "nil";
  text.append(kLength, ']');
  EXPECT_TRUE(round_trip(kList, text) == text);
}

TEST_F(Text, CastsThatStandForNothing) {
  std::string text;
  append_structured(structures_, kColour, dictionary_, 9, SymbolQuotes::kNone, text);
  append_structured(structures_, kList, dictionary_, 77, SymbolQuotes::kNone, text);
  append_structured(structures_, kShape, dictionary_, kNilCell, SymbolQuotes::kNone, text);
  EXPECT_EQ(text, "?9?77?0");
}

}  // namespace
}  // namespace stratalog::datalog
