// SPDX-License-Identifier: Apache-2.0
// Every I/O call of opening, saving and loading fails in turn, with several errors, once and for
// good, on the first rank, the last one and all: nobody hangs, all ranks hear the same, older
// checkpoints stay, space comes back.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>

#include "fault/loaded_samples.h"
#include "fault/overlap_ways.h"
#include "one_core.h"
#include "write/faulty_store.h"
#include "write/hdf5_row_layout.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr int kRanks = 3;
constexpr std::uint64_t kSize = 8;

WriterOptions fault_options(OverlapWay overlap = OverlapWay::kNone) {
  WriterOptions options;
  options.overlap = overlap;
  options.block_bytes = 256;
  options.stage_bytes = 4096;
  options.backends.rows = hdf5_serial_files();
  return options;
}

SaveRequest request_for(std::uint64_t iteration, Comm& comm, CheckpointMode mode) {
  SaveRequest request =
      sample::request_of(sample::sample_relations(iteration, kSize), comm.rank(), comm.size());
  request.mode = mode;
  request.iteration = iteration;
  if (comm.rank() == 0)
    request.sections.push_back({.name = "symbols", .data = Bytes(300, std::byte{1})});
  return request;
}

enum class Victims : std::uint8_t { kFirst, kLast, kAll };

bool is_victim(Victims victims, int rank) {
  return victims == Victims::kAll || (victims == Victims::kFirst ? rank == 0 : rank == kRanks - 1);
}

// What a job that opens and saves once came to on each rank.
struct JobResult {
  std::vector<Status> statuses = std::vector<Status>(kRanks);
  std::vector<SaveOutcome> outcomes = std::vector<SaveOutcome>(kRanks, SaveOutcome::kNone);
  std::uint64_t most_calls = 0;
  bool fired = false;
  bool saved_again = false;
};

// Saves, or begins and finishes.
Status save_once(CheckpointWriter& writer, SaveRequest request, OverlapWay overlap) {
  if (overlap == OverlapWay::kNone) return writer.save(request).status();
  STRATALOG_RETURN_IF_ERROR(writer.begin(std::move(request)));
  return writer.finish().status();
}

