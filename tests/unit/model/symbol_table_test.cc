// SPDX-License-Identifier: Apache-2.0
// SymbolTable against a std::map model, and the texts that tend to break string tables.
#include "model/symbol_table.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>

namespace stratalog {
namespace {

TEST(SymbolTable, GivesDenseIdsInOrderOfFirstSight) {
  SymbolTable table;
  EXPECT_EQ(table.intern("b"), 0U);
  EXPECT_EQ(table.intern("a"), 1U);
  EXPECT_EQ(table.intern("b"), 0U);
  EXPECT_EQ(table.size(), 2U);
  EXPECT_EQ(table.text(1), "a");
}

TEST(SymbolTable, EmptyTableFindsNothing) {
  const SymbolTable table;
  EXPECT_FALSE(table.find("").has_value());
  EXPECT_FALSE(table.find("a").has_value());
}

TEST(SymbolTable, EmptyTextAndNulBytesAreSymbols) {
  SymbolTable table;
  const std::string nul("a\0b", 3);
  const Cell empty = table.intern("");
  const Cell with_nul = table.intern(nul);
  const Cell without = table.intern("a");
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.text(empty), "");
  EXPECT_EQ(table.text(with_nul), nul);
  EXPECT_EQ(table.find(nul), with_nul);
  EXPECT_EQ(table.find("a"), without);
}

TEST(SymbolTable, LongTextsStayWhereTheyAre) {
  SymbolTable table;
  const std::string large(5U << 20, 'x');
  const Cell id = table.intern(large);
  const std::string_view before = table.text(id);
  for (int i = 0; i < 100000; ++i) table.intern(std::to_string(i));
  EXPECT_EQ(table.text(id).data(), before.data());
  EXPECT_EQ(table.text(id), large);
  EXPECT_EQ(table.text(id + 1), "0");
}

TEST(SymbolTable, AgreesWithAMap) {
  constexpr unsigned kSeed = 20240501;
  std::mt19937 random(kSeed);
  SymbolTable table;
  std::unordered_map<std::string, Cell> model;
  for (int i = 0; i < 200000; ++i) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    const auto known = table.find(text);
    const auto expected = model.find(text);
    ASSERT_EQ(known.has_value(), expected != model.end()) << "seed " << kSeed << " text " << text;
    const Cell id = table.intern(text);
    ASSERT_EQ(id, model.emplace(text, static_cast<Cell>(model.size())).first->second)
        << "seed " << kSeed << " text " << text;
  }
  EXPECT_EQ(table.size(), model.size());
  for (const auto& [text, id] : model) EXPECT_EQ(table.text(id), text);
}

TEST(SymbolTable, RoomAheadChangesNothing) {
  SymbolTable table;
  table.intern("first");
  table.reserve(1000);
  const std::uint64_t bytes = table.memory_bytes();
  for (int i = 0; i < 100; ++i) table.intern("s" + std::to_string(i));
  table.reserve(10);
  EXPECT_LT(table.memory_bytes(), bytes + 8192);  // texts came, the index stayed
  EXPECT_EQ(table.find("first"), Cell{0});
  EXPECT_EQ(table.find("s99"), Cell{100});
  EXPECT_EQ(table.find("s100"), std::nullopt);
  EXPECT_EQ(table.size(), 101U);
}

TEST(SymbolTable, AccountsForItsMemory) {
  SymbolTable table;
  EXPECT_EQ(table.memory_bytes(), 0U);
  std::uint64_t bytes = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string text = "a symbol of some length " + std::to_string(i);
    bytes += text.size();
    table.intern(text);
  }
  EXPECT_EQ(table.text_bytes(), bytes);
  EXPECT_GT(table.memory_bytes(), bytes);
  EXPECT_LT(table.memory_bytes(), bytes + (100000U * 48) + (1U << 20));
  table.clear();
  EXPECT_EQ(table.memory_bytes(), 0U);
  EXPECT_EQ(table.intern("again"), 0U);
}

}  // namespace
}  // namespace stratalog
