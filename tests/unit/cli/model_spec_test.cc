// SPDX-License-Identifier: Apache-2.0
// The specification of `bench model`: what is understood, and what is refused by name. The rest is
// tested through the command.
#include "cli/model_spec.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/model_lines.h"

namespace stratalog::cli {
namespace {

nlohmann::json machine() {
  nlohmann::json values;
  for (const MachineField& field : machine_fields()) values[std::string(field.name)] = 8;
  return values;
}

nlohmann::json one_case() {
  return {{"name", "a"},
          {"strategy", "hdf5-direct"},
          {"ranks", 20},
          {"datasets", {{{"rows", 1000}, {"skew", "half-empty"}}}}};
}

std::string refusal(const nlohmann::json& spec) {
  const auto parsed = parse_model_spec(spec.dump());
  return parsed.is_ok() ? "" : parsed.status().to_string();
}

TEST(ModelSpec, ACaseBecomesAQuestion) {
  const auto parsed =
      parse_model_spec(nlohmann::json{{"machine", machine()}, {"cases", {one_case()}}}.dump());
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().to_string();
  const SaveQuestion& question = parsed.value().cases.at(0).question;
  EXPECT_EQ(question.wishes.mode, CheckpointMode::kHdf5Direct);
  EXPECT_EQ(question.facts.datasets.at(0).rows(), 1000U);
  EXPECT_EQ(question.facts.datasets.at(0).rows_of_rank.at(1), 0U);
  EXPECT_EQ(question.facts.node_of_rank.at(19), 2);  // 8 ranks on a node
  EXPECT_EQ(question.sync, SyncFiles::kYes);
  const auto line = model_line(parsed.value().cases[0], parsed.value().machine);
  ASSERT_TRUE(line.is_ok()) << line.status().to_string();
  EXPECT_EQ(nlohmann::json::parse(line.value())["row_bytes"], 16000);
}

TEST(ModelSpec, WhatIsWrongIsNamed) {
  EXPECT_NE(refusal("[").find("no JSON object"), std::string::npos);
  nlohmann::json extra = machine();
  extra["speed"] = 1;
  EXPECT_NE(
      refusal({{"machine", extra}, {"cases", nlohmann::json::array()}}).find("no machine has"),
      std::string::npos);
  EXPECT_NE(refusal({{"machine", machine()}}).find("cases is missing"), std::string::npos);
  const auto with = [&](const char* key, const nlohmann::json& value) {
    nlohmann::json changed = one_case();
    changed[key] = value;
    return refusal({{"machine", machine()}, {"cases", {changed}}});
  };
  EXPECT_NE(with("name", "").find("name is missing"), std::string::npos);
  EXPECT_NE(with("ranks", -3).find("a: ranks is no number"), std::string::npos);
  EXPECT_NE(with("ladder", "O9").find("O9"), std::string::npos);
  EXPECT_NE(with("strategy", "auto").find("is no layout"), std::string::npos);
  EXPECT_NE(with("durability", "data").find("full or none"), std::string::npos);
  EXPECT_NE(with("datasets", {{{"rows", 5}, {"skew", "odd"}}}).find("\"odd\" is not known"),
            std::string::npos);
}

}  // namespace
}  // namespace stratalog::cli