// Opens, saves `iteration` with faults and, if that failed although the fault has passed, once
// more.
JobResult run_job(const std::shared_ptr<MemoryDisk>& disk, std::uint64_t iteration,
                  CheckpointMode mode, const FaultPlan& plan, Victims victims,
                  OverlapWay overlap = OverlapWay::kNone) {
  JobResult result;
  std::vector<std::shared_ptr<FaultCounter>> counters;
  counters.reserve(kRanks);
  for (int r = 0; r < kRanks; ++r)
    counters.push_back(std::make_shared<FaultCounter>(is_victim(victims, r) ? plan : FaultPlan{}));
  const Status run = sim_run_on_one_core(kRanks, [&](Comm& comm) -> Status {
    const auto me = static_cast<std::size_t>(comm.rank());
    const auto memory = open_memory_store(disk);
    const auto store = open_faulty_store(*memory, counters[me]);
    auto writer = open_checkpoint_writer(comm, *store, fault_options(overlap));
    result.statuses[me] = writer.status();
    if (!writer.is_ok()) return Status::ok();
    const Status first = save_once(*writer.value(), request_for(iteration, comm, mode), overlap);
    result.statuses[me] = first;
    result.outcomes[me] = writer.value()->last_outcome();
    if (first.is_ok() || plan.span == FaultSpan::kPersistent) return Status::ok();
    // Each victim's fault comes once, but not all at the same time.
    Status again = first;
    for (int attempt = 0; attempt < kRanks && !again.is_ok(); ++attempt)
      again = save_once(*writer.value(), request_for(iteration, comm, mode), overlap);
    if (comm.rank() == 0) result.saved_again = again.is_ok();
    EXPECT_TRUE(again.is_ok()) << again.to_string();
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  for (const auto& counter : counters) {
    result.most_calls = std::max(result.most_calls, counter->calls());
    result.fired = result.fired || counter->has_fired();
  }
  return result;
}

// Loads on a sound store; the iteration that came back, whose tuples must be right.
std::uint64_t loaded_iteration(const std::shared_ptr<MemoryDisk>& disk) {
  const auto loaded = sample::load_and_compare(*open_memory_store(disk), kSize);
  EXPECT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  return loaded.is_ok() ? loaded.value().state.iteration : 0;
}

// No unfinished or damaged directories.
bool is_tidy(const std::shared_ptr<MemoryDisk>& disk) {
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  if (!listed.is_ok()) return false;
  for (const GenerationSummary& generation : listed.value())
    if (generation.condition != GenerationCondition::kValid) return false;
  return true;
}

struct Error {
  int number;
  bool short_write;
};

class IoFaults : public ::testing::TestWithParam<CheckpointMode> {};

void check_job(const std::shared_ptr<MemoryDisk>& disk, const JobResult& job, FaultSpan span,
               CheckpointMode mode) {
  for (std::size_t r = 1; r < kRanks; ++r) {
    EXPECT_EQ(job.statuses[r].to_string(), job.statuses[0].to_string());
    EXPECT_EQ(job.outcomes[r], job.outcomes[0]);
  }
  const std::uint64_t iteration = loaded_iteration(disk);
  const SaveOutcome outcome = job.outcomes[0];
  if (outcome == SaveOutcome::kCommitted || job.saved_again) {
    EXPECT_EQ(iteration, 3U);
  } else if (outcome == SaveOutcome::kUnknown) {
    EXPECT_TRUE(iteration == 2 || iteration == 3);
  } else {
    EXPECT_FALSE(job.statuses[0].is_ok());
    EXPECT_EQ(iteration, 2U);
  }
  // A committed save may leave an old generation half removed (it says so in its notes); a failed
  // one leaves nothing.
  if (span == FaultSpan::kOnce && outcome != SaveOutcome::kCommitted) {
    EXPECT_TRUE(is_tidy(disk));
  }
  // The next job finds all in order and sweeps what could not be removed.
  const JobResult next = run_job(disk, 3, mode, {}, Victims::kAll);
  EXPECT_TRUE(next.statuses[0].is_ok()) << next.statuses[0].to_string();
  EXPECT_EQ(loaded_iteration(disk), 3U);
  EXPECT_TRUE(is_tidy(disk));
}

// Which errors are tried, on whom.
struct Campaign {
  std::vector<Victims> victims;
  std::vector<Error> errors;
};

void fail_every_call_of_a_save(CheckpointMode mode, OverlapWay overlap, const Campaign& campaign,
                               std::size_t least) {
  const auto base = std::make_shared<MemoryDisk>();
  for (const std::uint64_t iteration : {1, 2}) {
    const JobResult good = run_job(base, iteration, mode, {}, Victims::kAll);
    ASSERT_TRUE(good.statuses[0].is_ok()) << good.statuses[0].to_string();
  }
  std::size_t runs = 0;
  for (const Victims victims : campaign.victims)
    for (const Error error : campaign.errors)
      for (const FaultSpan span : {FaultSpan::kOnce, FaultSpan::kPersistent})
        for (std::uint64_t at = 0;; ++at) {
          const auto disk = base->clone();
          const FaultPlan plan{.fail_at = at,
                               .error_number = error.number,
                               .span = span,
                               .short_write = error.short_write};
          const JobResult job = run_job(disk, 3, mode, plan, victims, overlap);
          if (!job.fired) break;
          ++runs;
          check_job(disk, job, span, mode);
          if (::testing::Test::HasFailure()) {
            FAIL() << "victims " << static_cast<int>(victims) << ", errno " << error.number
                   << (error.short_write ? " short" : "") << ", span " << static_cast<int>(span)
                   << ", call " << at;
          }
        }
  std::printf("[ FAULTS   ] %s, overlap %s: %zu runs\n", std::string(mode_name(mode)).c_str(),
              std::string(overlap_name(overlap)).c_str(), runs);
  EXPECT_GE(runs, least);
}

TEST_P(IoFaults, EveryCallOfASave) {
  fail_every_call_of_a_save(GetParam(), OverlapWay::kNone,
                            {.victims = {Victims::kFirst, Victims::kLast, Victims::kAll},
                             .errors = {{ENOSPC, false},
                                        {ENOSPC, true},
                                        {EDQUOT, false},
                                        {EIO, false},
                                        {EROFS, false},
                                        {EMFILE, false}}},
                            1500);
}

// An error beside the caller comes out of finish(), on all ranks.
class IoFaultsBeside : public ::testing::TestWithParam<sample::OverlapCase> {};
INSTANTIATE_TEST_SUITE_P(All, IoFaultsBeside,
                         ::testing::ValuesIn(sample::overlap_cases(OverlapWay::kWrite)),
                         [](const auto& about) { return about.param.name(); });

TEST_P(IoFaultsBeside, EveryCallOfASave) {
  fail_every_call_of_a_save(
      GetParam().mode, GetParam().way,
      {.victims = {Victims::kFirst, Victims::kLast}, .errors = {{ENOSPC, true}, {EIO, false}}},
      300);
}

// A failing load is an error or an older checkpoint, never wrong tuples, and the same everywhere.
TEST_P(IoFaults, EveryCallOfALoad) {
  const CheckpointMode mode = GetParam();
  const auto disk = std::make_shared<MemoryDisk>();
  for (const std::uint64_t iteration : {1, 2}) {
    ASSERT_TRUE(run_job(disk, iteration, mode, {}, Victims::kAll).statuses[0].is_ok());
  }
  std::size_t runs = 0;
  for (const Victims victims : {Victims::kFirst, Victims::kLast, Victims::kAll})
    for (const int error : {EIO, EMFILE, ESTALE})
      for (const FaultSpan span : {FaultSpan::kOnce, FaultSpan::kPersistent})
        for (std::uint64_t at = 0;; ++at) {
          std::vector<std::string> statuses(kRanks);
          std::vector<std::uint64_t> iterations(kRanks);
          std::vector<std::shared_ptr<FaultCounter>> counters(kRanks);
          sample::Collected collected;
          const Status run = sim_run_on_one_core(kRanks, [&](Comm& comm) -> Status {
            const auto me = static_cast<std::size_t>(comm.rank());
            const FaultPlan plan{.fail_at = at, .error_number = error, .span = span};
            counters[me] = std::make_shared<FaultCounter>(
                is_victim(victims, comm.rank()) ? plan : FaultPlan{});
            const auto memory = open_memory_store(disk);
            const auto store = open_faulty_store(*memory, counters[me]);
            std::vector<StoredRelation> stored;
            const auto loaded =
                load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored));
            statuses[me] = loaded.status().to_string();
            if (loaded.is_ok()) iterations[me] = loaded.value().state.iteration;
            if (loaded.is_ok() && iterations[me] == 1) {
              EXPECT_FALSE(loaded.value().skipped.empty());
            }
            return Status::ok();
          });
          ASSERT_TRUE(run.is_ok()) << run.to_string();
          bool fired = false;
          for (const auto& counter : counters) fired = fired || counter->has_fired();
          if (!fired) break;
          ++runs;
          for (std::size_t r = 1; r < kRanks; ++r) {
            ASSERT_EQ(statuses[r], statuses[0]);
            ASSERT_EQ(iterations[r], iterations[0]);
          }
          if (iterations[0] == 0) continue;
          sample::expect_collected(collected, sample::sample_relations(iterations[0], kSize));
          if (HasFailure()) return;
        }
  std::printf("[ FAULTS   ] load, %s: %zu runs\n", std::string(mode_name(mode)).c_str(), runs);
  EXPECT_GE(runs, 100U);
}

