// SPDX-License-Identifier: Apache-2.0
// Writes happen in order, from bytes that are still what was handed over, and none after an error;
// with a thread and without one. Local; threads.
#include "write/write_beside.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace stratalog {
namespace {

constexpr std::size_t kPiece = 4096;

struct Target {
  std::uint64_t bad_at = ~std::uint64_t{0};
  std::vector<std::uint64_t> written;
  std::vector<std::byte> content;

  WriteBeside::Write write() {
    return [this](std::uint64_t at, std::span<const std::byte> bytes) {
      if (at == bad_at) return Status::io_error("the disk is gone");
      written.push_back(at);
      content.insert(content.end(), bytes.begin(), bytes.end());
      return Status::ok();
    };
  }
};

// As many buffers as the owner needs, filled in turns with the number of the piece.
Status write_pieces(WriteBeside& beside, std::size_t count) {
  std::vector<std::array<std::byte, kPiece>> buffers(beside.buffers());
  Status status;
  for (std::size_t i = 0; i < count && status.is_ok(); ++i) {
    auto& buffer = buffers[i % buffers.size()];
    buffer.fill(static_cast<std::byte>(i * 31));
    status = beside.write(i * kPiece, buffer);
  }
  const Status finished = beside.finish();
  return status.is_ok() ? finished : status;
}

void expect_all_in_order(WriteThread thread) {
  Target target;
  WriteBeside beside(target.write(), thread);
  ASSERT_TRUE(write_pieces(beside, 500).is_ok());
  ASSERT_EQ(target.written.size(), 500U);
  for (std::size_t i = 0; i < target.written.size(); ++i) {
    ASSERT_EQ(target.written[i], i * kPiece);
    ASSERT_EQ(target.content[i * kPiece], static_cast<std::byte>(i * 31));
    ASSERT_EQ(target.content[(i * kPiece) + kPiece - 1], static_cast<std::byte>(i * 31));
  }
}

TEST(WriteBeside, InOrderAndUnchanged) {
  expect_all_in_order(WriteThread::kNone);
  for (int i = 0; i < 20; ++i) expect_all_in_order(WriteThread::kOwn);
}

void expect_end_at_error(WriteThread thread) {
  Target target{.bad_at = 7 * kPiece, .written = {}, .content = {}};
  WriteBeside beside(target.write(), thread);
  const Status status = write_pieces(beside, 500);
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_EQ(target.written.size(), 7U);
}

TEST(WriteBeside, NothingFollowsAnError) {
  expect_end_at_error(WriteThread::kNone);
  for (int i = 0; i < 20; ++i) expect_end_at_error(WriteThread::kOwn);
}

TEST(WriteBeside, TheErrorOfTheLastWriteComesFromFinish) {
  Target target{.bad_at = 2 * kPiece, .written = {}, .content = {}};
  WriteBeside beside(target.write(), WriteThread::kOwn);
  EXPECT_EQ(write_pieces(beside, 3).code(), StatusCode::kIoError);
}

TEST(WriteBeside, AThreadOnlyForASpareCoreAndManyBytes) {
  constexpr std::uint64_t kMuch = std::uint64_t{64} << 20;
  EXPECT_EQ(plan_write_thread(kMuch, 1, 2), WriteThread::kOwn);
  EXPECT_EQ(plan_write_thread(kMuch, 2, 2), WriteThread::kNone);
  EXPECT_EQ(plan_write_thread(kMuch, 4, 2), WriteThread::kNone);
  EXPECT_EQ(plan_write_thread(kMuch, 1, 0), WriteThread::kNone);  // nobody knows
  EXPECT_EQ(plan_write_thread(4096, 1, 64), WriteThread::kNone);
}

TEST(WriteBeside, NothingAtAll) {
  Target target;
  WriteBeside beside(target.write(), WriteThread::kOwn);
  EXPECT_TRUE(beside.finish().is_ok());
  EXPECT_EQ(beside.busy_ns(), 0U);
}

}  // namespace
}  // namespace stratalog
