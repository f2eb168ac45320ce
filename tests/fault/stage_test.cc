// SPDX-License-Identifier: Apache-2.0
// Checkpoints through a staging directory: power failure at every point of staging and draining,
// with the stage and without it; faults of the directory that is drained to; what the next job
// makes of it. The stage and its home are two folders of one disk in memory.
#include <gtest/gtest.h>

#include <cerrno>

#include "fault/staged_runs.h"
#include "write/faulty_store.h"

namespace stratalog {
namespace {

using sample::campaign_factor;
using sample::Chaining;
using sample::ExplorerSettings;
using sample::loaded;
using sample::RunPlan;
using sample::SubdirectoryStore;

std::shared_ptr<MemoryDisk> disk_with_two_folders() {
  auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  EXPECT_TRUE(store->make_directory("home").is_ok());
  EXPECT_TRUE(store->make_directory("stage").is_ok());
  return disk;
}

std::unique_ptr<Store> home_on(const std::shared_ptr<Store>& disk) {
  return std::make_unique<SubdirectoryStore>(disk, "home");
}

std::unique_ptr<StagedStore> staged_on(const std::shared_ptr<Store>& disk,
                                       Draining draining = Draining::kInSettle) {
  return open_staged_store(home_on(disk), sample::stages_in(disk, "stage"), "stage", draining);
}

std::unique_ptr<Store> view_of_both(std::shared_ptr<MemoryDisk> disk) {
  return staged_on(open_memory_store(std::move(disk)));
}

std::unique_ptr<Store> view_of_home(std::shared_ptr<MemoryDisk> disk) {
  return home_on(open_memory_store(std::move(disk)));
}

// As record_run, through a stage. After every `settle_every`-th save all is drained: "drained I".
std::vector<Operation> record_staged_run(const std::shared_ptr<MemoryDisk>& disk,
                                         const RunPlan& plan, std::uint64_t settle_every) {
  return sample::record_ranks(
      disk, plan.ranks,
      [&](Comm& comm, const std::shared_ptr<Store>& recording, OperationLog& log) {
        const auto store = staged_on(recording);
        return sample::save_with_marks(comm, *store, log, plan,
                                       [&](std::uint64_t iteration) -> Status {
                                         if (iteration % settle_every != 0 || comm.rank() != 0)
                                           return Status::ok();
                                         STRATALOG_RETURN_IF_ERROR(store->settle());
                                         sample::mark_drained(log, iteration, settle_every);
                                         return Status::ok();
                                       });
      });
}

std::size_t explore(const MemoryDisk& start, const std::vector<Operation>& log,
                    const ExplorerSettings& settings, const char* what) {
  sample::CrashExplorer explorer(settings);
  explorer.explore(start, log, 0);
  report(what, explorer);
  return explorer.states();
}

TEST(StagedCheckpoints, SurvivePowerFailureWithTheStageAndWithout) {
  std::size_t states = 0;
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                    CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams})
    for (const Chaining chaining : {Chaining::kNone, Chaining::kGrowth})
      for (const std::uint64_t settle_every : {1, 2}) {
        if (mode != CheckpointMode::kFilePerProcess && chaining == Chaining::kGrowth) continue;
        const auto disk = disk_with_two_folders();
        const auto start = disk->clone();
        const RunPlan plan{.ranks = 2, .mode = mode, .saves = 4, .steps = {}, .chaining = chaining};
        const auto log = reorder_ranks(record_staged_run(disk, plan, settle_every), plan.ranks, 7);
        ExplorerSettings settings{.most_variants_per_prefix = 6 * campaign_factor(),
                                  .most_states = 12000 * campaign_factor(),
                                  .chaining = chaining,
                                  .view = view_of_both};
        states += explore(*start, log, settings, "with the stage");
        settings.view = view_of_home;
        states += explore(*start, sample::without_stages(log), settings, "the stage is lost");
      }
  EXPECT_GE(states, 20000U);
}

