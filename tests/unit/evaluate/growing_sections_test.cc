// SPDX-License-Identifier: Apache-2.0
// Sections that grow: which pieces stay, how much is written over a run, and that what is loaded is
// what there was.
#include "datalog/evaluate/growing_sections.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <random>

#include "datalog/evaluate/position_json.h"

namespace stratalog::datalog {
namespace {

TEST(PiecesToKeep, NothingNewKeepsAll) {
  EXPECT_EQ(pieces_to_keep({}, 0), 0U);
  EXPECT_EQ(pieces_to_keep({}, 7), 0U);
  EXPECT_EQ(pieces_to_keep(std::vector<std::uint64_t>{7, 9}, 9), 2U);
}

TEST(PiecesToKeep, EightOfOneSizeBecomeOne) {
  std::vector<std::uint64_t> ends;
  for (std::uint64_t now = 1; now <= 7; ++now) {
    EXPECT_EQ(pieces_to_keep(ends, now), ends.size());
    ends.push_back(now);
  }
  EXPECT_EQ(pieces_to_keep(ends, 8), 0U);
  // Behind a large one they do without it.
  for (std::uint64_t& end : ends) end += 100'000;
  ends.insert(ends.begin(), 100'000);
  EXPECT_EQ(pieces_to_keep(ends, 100'008), 1U);
}

// Of a run with a checkpoint after every so many new values.
TEST(PiecesToKeep, FewPiecesAndLittleWrittenTwice) {
  std::mt19937_64 draw(7);
  for (const std::uint64_t most : {1ULL, 100ULL, 5'000ULL, 300'000ULL}) {
    std::vector<std::uint64_t> ends;
    std::uint64_t now = 0;
    std::uint64_t written = 0;
    for (int checkpoint = 0; checkpoint < 2'000; ++checkpoint) {
      now += 1 + draw() % most;
      ends.resize(pieces_to_keep(ends, now));
      written += now - (ends.empty() ? 0 : ends.back());
      ends.push_back(now);
      EXPECT_LE(ends.size(), 40U);
    }
    // Less than once for each of the levels, of which 2,000 checkpoints of one size make four; the
    // lowest one goes up to a thousand entries, which every eighth may write anew.
    EXPECT_LE(written, (5 * now) + (2'000 / 8 * 1'024)) << most;
  }
}

// What the sections of several checkpoints come to, taken over as they say.
class Saved {
 public:
  void save(const std::vector<NamedSection>& sections) {
    std::map<std::string, std::vector<Bytes>> now;
    for (const NamedSection& section : sections) {
      auto& pieces = now[section.name];
      ASSERT_EQ(section.piece, pieces.size());
      if (section.is_unchanged) {
        ASSERT_TRUE(section.data.empty());
        ASSERT_LT(section.piece, pieces_[section.name].size());
        pieces.push_back(pieces_[section.name][section.piece]);
      } else {
        pieces.push_back(section.data);
        written_ += section.data.size();
      }
    }
    pieces_ = std::move(now);
  }
  Bytes content(const std::string& name) const {
    Bytes whole;
    for (const Bytes& piece : pieces_.at(name))
      whole.insert(whole.end(), piece.begin(), piece.end());
    return whole;
  }
  std::uint64_t written() const { return written_; }
  bool has(const std::string& name) const { return pieces_.contains(name); }

 private:
  std::map<std::string, std::vector<Bytes>> pieces_;
  std::uint64_t written_ = 0;
};

TEST(GrowingSections, WhatIsLoadedIsWhatThereWas) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 draw(seed);
    ValueDictionary dictionary;
    const ShapeId pair = dictionary.records().shape({CellClass::kSymbol, CellClass::kRecord});
    std::vector<std::uint64_t> rounds;
    GrowingSections growing;
    Saved saved;
    std::string base;
    for (int checkpoint = 1; checkpoint < 40; ++checkpoint) {
      for (std::uint64_t k = draw() % 50; k != 0; --k) {
        const Cell symbol =
            dictionary.encode_symbol(fmt::format("symbol {}", dictionary.symbols().size()));
        dictionary.encode((std::uint64_t{1} << 40) + dictionary.wides().size());
        const std::vector<Cell> cells = {symbol, static_cast<Cell>(dictionary.records().size())};
        if (draw() % 2 == 0) dictionary.encode_record(pair, cells);
        rounds.push_back(draw() >> (draw() % 64));
      }
      if (draw() % 8 == 0 && !rounds.empty()) ++rounds[draw() % rounds.size()];
      if (draw() % 10 == 0) base.clear();
      std::vector<NamedSection> sections;
      GrowingSections::Ends ends = growing.add(base, dictionary, true, rounds, sections);
      if (draw() % 5 == 0) continue;  // failed: the next one builds on what it would have
      saved.save(sections);
      base = fmt::format("g{}", checkpoint);
      growing.accept(base, std::move(ends));
      ValueDictionary read;
      ASSERT_TRUE(decode_dictionary(saved.content("dictionary"), read).is_ok());
      ASSERT_TRUE(decode_records(saved.content("records"), read).is_ok());
      EXPECT_EQ(encode_dictionary(read, {}, read.size()),
                encode_dictionary(dictionary, {}, dictionary.size()));
      EXPECT_EQ(encode_records(read), encode_records(dictionary));
      EXPECT_EQ(saved.content("rounds"), encode_rounds(rounds));
    }
  }
}

TEST(GrowingSections, WriteWhatIsNew) {
  ValueDictionary dictionary;
  std::vector<std::uint64_t> rounds;
  GrowingSections growing;
  Saved saved;
  std::string base;
  constexpr int kCheckpoints = 100;
  constexpr int kEach = 2'000;
  for (int checkpoint = 0; checkpoint < kCheckpoints; ++checkpoint) {
    for (int i = 0; i < kEach; ++i)
      dictionary.encode((std::uint64_t{1} << 40) + dictionary.wides().size());
    rounds.push_back(1);
    std::vector<NamedSection> sections;
    auto ends = growing.add(base, dictionary, false, rounds, sections);
    saved.save(sections);
    base = fmt::format("g{}", checkpoint);
    growing.accept(base, std::move(ends));
  }
  EXPECT_FALSE(saved.has("records"));
  EXPECT_LT(saved.written(), 3U * 8 * kCheckpoints * kEach);
  // Nothing new: nothing is written.
  std::vector<NamedSection> sections;
  growing.add(base, dictionary, false, rounds, sections);
  for (const NamedSection& section : sections) EXPECT_TRUE(section.is_unchanged);
  // On another generation than the one that was told, all is.
  sections.clear();
  growing.add("another", dictionary, false, rounds, sections);
  for (const NamedSection& section : sections) EXPECT_FALSE(section.is_unchanged);
}

}  // namespace
}  // namespace stratalog::datalog
