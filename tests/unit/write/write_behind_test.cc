// SPDX-License-Identifier: Apache-2.0
// What WriteBehind hands to a file: whole pages, each once, in pieces of some MiB; nothing where
// nobody will sync. Local.
#include "write/write_behind.h"

#include <gtest/gtest.h>

#include "policy/byte_units.h"

namespace stratalog {
namespace {

class HintedFile final : public File {
 public:
  struct Range {
    std::uint64_t offset;
    std::uint64_t bytes;
    friend bool operator==(const Range&, const Range&) = default;
  };
  Status write_at(std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override {
    return Status::ok();
  }
  Status read_at(std::uint64_t /*offset*/, std::span<std::byte> /*bytes*/) override {
    return Status::ok();
  }
  Result<std::uint64_t> size_bytes() override { return std::uint64_t{0}; }
  void begin_writeback(std::uint64_t offset, std::uint64_t bytes) override {
    ranges.push_back({.offset = offset, .bytes = bytes});
  }
  Status sync() override { return Status::ok(); }
  Status close() override { return Status::ok(); }

  std::vector<Range> ranges;
};

TEST(WriteBehind, SendsWholePagesInPieces) {
  HintedFile file;
  WriteBehind behind(SyncFiles::kYes);
  for (std::uint64_t at = 100; at < 9 * kMiB; at += kMiB) behind.wrote(file, at, kMiB);
  const std::vector<HintedFile::Range> expected = {{.offset = 100, .bytes = 4 * kMiB - 100},
                                                   {.offset = 4 * kMiB, .bytes = 4 * kMiB}};
  EXPECT_EQ(file.ranges, expected);
}

TEST(WriteBehind, AJumpSendsWhatWasLeft) {
  HintedFile file;
  WriteBehind behind(SyncFiles::kYes);
  behind.wrote(file, 0, kMiB);
  behind.wrote(file, 64 * kMiB, kMiB);
  behind.wrote(file, 64 * kMiB, 0);
  EXPECT_EQ(file.ranges, (std::vector<HintedFile::Range>{{.offset = 0, .bytes = kMiB}}));
}

TEST(WriteBehind, APauseSendsWhatIsThereOnce) {
  HintedFile file;
  WriteBehind behind(SyncFiles::kYes);
  behind.pause(file);
  EXPECT_TRUE(file.ranges.empty());
  behind.wrote(file, 0, 100);
  behind.pause(file);
  behind.pause(file);
  EXPECT_EQ(file.ranges, (std::vector<HintedFile::Range>{{.offset = 0, .bytes = 100}}));
}

TEST(WriteBehind, NothingWhereNobodySyncs) {
  HintedFile file;
  WriteBehind behind(SyncFiles::kNo);
  for (std::uint64_t at = 0; at < 64 * kMiB; at += kMiB) behind.wrote(file, at, kMiB);
  behind.pause(file);
  EXPECT_TRUE(file.ranges.empty());
}

}  // namespace
}  // namespace stratalog