INSTANTIATE_TEST_SUITE_P(All, IoFaults,
                         ::testing::Values(CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                           CheckpointMode::kHdf5Direct,
                                           CheckpointMode::kHdf5Streams),
                         [](const auto& about) {
                           std::string name(mode_name(about.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// The disk is full: the save fails with NoSpace, the space comes back, the older checkpoint stays.
TEST(FullDisk, FreesWhatItTook) {
  const auto disk = std::make_shared<MemoryDisk>();
  ASSERT_TRUE(
      run_job(disk, 2, CheckpointMode::kFilePerProcess, {}, Victims::kAll).statuses[0].is_ok());
  const std::uint64_t before = disk->used_bytes();
  for (std::uint64_t room = 100; room < 20000; room += 777) {
    disk->capacity_bytes = before + room;
    const Status run = sim_run_on_one_core(kRanks, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      auto writer = open_checkpoint_writer(comm, *store, fault_options());
      if (!writer.is_ok()) return writer.status();
      const auto saved =
          writer.value()->save(request_for(3, comm, CheckpointMode::kFilePerProcess));
      return saved.status();
    });
    if (run.is_ok()) return;  // enough room at last
    EXPECT_EQ(run.code(), StatusCode::kNoSpace) << run.to_string();
    EXPECT_LE(disk->used_bytes(), before);
    EXPECT_EQ(loaded_iteration(disk), 2U);
  }
  FAIL() << "the last round should have had enough room";
}

}  // namespace
}  // namespace stratalog
