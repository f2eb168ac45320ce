// SPDX-License-Identifier: Apache-2.0
// Records of mail: sizes as promised, the smallest form chosen for each shape of set, and no wild
// read whatever the words say.
#include "route/mail_format.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "model/set_walk.h"
#include "route/set_encoding.h"

namespace stratalog {
namespace {

const std::vector<std::uint32_t> kRecordArities{3, 1, 0};

std::vector<Cell> cells_from(Cell base, Cell step, std::size_t count) {
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < count; ++i) cells.push_back(base + (static_cast<Cell>(i) * step));
  return cells;
}

struct Encoded {
  std::vector<SetKind> kinds;
  std::vector<Cell> cells;
  std::size_t words = 0;
};

// Encodes a set and reads it back.
Encoded round_trip(const std::vector<Cell>& set) {
  const std::array<Cell, 2> prefix{7, 8};
  MailWords words;
  encode_set(0, prefix, set, words);
  Encoded encoded{.kinds = {}, .cells = {}, .words = words.size()};
  const MailHandler handler{.on_run = {}, .on_group = [&](const MailGroup& group) {
                              EXPECT_EQ(group.sender, 3);
                              EXPECT_TRUE(std::ranges::equal(group.group.prefix, prefix));
                              encoded.kinds.push_back(group.group.set.kind);
                              const std::size_t before = encoded.cells.size();
                              walk_set(group.group.set,
                                       [&](Cell cell) { encoded.cells.push_back(cell); });
                              EXPECT_EQ(encoded.cells.size() - before, group.group.set.count);
                              return Status::ok();
                            }};
  const Status status = decode_records(words.words(), 3, kRecordArities, handler);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(encoded.cells, set);
  return encoded;
}

TEST(SetEncoding, PicksTheSmallestForm) {
  using Kinds = std::vector<SetKind>;
  // Few or far apart: cells, two a word.
  EXPECT_EQ(round_trip(cells_from(5, 1, 3)).kinds, Kinds{SetKind::kArray});
  EXPECT_EQ(round_trip(cells_from(5, 1U << 20U, 1000)).kinds, Kinds{SetKind::kArray});
  EXPECT_EQ(round_trip(cells_from(5, 1U << 20U, 1000)).words, 2 + 500U);
  // Within 2^16: offsets, four a word.
  EXPECT_EQ(round_trip(cells_from(0, 100, 600)).kinds, Kinds{SetKind::kOffsets});
  EXPECT_EQ(round_trip(cells_from(0, 100, 600)).words, 3 + 150U);
  // Dense: a bit each.
  EXPECT_EQ(round_trip(cells_from(64, 2, 32000)).kinds, Kinds{SetKind::kBitmap});
  EXPECT_EQ(round_trip(cells_from(64, 2, 32000)).words, 3 + 1000U);
  // Across chunks: each for itself.
  auto mixed = cells_from(1U << 16U, 1, 1U << 16U);
  const auto thin = cells_from(5U << 16U, 700, 90);
  mixed.insert(mixed.end(), thin.begin(), thin.end());
  EXPECT_EQ(round_trip(mixed).kinds, (Kinds{SetKind::kBitmap, SetKind::kOffsets}));
  // The end of the range.
  EXPECT_EQ(round_trip(cells_from(0xffff0000U, 1, 1U << 16U)).kinds, Kinds{SetKind::kBitmap});
}

TEST(SetEncoding, NeverLargerThanCells) {
  constexpr std::uint64_t kSeed = 99;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 300; ++i) {
    const std::size_t count = 1 + (random() % 5000);
    const std::uint64_t span = std::uint64_t{1} << (random() % 33);
    std::vector<Cell> set;
    for (std::size_t n = 0; n < count; ++n) set.push_back(static_cast<Cell>(random() % span));
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    EXPECT_LE(round_trip(set).words, array_words(2, set.size()))
        << "seed " << kSeed << ", set " << i;
  }
}

TEST(MailFormat, RecordsHaveThePromisedSizes) {
  MailWords words;
  const std::array<Cell, 6> cells{1, 2, 3, 4, 5, 6};
  encode_run(0, 2, cells, words);
  EXPECT_EQ(words.size(), run_words(2, 3));
  EXPECT_EQ(record_words(words.words(), kRecordArities), words.size());
  words.clear();
  TupleGroup group{.prefix = std::span(cells).first(2), .set = {}};
  group.set.values = cells;
  group.set.count = 6;
  encode_group(0, group, words);
  EXPECT_EQ(words.size(), group_words(group));
  EXPECT_EQ(record_words(words.words(), kRecordArities), words.size());
}

TEST(MailFormat, RunsTravelAsOffsets) {
  const std::array<std::uint16_t, 4> runs{1, 2, 65530, 5};
  TupleGroup group;
  group.set.kind = SetKind::kRuns;
  group.set.base = 70000;
  group.set.offsets = runs;
  group.set.count = 9;
  MailWords words;
  encode_group(1, {.prefix = {}, .set = group.set}, words);
  EXPECT_EQ(words.size(), group_words(group));
  std::vector<Cell> cells;
  const MailHandler handler{.on_run = {}, .on_group = [&](const MailGroup& found) {
                              EXPECT_EQ(found.group.set.kind, SetKind::kOffsets);
                              walk_set(found.group.set, [&](Cell cell) { cells.push_back(cell); });
                              return Status::ok();
                            }};
  ASSERT_TRUE(decode_records(words.words(), 0, kRecordArities, handler).is_ok());
  EXPECT_EQ(cells, (std::vector<Cell>{70001, 70002, 70003, 135530, 135531, 135532, 135533, 135534,
                                      135535}));
}

TEST(MailFormat, ADamagedWordIsAnErrorAndNeverAWildRead) {
  constexpr std::uint64_t kSeed = 4;
  std::mt19937_64 random(kSeed);
  MailWords words;
  const std::array<Cell, 9> cells{1, 2, 3, 4, 5, 6, 7, 8, 9};
  encode_run(0, 3, cells, words);
  encode_set(1, {}, cells_from(0, 3, 4000), words);
  encode_set(0, std::span(cells).first(2), cells_from(9, 200, 100), words);
  encode_run(2, 1, std::span(cells).first(1), words);
  std::uint64_t touched = 0;
  const MailHandler handler{.on_run =
                                [&](const MailRun& run) {
                                  for (const Cell cell : run.cells) touched += cell;
                                  return Status::ok();
                                },
                            .on_group =
                                [&](const MailGroup& group) {
                                  for (const Cell cell : group.group.prefix) touched += cell;
                                  walk_set(group.group.set, [&](Cell cell) { touched += cell; });
                                  return Status::ok();
                                }};
  ASSERT_TRUE(decode_records(words.words(), 0, kRecordArities, handler).is_ok());
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    // A copy of exactly the right size, so that a sanitizer sees any step beyond.
    std::vector<std::uint64_t> damaged(words.words().begin(), words.words().end());
    const std::size_t at = i % 2 == 0 ? random() % 3 : random() % damaged.size();
    damaged[at] ^= std::uint64_t{1} << (random() % 64);
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    const Status status = decode_records(damaged, 0, kRecordArities, handler);
    if (status.code() == StatusCode::kCorruption) ++refused;
  }
  EXPECT_GT(refused, 5000) << "seed " << kSeed;
}

TEST(MailFormat, MailThatNobodyHandlesIsAnError) {
  MailWords words;
  const std::array<Cell, 3> cells{1, 2, 3};
  encode_run(0, 1, cells, words);
  EXPECT_EQ(decode_records(words.words(), 0, kRecordArities, {}).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace stratalog
