// SPDX-License-Identifier: Apache-2.0
// The flat list says of a JSON text what nlohmann's tree of values says of it.
#include "commit/json_items.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <utility>

namespace stratalog {
namespace {

using Tree = nlohmann::ordered_json;

void expect_same(JsonItem item, const Tree& tree) {
  EXPECT_EQ(item.is_object(), tree.is_object());
  EXPECT_EQ(item.is_array(), tree.is_array());
  EXPECT_EQ(item.unsigned_number().has_value(), tree.is_number_unsigned());
  if (tree.is_number_unsigned()) {
    EXPECT_EQ(item.unsigned_number(), tree.get<std::uint64_t>());
  }
  EXPECT_EQ(item.number().has_value(), tree.is_number());
  if (tree.is_number()) {
    EXPECT_EQ(item.number(), tree.get<double>());
  }
  EXPECT_EQ(item.text().has_value(), tree.is_string());
  if (tree.is_string()) {
    EXPECT_EQ(item.text(), tree.get<std::string>());
  }
  EXPECT_EQ(item.size(), tree.is_structured() ? tree.size() : 0);
  std::size_t seen = 0;
  for (const JsonItem inner : item) expect_same(inner, tree.at(seen++));
  EXPECT_EQ(seen, tree.is_array() ? tree.size() : 0);
  if (!tree.is_object()) return;
  for (const auto& [name, inner] : tree.items()) {
    const auto found = item.find(name);
    ASSERT_TRUE(found.has_value()) << name;
    expect_same(*found, inner);
  }
  EXPECT_FALSE(item.find("not there").has_value());
}

Tree random_tree(std::mt19937_64& random, int depth) {
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  switch (below(depth == 0 ? 6 : 9)) {
    case 0:
      return nullptr;
    case 1:
      return below(2) == 0;
    case 2:
      return random() >> below(64);
    case 3:
      return -static_cast<std::int64_t>(below(1000));
    case 4:
      return static_cast<double>(random()) / 3e9;
    case 5: {
      std::string text;
      for (std::uint64_t i = below(40); i > 0; --i) text += static_cast<char>(below(128));
      return text;
    }
    default:
      break;
  }
  const bool is_array = below(2) == 0;
  Tree inside = is_array ? Tree::array() : Tree::object();
  for (std::uint64_t i = below(5); i > 0; --i) {
    Tree value = random_tree(random, depth - 1);
    if (is_array)
      inside.push_back(std::move(value));
    else
      inside["field " + std::to_string(below(1000))] = std::move(value);
  }
  return inside;
}

TEST(JsonItems, SaysWhatTheTreeSays) {
  std::mt19937_64 random(1);
  JsonItems items;  // one for all: nothing is left of the text before
  for (int i = 0; i < 2000; ++i) {
    const Tree tree = random_tree(random, 4);
    SCOPED_TRACE(tree.dump());
    expect_same(items.parse(tree.dump(i % 3 == 0 ? 2 : -1)), tree);
  }
}

TEST(JsonItems, WhatIsNoJsonIsNothing) {
  JsonItems items;
  for (const char* text : {"", " ", "{", "[1,2", "[1,]", "{\"a\":}", "{\"a\" 1}", "1 2", "{}{}",
                           "]", "\"\xFF\"", "\"a\nb\"", "nul", "01"}) {
    const JsonItem item = items.parse(text);
    EXPECT_FALSE(item.is_array() || item.is_object()) << text;
    EXPECT_FALSE(item.text() || item.number() || item.unsigned_number()) << text;
    EXPECT_FALSE(item.find("a").has_value()) << text;
    EXPECT_EQ(item.size(), 0U) << text;
    EXPECT_TRUE(item.begin() == item.end()) << text;
  }
}

TEST(JsonItems, FieldsAreNotFoundInWhatLiesWithin) {
  JsonItems items;
  const JsonItem item = items.parse(R"({"x":{"a":1},"y":["a",{"a":2}],"a":3,"a":4})");
  EXPECT_EQ(item.find("a")->unsigned_number(), 3U) << "the first of that name";
  EXPECT_EQ(item.find("x")->find("a")->unsigned_number(), 1U);
  EXPECT_FALSE(item.find("y")->find("a").has_value()) << "an array";
}

TEST(JsonItems, DepthCostsNoStack) {
  JsonItems items;
  const std::size_t depth = 1'000'000;
  const JsonItem item = items.parse(std::string(depth, '[') + std::string(depth, ']'));
  EXPECT_EQ(item.size(), 1U);
}

}  // namespace
}  // namespace stratalog