// Pools in chains, written by a thread beside the run, as a pivot stratum is with --overlap.
TEST(StagedCheckpoints, PoolsSurvivePowerFailureWithTheStageAndWithout) {
  std::size_t states = 0;
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
    const auto disk = disk_with_two_folders();
    const auto start = disk->clone();
    const RunPlan plan{.ranks = 2,
                       .mode = mode,
                       .saves = 3,
                       .steps = {},
                       .chaining = Chaining::kGrowth,
                       .overlap = most_overlap(mode),
                       .is_pooled = true};
    const auto log = reorder_ranks(record_staged_run(disk, plan, 2), plan.ranks, 7);
    ExplorerSettings settings{.most_variants_per_prefix = 2 * campaign_factor(),
                              .most_states = 6000 * campaign_factor(),
                              .chaining = plan.chaining,
                              .view = view_of_both};
    states += explore(*start, log, settings, "pools with the stage");
    settings.view = view_of_home;
    states += explore(*start, sample::without_stages(log), settings, "pools, the stage is lost");
  }
  EXPECT_GE(states, 3000U);
}

TEST(StagedCheckpoints, NoFileHasRanksOfTwoNodes) {
  const std::vector<int> one_node = {0, 0, 0};
  const std::vector<int> three_nodes = {0, 0, 1, 2};
  EXPECT_EQ(plan_stage_files(CheckpointMode::kFilePerProcess, 0, three_nodes).value(), 0U);
  for (const CheckpointMode mode :
       {CheckpointMode::kShared, CheckpointMode::kSharedOpt, CheckpointMode::kHdf5,
        CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams}) {
    EXPECT_EQ(plan_stage_files(mode, 2, {}).value(), 2U);
    EXPECT_EQ(plan_stage_files(mode, 2, one_node).value(), 2U);
    EXPECT_EQ(plan_stage_files(mode, 0, three_nodes).value(), 3U);
    EXPECT_EQ(plan_stage_files(mode, 3, three_nodes).value(), 3U);
    const auto refused = plan_stage_files(mode, 2, three_nodes);
    EXPECT_EQ(refused.status().code(), StatusCode::kNotSupported);
    EXPECT_NE(refused.status().message().find(mode_name(mode)), std::string::npos);
    EXPECT_NE(refused.status().message().find("--files 3"), std::string::npos);
  }
  EXPECT_EQ(plan_stage_files(CheckpointMode::kAuto, 0, one_node).value(), 0U);
  EXPECT_EQ(plan_stage_files(CheckpointMode::kAuto, 0, three_nodes).status().code(),
            StatusCode::kNotSupported);
}

// MPI-IO and HDF5 open files by name: new ones where the generation is made, others where they lie.
TEST(StagedCheckpoints, NamesAreThoseOfTheStage) {
  const auto disk = disk_with_two_folders();
  const std::shared_ptr<Store> memory = open_memory_store(disk);
  const auto store = staged_on(memory);
  const auto comm = make_self_comm();
  ASSERT_TRUE(open_checkpoint_writer(*comm, *store, {}).is_ok());
  const std::string generation = "gen-00000001-0000000001";
  EXPECT_EQ(store->name_of("STORE"), "memory:/home/STORE");
  EXPECT_EQ(store->name_of(generation + "/a"), "memory:/home/" + generation + "/a");
  ASSERT_TRUE(store->make_directory(generation).is_ok());
  const std::string staged = store->name_of(generation + "/a");
  EXPECT_TRUE(staged.starts_with("memory:/stage/stratalog-")) << staged;
  EXPECT_TRUE(staged.ends_with("/" + generation + "/a")) << staged;
}

// One rank, saving through a stage on a disk; the home folder may have faults.
class StagedJob {
 public:
  explicit StagedJob(std::shared_ptr<MemoryDisk> disk, const FaultPlan& faults = {},
                     Draining draining = Draining::kInSettle)
      : disk_store_(open_memory_store(std::move(disk))),
        sound_home_(disk_store_, "home"),
        faults_(std::make_shared<FaultCounter>(faults)),
        store_(open_staged_store(open_faulty_store(sound_home_, faults_),
                                 sample::stages_in(disk_store_, "stage"), "stage", draining)) {}

