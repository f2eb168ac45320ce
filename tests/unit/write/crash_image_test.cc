// SPDX-License-Identifier: Apache-2.0
// The model behind the crash tests says what POSIX says: what floats, what is pinned, what a lost
// or torn operation leaves, and which orders of ranks are possible.
#include "write/crash_image.h"

#include <gtest/gtest.h>

#include "write/memory_store.h"
#include "write/operation_log.h"

namespace stratalog {
namespace {

Bytes text_bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string text_at(const MemoryDisk& disk, const std::string& path) {
  const auto id = disk.find(path);
  if (!id.is_ok()) return "(missing)";
  const Bytes& data = disk.node(id.value()).data;
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// create t, write "hello", [fsync], rename t -> f, [fsync directory]
std::vector<Operation> write_and_rename(bool sync_file, bool sync_directory) {
  const auto disk = std::make_shared<MemoryDisk>();
  OperationLog log(*disk);
  const auto memory = open_memory_store(disk);
  const auto store = open_recording_store(*memory, log, 0);
  auto file = store->open("t", OpenMode::kCreateExclusive);
  EXPECT_TRUE(file.value()->write_at(0, text_bytes("hello")).is_ok());
  if (sync_file) {
    EXPECT_TRUE(file.value()->sync().is_ok());
  }
  EXPECT_TRUE(store->rename("t", "f").is_ok());
  if (sync_directory) {
    EXPECT_TRUE(store->sync_directory(".").is_ok());
  }
  return log.take();
}

// Copies share what neither changes, and nobody sees what the other does.
TEST(MemoryDisk, CopiesAreIndependent) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  const auto file = store->open("f", OpenMode::kCreateExclusive);
  ASSERT_TRUE(file.value()->write_at(0, text_bytes("hello")).is_ok());
  const auto copy = disk->clone();
  const std::uint64_t before = disk->fingerprint();
  EXPECT_EQ(copy->fingerprint(), before);

  ASSERT_TRUE(file.value()->write_at(0, text_bytes("jello")).is_ok());
  EXPECT_NE(disk->fingerprint(), before);
  EXPECT_EQ(copy->fingerprint(), before);
  EXPECT_EQ(text_at(*copy, "f"), "hello");

  ASSERT_TRUE(open_memory_store(copy)->remove_file("f").is_ok());
  EXPECT_NE(copy->fingerprint(), before);
  EXPECT_EQ(text_at(*disk, "f"), "jello");
  ASSERT_TRUE(file.value()->write_at(0, text_bytes("hello")).is_ok());
  EXPECT_EQ(disk->fingerprint(), before);
}

// What explorers count on: the operations before the first floating one can be carried out once.
TEST(CrashImage, WhatIsPinnedMayComeFirst) {
  const auto disk = std::make_shared<MemoryDisk>();
  OperationLog log(*disk);
  const auto memory = open_memory_store(disk);
  const auto store = open_recording_store(*memory, log, 0);
  ASSERT_TRUE(store->make_directory("d").is_ok());
  ASSERT_TRUE(store->sync_directory(".").is_ok());
  const auto first = store->open("d/a", OpenMode::kCreateExclusive);
  ASSERT_TRUE(store->sync_directory("d").is_ok());
  ASSERT_TRUE(first.value()->write_at(0, text_bytes("hello")).is_ok());
  ASSERT_TRUE(first.value()->sync().is_ok());
  ASSERT_TRUE(store->make_directory("e").is_ok());
  const auto second = store->open("e/b", OpenMode::kCreateExclusive);
  ASSERT_TRUE(second.value()->write_at(0, text_bytes("world")).is_ok());
  ASSERT_TRUE(store->rename("e/b", "d/b").is_ok());
  ASSERT_TRUE(store->remove_file("d/a").is_ok());
  const std::vector<Operation> all = log.take();
  const std::span<const Operation> operations(all);

  const std::vector<std::size_t> floating = floating_operations(operations);
  ASSERT_EQ(floating.size(), 5U);
  const std::size_t pinned = floating.front();
  ASSERT_GT(pinned, 4U);
  const MemoryDisk empty;
  const auto base = crash_image(empty, operations.first(pinned), {}, {});
  for (unsigned subset = 0; subset < 32; ++subset) {
    std::vector<std::size_t> dropped;
    std::vector<std::size_t> later;  // counted from the first floating one
    for (std::size_t i = 0; i < floating.size(); ++i) {
      if ((subset >> i & 1) == 0) continue;
      dropped.push_back(floating[i]);
      later.push_back(floating[i] - pinned);
    }
    const auto whole = crash_image(empty, operations, dropped, {});
    const auto in_two = crash_image(*base, operations.subspan(pinned), later, {});
    EXPECT_EQ(in_two->fingerprint(), whole->fingerprint()) << subset;
  }
}

TEST(CrashImage, SyncedOperationsDoNotFloat) {
  EXPECT_EQ(floating_operations(write_and_rename(false, false)).size(), 3U);
  EXPECT_EQ(floating_operations(write_and_rename(true, false)).size(), 2U);
  EXPECT_EQ(floating_operations(write_and_rename(false, true)).size(), 1U);
  EXPECT_TRUE(floating_operations(write_and_rename(true, true)).empty());
}

TEST(CrashImage, AFileMayHaveANameAndNoContentOrTheReverse) {
  const auto log = write_and_rename(false, false);
  const MemoryDisk empty;
  const std::size_t write[] = {1};
  EXPECT_EQ(text_at(*crash_image(empty, log, write, {}), "f"), "");
  const std::size_t rename[] = {2};
  EXPECT_EQ(text_at(*crash_image(empty, log, rename, {}), "f"), "(missing)");
  EXPECT_EQ(text_at(*crash_image(empty, log, rename, {}), "t"), "hello");
  const std::size_t create[] = {0};
  EXPECT_EQ(text_at(*crash_image(empty, log, create, {}), "f"), "hello");
  const std::size_t both[] = {0, 2};
  EXPECT_EQ(text_at(*crash_image(empty, log, both, {}), "f"), "(missing)");
  EXPECT_EQ(text_at(*crash_image(empty, log, {}, {}), "f"), "hello");
}

TEST(CrashImage, TornWritesAndRenames) {
  const auto log = write_and_rename(false, false);
  const MemoryDisk empty;
  const auto torn = [&](TearKind kind, std::uint64_t keep) {
    return text_at(*crash_image(empty, log, {}, {.operation = 1, .kind = kind, .keep = keep}), "f");
  };
  EXPECT_EQ(torn(TearKind::kPrefix, 2), "he");
  EXPECT_EQ(torn(TearKind::kZeroTail, 2), std::string("he\0\0\0", 5));
  EXPECT_EQ(torn(TearKind::kGarbageTail, 4).size(), 5U);
  EXPECT_NE(torn(TearKind::kGarbageTail, 4), "hello");
  const auto half =
      crash_image(empty, log, {}, {.operation = 2, .kind = TearKind::kHalfRename, .keep = 0});
  EXPECT_EQ(text_at(*half, "f"), "hello");
  EXPECT_EQ(text_at(*half, "t"), "hello");
}

TEST(CrashImage, AnotherRanksFsyncDoesNotPinMyWrites) {
  const auto disk = std::make_shared<MemoryDisk>();
  OperationLog log(*disk);
  const auto memory = open_memory_store(disk);
  const auto mine = open_recording_store(*memory, log, 0);
  const auto theirs = open_recording_store(*memory, log, 1);
  auto file = mine->open("f", OpenMode::kCreateExclusive);
  auto same = theirs->open("f", OpenMode::kWriteExisting);
  EXPECT_TRUE(file.value()->write_at(0, text_bytes("a")).is_ok());
  EXPECT_TRUE(same.value()->sync().is_ok());
  EXPECT_EQ(floating_operations(log.operations()).size(), 2U);
  EXPECT_TRUE(file.value()->sync().is_ok());
  EXPECT_EQ(floating_operations(log.operations()).size(), 1U);
}

TEST(ReorderRanks, KeepsEachRanksOrderAndWhatCollectivesOrder) {
  const auto disk = std::make_shared<MemoryDisk>();
  OperationLog log(*disk);
  const Status run = sim_run(3, [&](Comm& inner) -> Status {
    const auto comm = make_recording_comm(inner, log);
    for (int phase = 0; phase < 4; ++phase) {
      for (int i = 0; i < 3; ++i)
        log.mark(inner.rank(), std::to_string(phase) + "." + std::to_string(i));
      STRATALOG_RETURN_IF_ERROR(comm->barrier());
    }
    return Status::ok();
  });
  ASSERT_TRUE(run.is_ok());
  std::size_t differing = 0;
  std::string first_order;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto merged = reorder_ranks(log.operations(), 3, seed);
    ASSERT_EQ(merged.size(), log.operations().size());
    std::string order;
    char last_phase = '0';
    std::vector<std::string> last(3);
    for (const Operation& operation : merged) {
      if (operation.kind != OperationKind::kMark) continue;
      EXPECT_GE(operation.name[0], last_phase) << "a phase began before the barrier";
      last_phase = operation.name[0];
      EXPECT_GT(operation.name, last[static_cast<std::size_t>(operation.rank)]);
      last[static_cast<std::size_t>(operation.rank)] = operation.name;
      order += static_cast<char>('0' + operation.rank);
    }
    if (first_order.empty()) first_order = order;
    differing += order == first_order ? 0U : 1U;
  }
  EXPECT_GT(differing, 10U);
}

}  // namespace
}  // namespace stratalog
