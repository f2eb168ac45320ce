// SPDX-License-Identifier: Apache-2.0
// Memory that ends on one rank while a checkpoint is written: every larger request of a save is
// refused once, for each layout. All ranks see the checkpoint fail, or succeed where it can be had
// without; none waits for the others, and the next checkpoint is whole.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "checkpoint/checkpoint.h"
#include "failing_memory.h"
#include "fault/loaded_samples.h"
#include "fault/small_writer_options.h"
#include "one_core.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr int kRanks = 3;
constexpr std::uint64_t kLarger = 2048;  // bytes

struct SaveCase {
  CheckpointMode mode;
  FileSystemKind file_system;
};

struct SaveEnd {
  std::vector<Status> statuses{static_cast<std::size_t>(kRanks)};
  bool was_refused = false;
};

SaveEnd save_without_memory(const std::shared_ptr<MemoryDisk>& disk, const SaveCase& one, int poor,
                            std::uint64_t granted,
                            const std::vector<sample::SampleRelation>& relations) {
  SaveEnd end;
  const Status again = sim_run_on_one_core(kRanks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    WriterOptions options = sample::small_writer_options();
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
    SaveRequest request = sample::request_of(relations, comm.rank(), kRanks);
    request.mode = one.mode;
    std::optional<FailingMemory> want;
    if (comm.rank() == poor)
      want.emplace(MemoryEnd{.bytes = kLarger, .granted = granted, .refused = 1});
    Status status;
    try {
      status = writer->save(request).status();
    } catch (const std::bad_alloc&) {
      status = Status::internal("want of memory left the save");
    }
    if (comm.rank() == poor) end.was_refused = memory_end_of_thread.refused == 0;
    want.reset();
    end.statuses[static_cast<std::size_t>(comm.rank())] = status;
    if (status.code() == StatusCode::kInternal) return status;
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    return writer->save(request).status();
  });
  EXPECT_TRUE(again.is_ok()) << again.to_string();
  return end;
}

void load_and_compare(const std::shared_ptr<MemoryDisk>& disk,
                      const std::vector<sample::SampleRelation>& relations) {
  sample::Collected collected;
  const Status status = sim_run_on_one_core(2, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    std::vector<StoredRelation> stored;
    return load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored)).status();
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  sample::expect_collected(collected, relations);
}

class SaveMemory : public testing::TestWithParam<SaveCase> {};

TEST_P(SaveMemory, EveryLargerRequestIsRefusedOnce) {
  const auto relations = sample::sample_relations(5, 200);
  // HDF5 does not recover from want of memory while it begins.
  save_without_memory(std::make_shared<MemoryDisk>(), GetParam(), -1, 0, relations);
  int failures = 0;
  std::uint64_t refused = 0;
  for (const int poor : {0, 2})
    for (std::uint64_t granted = 0;; granted += 1 + (granted / 32)) {
      SCOPED_TRACE(fmt::format("rank {}, {} granted", poor, granted));
      const auto disk = std::make_shared<MemoryDisk>();
      disk->file_system.kind = GetParam().file_system;
      const SaveEnd end = save_without_memory(disk, GetParam(), poor, granted, relations);
      for (const Status& status : end.statuses) {
        EXPECT_EQ(status.code(), end.statuses.front().code()) << status.to_string();
        // HDF5 does not say why its driver failed.
        const bool is_hdf5 = status.message().find("H5") != std::string::npos;
        EXPECT_TRUE(status.is_ok() || is_hdf5 || status.code() == StatusCode::kNoSpace)
            << status.to_string();
      }
      load_and_compare(disk, relations);
      if (!end.was_refused) break;
      ++refused;
      if (HasFailure() && ++failures > 20) return;
    }
  EXPECT_GT(refused, 5U) << "requests that can be refused";
}

std::vector<SaveCase> save_cases() {
  std::vector<SaveCase> cases;
  for (const CheckpointMode mode :
       {CheckpointMode::kFilePerProcess, CheckpointMode::kShared, CheckpointMode::kSharedOpt,
        CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams})
    for (const FileSystemKind kind : {FileSystemKind::kMemory, FileSystemKind::kNetwork})
      cases.push_back({mode, kind});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Layouts, SaveMemory, testing::ValuesIn(save_cases()),
                         [](const testing::TestParamInfo<SaveCase>& one) {
                           std::string name(mode_name(one.param.mode));
                           std::erase(name, '-');
                           return name + (one.param.file_system == FileSystemKind::kNetwork
                                              ? "OnANetwork"
                                              : "InMemory");
                         });

}  // namespace
}  // namespace stratalog
