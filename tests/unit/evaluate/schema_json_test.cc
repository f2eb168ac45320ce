// SPDX-License-Identifier: Apache-2.0
// The schema that travels in checkpoints says what every column is.
#include "datalog/evaluate/schema_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "property/engine_runner.h"

namespace stratalog::datalog {
namespace {

TEST(SchemaJson, HasRelationsAttributesAndStructures) {
  std::string problems;
  const auto program = compile_text(
      ".type Id <: number\n.type C = Red {} | Green {}\n.type L = [head: Id, tail: L]\n"
      ".type T = B {s: symbol, c: C} | A {l: L}\n"
      ".decl r(x: Id, u: unsigned, f: float, s: symbol, c: C, l: L, t: T)\n"
      ".decl e(x: number, y: number) eqrel\ne(1, 2).\n.output e\n",
      problems);
  ASSERT_TRUE(program) << problems;
  const nlohmann::json schema = schema_to_json(*program);
  ASSERT_EQ(schema["relations"].size(), program->relations.size());
  const auto& r = schema["relations"][0];
  EXPECT_EQ(r["name"], "r");
  EXPECT_FALSE(r.contains("equivalence"));
  EXPECT_EQ(schema["relations"][1]["equivalence"], true);
  const auto& attributes = r["attributes"];
  ASSERT_EQ(attributes.size(), 7U);
  EXPECT_EQ(attributes[0], (nlohmann::json{{"name", "x"}, {"type", "Id"}, {"kind", "number"}}));
  const char* const kinds[] = {"number", "unsigned", "float", "symbol",
                               "number", "record",   "record"};
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    EXPECT_EQ(attributes[i]["kind"], kinds[i]);
    EXPECT_EQ(attributes[i].contains("structure"), i >= 4);
  }
  const auto structure = [&](std::size_t column) {
    return schema["structures"].at(attributes[column]["structure"].get<std::size_t>());
  };
  EXPECT_EQ(structure(4)["form"], "enumeration");
  EXPECT_EQ(structure(5)["form"], "record");
  EXPECT_EQ(structure(5)["branches"][0]["fields"][1]["structure"], attributes[5]["structure"]);
  const auto term = structure(6);
  EXPECT_EQ(term["form"], "algebraic");
  EXPECT_EQ(term["branches"][0]["name"], "A");
  EXPECT_EQ(term["branches"][1]["name"], "B");
  EXPECT_EQ(term["branches"][1]["fields"][0]["kind"], "symbol");
  EXPECT_NE(term["branches"][0]["shape"], term["branches"][1]["shape"]);
}

}  // namespace
}  // namespace stratalog::datalog
