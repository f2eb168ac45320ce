// SPDX-License-Identifier: Apache-2.0
// Stripes of a generation's folder: set before any rank creates a file, taken back after all have,
// and never a reason for a save to fail.
#include "checkpoint/striped_folder.h"

#include <gtest/gtest.h>

#include <mutex>

#include "checkpoint/checkpoint.h"
#include "unit/checkpoint/long_runs.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr int kRanks = 3;
constexpr StripingPlan kStripes{.stripe_count = 48, .stripe_bytes = std::uint64_t{8} << 20};

// What happened, in order.
class Events {
 public:
  void add(const std::string& event) {
    const std::lock_guard guard(mutex_);
    events_.push_back(event);
  }
  const std::vector<std::string>& all() const { return events_; }

 private:
  std::mutex mutex_;
  std::vector<std::string> events_;
};

// Only what has stripes differs from the store in memory.
class StripedStore : public Store {
 public:
  StripedStore(Events& events, Status answer) : events_(events), answer_(std::move(answer)) {}
  Status stripe_new_files(const std::string& path, const StripingPlan& striping) override {
    events_.add("stripes of " + path + ": " + std::to_string(striping.stripe_count));
    return answer_;
  }
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    return inner_->open(path, mode);
  }
  Status make_directory(const std::string& path) override { return inner_->make_directory(path); }
  Status remove_file(const std::string& path) override { return inner_->remove_file(path); }
  Status remove_directory(const std::string& path) override {
    return inner_->remove_directory(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    return inner_->rename(from, to);
  }
  Status sync_directory(const std::string& path) override { return inner_->sync_directory(path); }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return inner_->list(path);
  }
  Result<FileInfo> info(const std::string& path) override { return inner_->info(path); }
  Result<std::uint64_t> free_bytes() override { return inner_->free_bytes(); }
  Status random_bytes(std::span<std::byte> bytes) override { return inner_->random_bytes(bytes); }
  std::string root() const override { return inner_->root(); }

 private:
  Events& events_;
  Status answer_;
  std::unique_ptr<Store> inner_ = open_memory_store(std::make_shared<MemoryDisk>());
};

// All ranks write, which `answer` says how it went; rank 0's notes.
std::vector<std::string> write_on_all(Events& events, const StripingPlan& striping,
                                      const Status& set, const Status& answer) {
  std::vector<std::string> notes;
  const Status status = sim_run(kRanks, [&](Comm& comm) -> Status {
    StripedStore store(events, set);
    std::vector<std::string> mine;
    const StripedFolder folder{.name = "gen", .striping = striping, .is_mine = comm.rank() == 1};
    const Status written = write_striped(comm, store, folder, mine, [&] {
      events.add("write");
      return agree(comm, answer);
    });
    EXPECT_EQ(written.code(), answer.code());
    if (comm.rank() == 0)
      notes = mine;
    else
      EXPECT_TRUE(mine.empty());
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return notes;
}

TEST(StripedFolder, StripesHoldWhileFilesAreCreated) {
  for (const Status& answer : {Status::ok(), Status::io_error("the disk is gone")}) {
    Events events;
    EXPECT_TRUE(write_on_all(events, kStripes, Status::ok(), answer).empty());
    EXPECT_EQ(events.all(), (std::vector<std::string>{"stripes of gen: 48", "write", "write",
                                                      "write", "stripes of gen: 0"}));
  }
}

TEST(StripedFolder, WithoutStripesOnlyRankZeroHasANote) {
  Events events;
  const auto notes =
      write_on_all(events, kStripes, Status::not_supported("there is no lfs"), Status::ok());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("there is no lfs"), std::string::npos) << notes[0];
  EXPECT_EQ(events.all().size(), 4U);
}

// A store on Lustre where `lfs` is not to be had.
class StoreWithoutLfs final : public StripedStore {
 public:
  explicit StoreWithoutLfs(Events& events)
      : StripedStore(events, Status::not_supported("there is no lfs")) {}
  Result<FileSystemFacts> file_system() override {
    FileSystemFacts facts;
    facts.kind = FileSystemKind::kLustre;
    facts.name = "lustre";
    return facts;
  }
};

TEST(StripedFolder, AJobSaysOnceThatThereAreNone) {
  constexpr Cell kPathKeys = 30000;  // enough for a file that is expected to exceed 1 GiB
  Events events;
  StoreWithoutLfs store(events);
  const auto comm = make_self_comm();
  for (int job = 0; job < 2; ++job) {
    const auto writer = open_checkpoint_writer(*comm, store, {});
    ASSERT_TRUE(writer.is_ok());
    SaveRequest request;
    request.mode = CheckpointMode::kSharedOpt;
    request.images = {image_of_runs("path", 0, 1, kPathKeys)};
    for (int save = 0; save < 3; ++save) {
      const auto report = writer.value()->save(request);
      ASSERT_TRUE(report.is_ok()) << report.status().to_string();
      EXPECT_EQ(report.value().notes.size(), save == 0 ? 1U : 0U);
    }
  }
  EXPECT_EQ(events.all().size(), 6U) << "each save tries";
}

TEST(StripedFolder, APlanWithoutStripesAsksForNone) {
  Events events;
  EXPECT_TRUE(write_on_all(events, {}, Status::ok(), Status::ok()).empty());
  EXPECT_EQ(events.all(), (std::vector<std::string>{"write", "write", "write"}));
}

}  // namespace
}  // namespace stratalog
