// SPDX-License-Identifier: Apache-2.0
// The worked example of docs/formats/checkpoint.md, byte for byte.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "encode/shard_encoder.h"
#include "unit/model/sample_sets.h"

namespace stratalog {
namespace {

// Every line of the dump that is not all zeros, and the hash.
void expect_on_page(std::vector<std::byte> bytes, const Hash128& hash) {
  std::ifstream in(std::string(STRATALOG_SOURCE_DIR) + "/docs/formats/checkpoint.md");
  std::ostringstream page;
  page << in.rdbuf();
  bytes.resize(608);  // a whole number of lines
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    std::string line = fmt::format("{:04x} ", at);
    bool zero = true;
    for (std::size_t i = 0; i < 16; ++i) {
      line += fmt::format(" {:02x}", static_cast<unsigned>(bytes[at + i]));
      zero = zero && bytes[at + i] == std::byte{0};
    }
    if (!zero) {
      EXPECT_NE(page.str().find(line), std::string::npos) << line;
    }
  }
  EXPECT_NE(page.str().find(to_hex(hash)), std::string::npos) << to_hex(hash);
}

ShardHeader example_header(ShardEncoding encoding) {
  ShardHeader header;
  header.encoding = encoding;
  header.file_id = std::uint64_t{1} << 32;
  header.nonce = {.low = 1, .high = 2};
  header.store = {.low = 3, .high = 4};
  header.arity = 2;
  header.name = "edge.total";
  return header;
}

class WorkedExample : public ::testing::TestWithParam<ShardEncoding> {};

TEST_P(WorkedExample, IsWhatTheFormatPageShows) {
  const ShardHeader header = example_header(GetParam());
  std::vector<std::byte> bytes;
  const std::vector<std::uint32_t> order = {0, 1};
  ShardEncoder encoder(header, order, 1 << 20, [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status::ok();
  });
  const auto add = [&](Cell prefix, const std::vector<Cell>& values) {
    SetView set;
    set.values = values;
    set.count = values.size();
    ASSERT_TRUE(encoder.add({.prefix = std::span(&prefix, 1), .set = set}).is_ok());
  };
  add(3, {10, 11, 12, 13, 14, 15, 16, 17});
  add(4, {200});
  add(9, {10, 13, 400});
  add(10, {10, 20, 265});
  const auto summary = encoder.finish();
  ASSERT_TRUE(summary.is_ok());
  ASSERT_EQ(bytes.size(), 600U);

  expect_on_page(bytes, summary.value().hash);
}

// The sets of the example; all but the first are rows over a table of four cells.
class ExampleSets final : public SetSource {
 public:
  explicit ExampleSets(std::vector<const std::vector<Cell>*> sets) : sets_(std::move(sets)) {}
  SetView set(std::size_t index) override { return array_view(*sets_[index]); }
  BitRow row(std::size_t index) override {
    if (index == 0) return {};
    row_ = 0;
    for (const Cell cell : *sets_[index]) row_ |= std::uint64_t{1} << (cell - table_.front());
    return {.words = {&row_, 1}, .cells = table_, .table = 7};
  }

 private:
  std::vector<const std::vector<Cell>*> sets_;
  std::vector<Cell> table_ = {10, 11, 12, 13};
  std::uint64_t row_ = 0;
};

TEST(WorkedExampleOfAPool, IsWhatTheFormatPageShows) {
  std::vector<std::byte> bytes;
  const std::vector<std::uint32_t> order = {0, 1};
  ShardEncoder encoder(example_header(ShardEncoding::kCompact), order, 1 << 20,
                       [&](std::span<const std::byte> piece) {
                         bytes.insert(bytes.end(), piece.begin(), piece.end());
                         return Status::ok();
                       });
  const std::vector<Cell> gaps = {10, 13, 400};
  const std::vector<Cell> row = {10, 13};
  const std::vector<Cell> next = {10, 12, 13};
  ExampleSets sets({&gaps, &row, &next, &row});
  const std::vector<Cell> prefixes = {3, 4, 9, 10, 13};
  const std::vector<std::uint32_t> lengths = {1, 2, 1, 1};
  const std::vector<std::uint64_t> contents = {1, 2, 3, 2};
  ASSERT_TRUE(encoder
                  .add({.prefixes = prefixes,
                        .lengths = lengths,
                        .contents = contents,
                        .prefix_cells = 1,
                        .sets = sets})
                  .is_ok());
  const auto summary = encoder.finish();
  ASSERT_TRUE(summary.is_ok());
  ASSERT_EQ(summary.value().run_pools, 1U);
  ASSERT_EQ(bytes.size(), 600U);
  expect_on_page(bytes, summary.value().hash);
}

INSTANTIATE_TEST_SUITE_P(All, WorkedExample,
                         ::testing::Values(ShardEncoding::kCompact, ShardEncoding::kStreams));

}  // namespace
}  // namespace stratalog
