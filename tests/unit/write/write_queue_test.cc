// SPDX-License-Identifier: Apache-2.0
// Operations happen in order, with the bytes that were added, and none after an error; with a
// thread and at once. Local; threads.
#include "write/write_queue.h"
#include "failing_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "failing_memory.h"

namespace stratalog {
namespace {

constexpr std::size_t kQueuedPiece = 1000;

// What was carried out: a letter for each piece, and '|' for a sync.
struct Carried {
  std::string log;
  std::size_t fail_at = ~std::size_t{0};

  Status note(char what) {
    if (log.size() == fail_at) return Status::io_error("the disk is gone");
    log += what;
    return {};
  }
};

Status add_piece(WriteQueue& queue, Carried& carried, char letter) {
  std::array<char, kQueuedPiece> buffer{};
  buffer.fill(letter);  // overwritten by the next call
  return queue.add(std::as_bytes(std::span(buffer)), [&](std::span<const std::byte> bytes) {
    for (const std::byte b : bytes)
      if (b != bytes[0]) return Status::internal("torn bytes");
    return bytes.size() == kQueuedPiece ? carried.note(static_cast<char>(bytes[0]))
                                        : Status::internal("lost bytes");
  });
}

std::string expected_log(int rounds) {
  std::string log;
  for (int i = 0; i < rounds; ++i) log += std::string{static_cast<char>('a' + (i % 26)), '|'};
  return log;
}

Status add_rounds(WriteQueue& queue, Carried& carried, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    STRATALOG_RETURN_IF_ERROR(add_piece(queue, carried, static_cast<char>('a' + (i % 26))));
    STRATALOG_RETURN_IF_ERROR(queue.add([&] { return carried.note('|'); }));
  }
  return {};
}

TEST(WriteQueue, InOrderAndUnchanged) {
  {
    WriteQueue queue;
    Carried carried;
    EXPECT_TRUE(add_rounds(queue, carried, 50).is_ok());
    EXPECT_EQ(carried.log, expected_log(50)) << "without a thread at once";
    EXPECT_TRUE(queue.is_done());
    EXPECT_TRUE(queue.finish().is_ok());
  }
  // From a buffer that holds no piece to one that holds them all.
  for (const std::uint64_t most : {std::uint64_t{0}, std::uint64_t{1500}, std::uint64_t{1} << 20}) {
    Carried carried;
    WriteQueue queue;
    queue.start(most);
    EXPECT_TRUE(add_rounds(queue, carried, 300).is_ok());
    EXPECT_TRUE(queue.finish().is_ok());
    EXPECT_TRUE(queue.is_done());
    EXPECT_EQ(carried.log, expected_log(300));
    EXPECT_LE(queue.peak_bytes(), std::max<std::uint64_t>(most, kQueuedPiece));
    EXPECT_GE(queue.peak_bytes(), kQueuedPiece);
  }
}

TEST(WriteQueue, NothingAfterAnError) {
  for (const bool has_thread : {false, true})
    for (std::size_t at = 0; at < 12; ++at) {
      Carried carried;
      carried.fail_at = at;
      WriteQueue queue;
      if (has_thread) queue.start(2 * kQueuedPiece);
      const Status added = add_rounds(queue, carried, 6);
      EXPECT_EQ(queue.finish().code(), StatusCode::kIoError) << "at " << at;
      if (!has_thread) {
        EXPECT_EQ(added.code(), StatusCode::kIoError);
      }
      EXPECT_EQ(carried.log, expected_log(6).substr(0, at));
    }
}

TEST(WriteQueue, AddingGoesOnWhileTheFirstIsCarriedOut) {
  Carried carried;
  WriteQueue queue;
  queue.start(std::uint64_t{1} << 20);
  std::mutex gate;
  std::unique_lock closed(gate);
  EXPECT_TRUE(queue
                  .add([&] {
                    const std::lock_guard open(gate);
                    return Status::ok();
                  })
                  .is_ok());
  EXPECT_TRUE(add_rounds(queue, carried, 20).is_ok());
  queue.close();
  EXPECT_FALSE(queue.is_done());
  EXPECT_EQ(carried.log, "");
  closed.unlock();
  EXPECT_TRUE(queue.finish().is_ok());
  EXPECT_EQ(carried.log, expected_log(20));
  EXPECT_EQ(queue.peak_bytes(), 20 * kQueuedPiece);
}

TEST(WriteQueue, WantOfMemoryIsAnError) {
  WriteQueue queue;
  queue.start(1000);
  EXPECT_TRUE(queue.add([]() -> Status { throw std::bad_alloc(); }).is_ok());
  EXPECT_EQ(queue.finish().code(), StatusCode::kNoSpace);
}

// Of what is to wait, too: it is told at once, nothing follows it, and nobody waits for its room.
TEST(WriteQueue, WantOfMemoryForWhatWaitsIsAnError) {
  constexpr std::size_t kMuch = std::size_t{1} << 16;
  const std::vector<std::byte> bytes(kMuch);
  const auto nothing = [](std::span<const std::byte>) { return Status::ok(); };
  bool is_reached = false;
  WriteQueue queue;
  queue.start(kMuch);
  EXPECT_TRUE(queue.add(bytes, nothing).is_ok());
  {
    const FailingMemory none({.bytes = kMuch});
    EXPECT_EQ(queue.add(bytes, nothing).code(), StatusCode::kNoSpace);
  }
  const auto reach = [&]() -> Status {
    is_reached = true;
    return {};
  };
  EXPECT_EQ(queue.add(reach).code(), StatusCode::kNoSpace);
  EXPECT_EQ(queue.add(bytes, nothing).code(), StatusCode::kNoSpace);
  EXPECT_EQ(queue.finish().code(), StatusCode::kNoSpace);
  EXPECT_FALSE(is_reached);
}

// Whoever goes away before the end loses nothing, and files are closed before finish() returns.
TEST(WriteQueue, CarriesOutWhatWasAddedHoweverItEnds) {
  Carried carried;
  const auto held = std::make_shared<int>(1);
  {
    WriteQueue queue;
    queue.start(1 << 20);
    EXPECT_TRUE(add_rounds(queue, carried, 40).is_ok());
    EXPECT_TRUE(queue.add([held] { return Status::ok(); }).is_ok());
  }
  EXPECT_EQ(carried.log, expected_log(40));
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace stratalog