  Status open() {
    STRATALOG_ASSIGN_OR_RETURN(
        writer_, open_checkpoint_writer(*comm_, *store_, sample::crash_options(plan_)));
    return Status::ok();
  }
  Status save(std::uint64_t iteration) {
    return sample::save_iteration(*writer_, *comm_, plan_, iteration);
  }
  StagedStore& store() { return *store_; }
  const CheckpointWriter& writer() const { return *writer_; }
  std::uint64_t home_calls() const { return faults_->calls(); }

 private:
  RunPlan plan_{.saves = 0, .steps = {}};
  std::shared_ptr<Store> disk_store_;
  SubdirectoryStore sound_home_;
  std::shared_ptr<FaultCounter> faults_;
  std::unique_ptr<StagedStore> store_;
  std::unique_ptr<Comm> comm_ = make_self_comm();
  std::unique_ptr<CheckpointWriter> writer_;
};

TEST(StagedCheckpoints, AreTakenFromTheStageUntilTheyAreDrained) {
  const auto disk = disk_with_two_folders();
  StagedJob job(disk);
  ASSERT_TRUE(job.open().is_ok());
  ASSERT_TRUE(job.save(1).is_ok());
  EXPECT_EQ(loaded(*view_of_both(disk)), 1U);
  EXPECT_EQ(loaded(*view_of_home(disk)), 0U);
  const std::string first = job.writer().base();
  EXPECT_EQ(job.store().place_of(first), StagePlace::kStage);
  ASSERT_TRUE(job.store().settle().is_ok());
  EXPECT_EQ(job.store().place_of(first), StagePlace::kBoth);
  EXPECT_EQ(loaded(*view_of_home(disk)), 1U);
  for (std::uint64_t iteration = 2; iteration <= 5; ++iteration)
    ASSERT_TRUE(job.save(iteration).is_ok());
  // At most one waited when the last one began, and what has arrived has left the stage.
  EXPECT_GE(loaded(*view_of_home(disk)), 3U);
  EXPECT_EQ(loaded(*view_of_both(disk)), 5U);
  ASSERT_TRUE(job.store().settle().is_ok());
  EXPECT_TRUE(job.store().take_notes().empty());
  EXPECT_EQ(loaded(*view_of_home(disk)), 5U);
  const std::shared_ptr<Store> store = open_memory_store(disk);
  const auto folders = store->list("stage");
  ASSERT_EQ(folders.value().size(), 1U);
  EXPECT_EQ(store->list("stage/" + folders.value()[0]).value().size(), 1U);
  const auto home = list_generations(*view_of_home(disk));
  EXPECT_EQ(home.value().size(), 2U);
}

TEST(StagedCheckpoints, TheNextJobDrainsWhatWasLeft) {
  const auto disk = disk_with_two_folders();
  {
    StagedJob job(disk);
    ASSERT_TRUE(job.open().is_ok());
    ASSERT_TRUE(job.save(1).is_ok());
    ASSERT_TRUE(job.save(2).is_ok());
  }
  EXPECT_EQ(loaded(*view_of_home(disk)), 0U);
  StagedJob next(disk, {}, Draining::kBeside);
  EXPECT_EQ(loaded(next.store()), 2U);
  ASSERT_TRUE(next.open().is_ok());
  ASSERT_TRUE(next.store().settle().is_ok());
  EXPECT_EQ(loaded(*view_of_home(disk)), 2U);
  ASSERT_TRUE(next.save(3).is_ok());
  ASSERT_TRUE(next.store().settle().is_ok());
  EXPECT_EQ(loaded(*view_of_home(disk)), 3U);
}

