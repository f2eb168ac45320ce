// SPDX-License-Identifier: Apache-2.0
// Where the engine stands, as text and back; texts that contradict themselves are corruption.
#include "datalog/evaluate/position_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <span>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

Program closure() {
  return compiled(
      ".decl e(x: number, y: number)\n.input e\n.decl p(x: number, y: number)\n"
      "p(x, y) :- e(x, y).\np(x, z) :- p(x, y), e(y, z).\n.output p\n");
}

EnginePosition adding() {
  EnginePosition position;
  position.statistics.resize(2);
  position.additions.push_back({.base = "g7",
                                .facts = {{.relation = "e", .rows = 3}},
                                .continued = {0, 1},
                                .restarted = {}});
  position.is_adding = true;
  return position;
}

TEST(PositionJson, AnAdditionIsReadAsItWasWritten) {
  const Program program = closure();
  const std::string text = position_to_json(program, adding());
  const auto read = position_from_json(program, text, {});
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_TRUE(read.value().is_adding);
  ASSERT_EQ(read.value().additions.size(), 1U);
  EXPECT_EQ(read.value().additions[0].continued, (std::set<std::uint32_t>{0, 1}));
  EXPECT_EQ(position_to_json(program, read.value()), text);
}

TEST(PositionJson, SizesOfRelationsThatGrowStayApartFromThoseThatAreKnown) {
  const Program program = closure();
  EnginePosition position;
  position.statistics = {
      {.known = true,
       .rows = 7,
       .distinct = {3, 4},
       .frequent = {{}, {{.bucket = 9, .per_million = 200'000}}},
       .pairs = {{.first = 0, .second = 1, .distinct = 4, .of_first = 3, .of_second = 4}}},
      {.rows = 2, .distinct = {1, 2}}};
  const auto read = position_from_json(program, position_to_json(program, position), {});
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  const auto& sizes = read.value().statistics;
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_TRUE(sizes[0].known);
  EXPECT_FALSE(sizes[1].known);
  EXPECT_EQ(sizes[1].rows, 2U);
  EXPECT_EQ(sizes[1].distinct, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(sizes[0].frequent, position.statistics[0].frequent);
  EXPECT_TRUE(sizes[1].frequent.empty());
  EXPECT_EQ(sizes[0].pairs, position.statistics[0].pairs);
}

TEST(PositionJson, HowRelationsAreDealtIsKeptAndMayBeUnknown) {
  const Program program = closure();
  EnginePosition position;
  position.dealt_by = {{1, {0, 1}}};
  const std::string text = position_to_json(program, position);
  const auto read = position_from_json(program, text, {});
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  EXPECT_EQ(read.value().dealt_by, position.dealt_by);
  // As releases before wrote it.
  nlohmann::json before = nlohmann::json::parse(text);
  before["format"] = 1;
  before.erase("dealt_by");
  const auto older = position_from_json(program, before.dump(), {});
  ASSERT_TRUE(older.is_ok()) << older.status().to_string();
  EXPECT_TRUE(older.value().dealt_by.empty());
  before["format"] = 4;
  EXPECT_FALSE(position_from_json(program, before.dump(), {}).is_ok());
}

TEST(PositionJson, CountsOfRoundsAreInTheirSection) {
  const Program program = closure();
  EnginePosition position;
  position.finished = {0};
  position.reports.push_back({.relations = "e", .iterations = 2, .new_tuples_per_round = {9, 8}});
  position.stratum = 1;
  position.start.new_tuples_per_round = {1, 300, ~std::uint64_t{0}};
  const std::string text = position_to_json(program, position);
  const std::vector<std::uint64_t> rounds = rounds_of(position);
  EXPECT_EQ(rounds, (std::vector<std::uint64_t>{9, 8, 1, 300, ~std::uint64_t{0}}));
  const Bytes section = encode_rounds(rounds);
  EXPECT_EQ(section.size(), 3U + 2 + 10);
  const auto read = position_from_json(program, text, section);
  ASSERT_TRUE(read.is_ok()) << read.status().to_string();
  ASSERT_EQ(read.value().reports.size(), 1U);
  EXPECT_EQ(read.value().reports[0].new_tuples_per_round, (std::vector<std::uint64_t>{9, 8}));
  EXPECT_EQ(read.value().start.new_tuples_per_round, position.start.new_tuples_per_round);
  const auto cut = position_from_json(program, text, std::span(section).first(14));
  EXPECT_EQ(cut.status().code(), StatusCode::kCorruption);
  EXPECT_NE(cut.status().message().find("has fewer counts"), std::string::npos)
      << cut.status().message();
  // As releases before wrote it.
  nlohmann::json before = nlohmann::json::parse(text);
  before["format"] = 2;
  before["new_tuples_per_round"] = position.start.new_tuples_per_round;
  before["reports"][0]["new_tuples_per_round"] = {9, 8};
  before.erase("rounds");
  before["reports"][0].erase("rounds");
  const auto older = position_from_json(program, before.dump(), {});
  ASSERT_TRUE(older.is_ok()) << older.status().to_string();
  EXPECT_EQ(rounds_of(older.value()), rounds);
}

// Another release may evaluate the same program in other strata.
TEST(PositionJson, OtherStrataAreThoseOfAnotherRelease) {
  const Program program = closure();
  const auto other = compiled(".decl e(x: number)\n.input e\n.output e\n");
  const auto read = position_from_json(other, position_to_json(program, adding()), {});
  EXPECT_EQ(read.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(read.status().message().find("of 2 strata, the program has 1 here"), std::string::npos)
      << read.status().message();
}

TEST(PositionJson, AnAdditionWithoutAStratumThatTakesItInIsCorruption) {
  const Program program = closure();
  nlohmann::json json = nlohmann::json::parse(position_to_json(program, adding()));
  json["additions"][0]["continued"] = nlohmann::json::array();
  EXPECT_EQ(position_from_json(program, json.dump(), {}).status().code(), StatusCode::kCorruption);
  json["additions"] = nlohmann::json::array();
  EXPECT_EQ(position_from_json(program, json.dump(), {}).status().code(), StatusCode::kCorruption);
  json["adding"] = false;
  EXPECT_TRUE(position_from_json(program, json.dump(), {}).is_ok());
}

}  // namespace
}  // namespace stratalog::datalog
