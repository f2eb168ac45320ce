// SPDX-License-Identifier: Apache-2.0
// SharedBeside: mode shared where a thread packs beside the caller. What ranks need of each other
// is only how many bytes each has, and the caller asks for that at its safe points: the thread
// packs until all is packed or the stage is full, and waits; once all ranks' threads do, their
// callers meet and places follow; the threads write there and go on. So the files grow in rounds as
// those of write_shared_files do, all relations in one round as long as they fit into the stage.
// One thread and one caller; members say whose they are.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "checkpoint/meetings.h"
#include "checkpoint/queued_file.h"
#include "checkpoint/save_plan.h"
#include "write/parallel_files.h"

namespace stratalog {

class SharedBeside final : public Meetings {
 public:
  SharedBeside(const SaveContext& context, LocalOutput& out);

  // The caller's. Collective, with one verdict: creates the files; then the thread may begin.
  Status create_files();
  bool is_ready() const override;
  void wait_until_ready() override;
  void meet() override;
  bool is_over() const override { return over_; }
  // The caller's: nobody will meet (again), the thread is to end.
  void give_up();

  // The thread's: all of it. Local; this rank's verdict, or Cancelled where another rank failed.
  Status write();

 private:
  enum class RankState : std::uint64_t { kGoesOn = 0, kDone = 1, kFailed = 2 };
  // A file of this rank's group.
  struct GroupFile {
    std::string name;
    SaveLayout::Batch batch;
    QueuedFile file;
    std::uint64_t end = 0;  // the caller's
  };
  // One relation version.
  struct Shard {
    Bytes stage;  // of the round; the thread's, and the caller's size of it while the thread waits
    std::vector<Extent> extents;
    ShardSummary summary;
  };

  bool is_leader() const;
  Status pack_all();
  Status pack(std::size_t dataset);
  Status append(std::size_t dataset, std::span<const std::byte> bytes);
  Status round(RankState state);
  Status write_stage();
  Status place(std::span<const std::byte> told, bool& is_last);

  const SaveContext& context_;
  LocalOutput& out_;
  std::vector<GroupFile> files_;
  std::vector<Shard> shards_;  // per dataset of the layout
  // The thread's:
  std::size_t packed_ = 0;  // so many datasets are packed completely
  std::size_t finished_ = 0;  // so many files are written completely
  std::uint64_t staged_bytes_ = 0;
  bool has_ended_ = false;  // nobody meets any more
  std::uint64_t not_writing_ns_ = 0;  // of what a round takes: waiting and fsync
  // The caller's:
  std::vector<std::uint64_t> mine_;  // what this rank tells when ranks meet
  bool over_ = false;
  // Guarded by mutex_:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool may_begin_ = false;
  bool is_given_up_ = false;
  bool is_waiting_ = false;  // the thread, for places
  RankState state_ = RankState::kGoesOn;  // the last one that the thread told
  Status answer_;
  std::vector<std::uint64_t> offsets_;  // per dataset
};

}  // namespace stratalog