TEST(StagedCheckpoints, ALostStageFallsBackToWhatWasDrained) {
  const auto disk = disk_with_two_folders();
  {
    StagedJob job(disk);
    ASSERT_TRUE(job.open().is_ok());
    ASSERT_TRUE(job.save(1).is_ok());
    ASSERT_TRUE(job.save(2).is_ok());
    ASSERT_TRUE(job.store().settle().is_ok());
    ASSERT_TRUE(job.save(3).is_ok());
  }
  {
    const std::lock_guard guard(disk->mutex());
    disk->change(disk->find("stage").value()).entries.clear();
  }
  StagedJob next(disk);
  EXPECT_EQ(loaded(next.store()), 2U);
  ASSERT_TRUE(next.open().is_ok());
  ASSERT_TRUE(next.save(3).is_ok());
  ASSERT_TRUE(next.store().settle().is_ok());
  EXPECT_EQ(loaded(*view_of_home(disk)), 3U);
}

// While home is full the run goes on; checkpoints fail once two wait, and arrive when there is
// room.
TEST(StagedCheckpoints, ErrorsOfDrainingComeAtTheNextCheckpoint) {
  const auto disk = disk_with_two_folders();
  const std::shared_ptr<Store> inner = open_memory_store(disk);
  std::atomic<bool> is_full = true;
  const auto store =
      open_staged_store(std::make_unique<sample::FullStore>(inner, "home", is_full),
                        sample::stages_in(inner, "stage"), "stage", Draining::kBeside);
  const RunPlan plan{.saves = 0, .steps = {}};
  const auto self = make_self_comm();
  const auto writer = open_checkpoint_writer(*self, *store, sample::crash_options(plan));
  ASSERT_TRUE(writer.is_ok());
  const auto save = [&](std::uint64_t iteration) {
    return sample::save_iteration(*writer.value(), *self, plan, iteration);
  };
  EXPECT_TRUE(save(1).is_ok());
  EXPECT_TRUE(save(2).is_ok());
  const Status refused = save(3);
  EXPECT_EQ(refused.code(), StatusCode::kNoSpace);
  EXPECT_NE(refused.message().find("the disk is full"), std::string::npos) << refused.to_string();
  EXPECT_FALSE(store->take_notes().empty());
  EXPECT_EQ(loaded(*view_of_both(disk)), 2U);
  EXPECT_EQ(store->settle().code(), StatusCode::kNoSpace);
  is_full = false;
  EXPECT_TRUE(save(4).is_ok());
  EXPECT_TRUE(store->settle().is_ok());
  EXPECT_EQ(loaded(*view_of_home(disk)), 4U);
}

// Every single call to home fails once. What was acknowledged is there all the same, and after the
// fault has passed it arrives.
TEST(StagedCheckpoints, OneFaultOfHomeDelaysAndLosesNothing) {
  std::uint64_t calls = 1;
  for (std::uint64_t at = 0; at < calls; ++at) {
    SCOPED_TRACE(at);
    const auto disk = disk_with_two_folders();
    std::uint64_t acknowledged = 0;
    StagedJob job(disk, {.fail_at = at, .error_number = EIO});
    if (!job.open().is_ok()) {
      calls = std::max(calls, job.home_calls() + 1);
      continue;
    }
    for (std::uint64_t iteration = 1; iteration <= 4; ++iteration)
      if (job.save(iteration).is_ok()) acknowledged = iteration;
    Status settled = job.store().settle();
    if (!settled.is_ok()) settled = job.store().settle();
    calls = std::max(calls, job.home_calls());
    ASSERT_TRUE(settled.is_ok()) << settled.to_string();
    EXPECT_GE(acknowledged, 3U);
    // One whose outcome is unknown may be there as well.
    EXPECT_GE(loaded(*view_of_both(disk)), acknowledged);
    EXPECT_EQ(loaded(*view_of_home(disk)), loaded(*view_of_both(disk)));
  }
  EXPECT_GT(calls, 60U);
}

}  // namespace
}  // namespace stratalog
