// SPDX-License-Identifier: Apache-2.0
// Parts come in order and whole, with a thread and without one, and the error of a part comes where
// the part would have come. Local; threads.
#include "read/read_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

namespace stratalog {
namespace {

constexpr std::uint64_t kPart = 1 << 20;

// Every byte of a part tells where it lies.
std::byte content(std::uint64_t offset) { return static_cast<std::byte>((offset / 4096) * 37); }

struct Source {
  std::uint64_t bad_offset = ~std::uint64_t{0};
  std::atomic<std::uint64_t> reads = 0;

  ReadAhead::Read read() {
    return [this](std::uint64_t offset, std::span<std::byte> to) {
      ++reads;
      if (offset == bad_offset) return Status::io_error("no such place");
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = content(offset + i);
      return Status::ok();
    };
  }
};

// Ascending, of different sizes, with gaps.
std::vector<ReadAhead::Part> parts_of(std::size_t count, std::uint64_t bytes) {
  std::vector<ReadAhead::Part> parts;
  for (std::size_t i = 0; i < count; ++i)
    parts.push_back({.offset = i * 3 * kPart, .bytes = bytes - (i % 5) * 1000});
  return parts;
}

void expect_all(const std::vector<ReadAhead::Part>& parts) {
  Source source;
  ReadAhead ahead(source.read(), parts);
  for (const ReadAhead::Part& part : parts) {
    const auto found = ahead.next();
    ASSERT_TRUE(found.is_ok());
    ASSERT_GE(found.value().size(), part.bytes + ReadAhead::kRoom);
    for (std::uint64_t i = 0; i < part.bytes; i += 512)
      ASSERT_EQ(found.value()[i], content(part.offset + i));
    // The room behind may be written.
    const auto room = found.value().subspan(part.bytes, ReadAhead::kRoom);
    std::fill(room.begin(), room.end(), std::byte{0xFF});
  }
  EXPECT_EQ(source.reads.load(), parts.size());
}

TEST(ReadAhead, PartsComeInOrderWithAThreadAndWithout) {
  expect_all({});
  expect_all(parts_of(3, 5000));
  expect_all(parts_of(40, kPart));
}

TEST(ReadAhead, AnErrorComesInThePlaceOfItsPart) {
  for (const std::uint64_t bytes : {std::uint64_t{5000}, kPart}) {
    const auto parts = parts_of(20, bytes);
    Source source;
    source.bad_offset = parts[11].offset;
    ReadAhead ahead(source.read(), parts);
    for (std::size_t i = 0; i < 11; ++i) EXPECT_TRUE(ahead.next().is_ok());
    EXPECT_EQ(ahead.next().status().code(), StatusCode::kIoError);
    EXPECT_EQ(source.reads.load(), 12U);  // nothing behind it
  }
}

// A reader that gives up early must not hang, nor read everything.
TEST(ReadAhead, StopsWithItsOwner) {
  Source source;
  {
    ReadAhead ahead(source.read(), parts_of(1000, kPart));
    EXPECT_TRUE(ahead.next().is_ok());
  }
  EXPECT_LE(source.reads.load(), 8U);
}

}  // namespace
}  // namespace stratalog
