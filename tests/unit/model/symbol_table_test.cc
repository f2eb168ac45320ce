// SPDX-License-Identifier: Apache-2.0
// SymbolTable against a std::map model, and the texts that tend to break string tables.
#include "model/symbol_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

std::vector<std::string> some_texts(std::size_t count, std::uint32_t different) {
  std::mt19937 random(different);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t number = random() % different;
    texts.push_back(number == 0 ? std::string()
                                : std::string(number % 40, 'x') + std::to_string(number));
  }
  return texts;
}

TEST(SymbolTable, ManyAtOnceGetTheIdsThatOneAfterTheOtherGets) {
  for (const std::size_t count : {0U, 1U, 255U, 256U, 257U, 5000U}) {
    const std::vector<std::string> texts = some_texts(count, 700);
    SymbolTable one_by_one;
    SymbolTable at_once;
    for (SymbolTable* table : {&one_by_one, &at_once}) table->intern("known before");
    std::vector<SymbolTable::Sought> sought;
    std::vector<Cell> expected;
    for (const std::string& text : texts) {
      sought.push_back({.text = text, .hash = SymbolTable::hash(text)});
      expected.push_back(one_by_one.intern(text));
    }
    std::vector<Cell> ids(count);
    at_once.find_all(sought, ids.data());
    EXPECT_EQ(ids, std::vector<Cell>(count, SymbolTable::kNotThere));
    at_once.intern_all(std::vector<std::string_view>(texts.begin(), texts.end()), ids.data());
    EXPECT_EQ(ids, expected);
    EXPECT_EQ(at_once.size(), one_by_one.size());
    std::ranges::fill(ids, 0);
    at_once.find_all(sought, ids.data());
    EXPECT_EQ(ids, expected);
  }
}

TEST(SymbolTable, TextsWithOneHashAreToldApart) {
  const std::vector<std::string> texts = some_texts(600, 300);
  SymbolTable table;
  std::vector<SymbolTable::Sought> sought;
  std::unordered_map<std::string, Cell> ids_of;
  sought.reserve(texts.size());
  for (const std::string& text : texts) sought.push_back({.text = text, .hash = text.size() % 3});
  std::vector<Cell> ids(texts.size());
  table.intern_all(sought, ids.data());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(table.text(ids[i]), texts[i]);
    EXPECT_EQ(ids_of.emplace(texts[i], ids[i]).first->second, ids[i]);
  }
  EXPECT_EQ(table.size(), ids_of.size());
  std::vector<Cell> found(texts.size());
  table.find_all(sought, found.data());
  EXPECT_EQ(found, ids);
}

// As several threads would, one part of the slots after the other.
TEST(SymbolTable, IsFilledByParts) {
  for (const std::size_t parts : {1U, 3U, 64U}) {
    SymbolTable table;
    table.intern("mine");
    const std::vector<std::string> texts = some_texts(3000, 1U << 30);
    std::vector<Cell> wanted;
    {
      SymbolTable other;
      for (const std::string& text : texts) {
        // Many in the same slots, as hashes go, and some in the last ones.
        std::uint64_t hash = SymbolTable::hash(text) & 0x03FFFFFFU;
        if (text.back() == '7') hash |= 0xFFFFFF00U;
        const Cell id = other.intern(text, hash);
        if (id + 1 == other.size() && id % 3 != 0) wanted.push_back(id);
      }
      std::sort(wanted.begin(), wanted.end());
      wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
      std::uint64_t bytes = 0;
      for (const Cell id : wanted) bytes += other.text(id).size();
      const std::vector<std::uint32_t> tags = other.tags();
      table.share_texts(other);
      table.extend(wanted.size(), bytes);
      ASSERT_EQ(table.size(), wanted.size() + 1);
      EXPECT_EQ(table.text_bytes(), bytes + 4);
      std::vector<Cell> left;
      for (std::size_t part = 0; part < parts; ++part)
        for (Cell id = 1; id < table.size(); ++id) {
          const std::uint32_t tag = tags[wanted[id - 1]];
          const std::size_t begin = table.slot_count() * part / parts;
          const std::size_t end = table.slot_count() * (part + 1) / parts;
          if (table.slot_of(tag) < begin || table.slot_of(tag) >= end) continue;
          table.show_text(id, other, wanted[id - 1]);
          if (!table.put(tag, id, end)) left.push_back(id);
        }
      EXPECT_FALSE(left.empty());  // at the end of the slots
      for (const Cell id : left) table.put(tags[wanted[id - 1]], id);
      for (Cell id = 1; id < table.size(); ++id) {
        const std::string_view text = other.text(wanted[id - 1]);
        EXPECT_EQ(table.text(id).data(), text.data());
        EXPECT_EQ(table.find(text, tags[wanted[id - 1]]), id);
      }
    }
    EXPECT_EQ(table.text(table.size() - 1).empty(), false);  // the texts live on
    EXPECT_EQ(table.find("mine"), 0U);
  }
}

TEST(SymbolTable, CopiesGoTheirOwnWays) {
  SymbolTable table;
  EXPECT_EQ(table.intern("both"), 0U);
  SymbolTable copy(table);
  EXPECT_EQ(table.intern("here"), 1U);
  EXPECT_EQ(copy.intern("there"), 1U);
  EXPECT_EQ(copy.find("both"), 0U);
  EXPECT_EQ(copy.find("here"), std::nullopt);
  table.clear();
  EXPECT_EQ(copy.text(0), "both");
  EXPECT_EQ(copy.text(1), "there");
  EXPECT_EQ(copy.text_bytes(), 9U);
}

}  // namespace
}  // namespace stratalog
