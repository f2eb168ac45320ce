// SPDX-License-Identifier: Apache-2.0
// Two jobs on one store without working locks: a second job takes over at every single call of the
// first. Nobody damages the other's checkpoints, and what was acknowledged to anybody can be
// loaded. Also the mutants of fencing and of the agreement.
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <vector>

#include "fault/loaded_samples.h"
#include "one_core.h"
#include "place/checkpoint_names.h"
#include "write/faulty_store.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kSize = 6;

SaveRequest request_for(std::uint64_t iteration, int rank, int ranks) {
  SaveRequest request = sample::request_of(sample::sample_relations(iteration, kSize), rank, ranks);
  request.iteration = iteration;
  return request;
}

// Opens the store and saves once, alone.
Result<SaveReport> whole_job(Store& store, std::uint64_t iteration, const ProtocolSteps& steps) {
  const auto self = make_self_comm();
  WriterOptions options;
  options.steps = steps;
  STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(*self, store, options));
  return writer->save(request_for(iteration, 0, 1));
}

// 0: there is nothing to load.
std::uint64_t loaded_iteration(Store& store) {
  const auto loaded = sample::load_and_compare(store, kSize);
  return loaded.is_ok() ? loaded.value().state.iteration : 0;
}

bool exists_and_is_valid(Store& store, const std::string& generation) {
  const auto report = verify_generation(store, generation, VerifyDepth::kContent);
  return report.is_ok() && report.value().problems.empty();
}

// A second job saves before call `at` of the first. False if the first has fewer calls.
bool take_over_before(std::uint64_t at) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto memory = open_memory_store(disk);
  EXPECT_TRUE(whole_job(*memory, 1, {}).is_ok());
  Result<SaveReport> second = Status::internal("never ran");
  FaultPlan plan;
  plan.fail_at = at;
  plan.meanwhile = [&] { second = whole_job(*memory, 3, {}); };
  const auto counter = std::make_shared<FaultCounter>(plan);
  const auto store = open_faulty_store(*memory, counter);
  const Result<SaveReport> first = whole_job(*store, 2, {});
  if (!counter->has_fired()) return false;
  EXPECT_TRUE(second.is_ok()) << "call " << at << ": " << second.status().to_string();
  if (!second.is_ok()) return true;
  EXPECT_TRUE(exists_and_is_valid(*memory, second.value().generation)) << "call " << at;
  if (first.is_ok()) {
    EXPECT_TRUE(exists_and_is_valid(*memory, first.value().generation)) << "call " << at;
    EXPECT_NE(first.value().generation, second.value().generation);
  }
  // Whoever has the higher epoch is newer. A first job that was acknowledged although the second
  // had claimed its epoch before would now be passed over.
  const std::uint64_t iteration = loaded_iteration(*memory);
  const bool first_is_newer = first.is_ok() && first.value().generation > second.value().generation;
  EXPECT_EQ(iteration, first_is_newer ? 2U : 3U) << "call " << at;
  const auto listed = list_generations(*memory);
  EXPECT_TRUE(listed.is_ok());
  if (!listed.is_ok()) return true;
  for (const GenerationSummary& g : listed.value())
    EXPECT_NE(g.condition, GenerationCondition::kDamaged) << "call " << at << ": " << g.reason;
  return true;
}

// Side by side: a first job whose directory is gone waits a second for it to come back.
TEST(TwoJobs, ASecondJobTakesOverAtEveryCallOfTheFirst) {
  constexpr std::uint64_t kThreads = 8;
  std::atomic<std::size_t> takeovers = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t first = 0; first < kThreads; ++first)
    threads.emplace_back([&takeovers, first] {
      for (std::uint64_t at = first; take_over_before(at); at += kThreads) ++takeovers;
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("[ TAKEOVER ] %zu places\n", takeovers.load());
  EXPECT_GT(takeovers.load(), 40U);
}

// A job that was stopped for a while and goes on after its successor has saved.
Status save_as_zombie(const ProtocolSteps& steps, std::uint64_t& iteration) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  const auto self = make_self_comm();
  WriterOptions options;
  options.steps = steps;
  auto zombie = open_checkpoint_writer(*self, *store, options);
  EXPECT_TRUE(zombie.is_ok());
  EXPECT_TRUE(zombie.value()->save(request_for(1, 0, 1)).is_ok());
  EXPECT_TRUE(whole_job(*store, 2, steps).is_ok());
  const Status status = zombie.value()->save(request_for(3, 0, 1)).status();
  iteration = loaded_iteration(*store);
  return status;
}

TEST(TwoJobs, AZombieIsToldAndCannotSupersede) {
  std::uint64_t iteration = 0;
  const Status status = save_as_zombie({}, iteration);
  EXPECT_EQ(status.code(), StatusCode::kAlreadyExists) << status.to_string();
  EXPECT_EQ(iteration, 2U);
}

TEST(FencingMutants, WithoutTheEpochCheckAZombieIsToldThatAllIsWell) {
  std::uint64_t iteration = 0;
  const ProtocolSteps steps{.left_out =
                                static_cast<std::uint32_t>(ProtocolStep::kCheckEpochBeforeCommit)};
  // Acknowledged, and yet not what is loaded: the broken promise that the check prevents.
  EXPECT_TRUE(save_as_zombie(steps, iteration).is_ok());
  EXPECT_EQ(iteration, 2U);
}

// Two jobs look at the store at the same time and both see the same highest epoch.
void claim_at_once(const ProtocolSteps& steps, std::string& first, std::string& second) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto memory = open_memory_store(disk);
  // Calls: file system facts, then those of claim_store: lock, list, open(epoch).
  FaultPlan plan;
  plan.fail_at = 3;
  plan.meanwhile = [&] {
    const auto report = whole_job(*memory, 1, steps);
    EXPECT_TRUE(report.is_ok()) << report.status().to_string();
    second = report.value().generation;
  };
  const auto store = open_faulty_store(*memory, std::make_shared<FaultCounter>(plan));
  const auto report = whole_job(*store, 2, steps);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  first = report.value().generation;
}

TEST(TwoJobs, EpochsAreNeverShared) {
  std::string first;
  std::string second;
  claim_at_once({}, first, second);
  EXPECT_NE(parse_generation_name(first)->epoch, parse_generation_name(second)->epoch);
}

TEST(FencingMutants, WithoutExclusiveCreationTwoJobsShareAnEpoch) {
  std::string first;
  std::string second;
  claim_at_once({.left_out = static_cast<std::uint32_t>(ProtocolStep::kExclusiveEpoch)}, first,
                second);
  EXPECT_EQ(parse_generation_name(first)->epoch, parse_generation_name(second)->epoch);
}

// A network file system whose client still remembers that the new directory was not there.
TEST(PatientOpen, ADirectoryThatIsSeenLateIsWaitedFor) {
  for (const CheckpointMode mode : {CheckpointMode::kFilePerProcess, CheckpointMode::kShared}) {
    const auto memory = open_memory_store(std::make_shared<MemoryDisk>());
    const Status run = sim_run_on_one_core(2, [&](Comm& comm) -> Status {
      FaultPlan plan;
      plan.error_number = ENOENT;
      if (comm.rank() == 1) plan.fail_at = 0;
      const auto store = open_faulty_store(*memory, std::make_shared<FaultCounter>(plan));
      STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, {}));
      SaveRequest request = request_for(1, comm.rank(), comm.size());
      request.mode = mode;
      return writer->save(request).status();
    });
    EXPECT_TRUE(run.is_ok()) << run.to_string();
    EXPECT_EQ(loaded_iteration(*memory), 1U);
  }
}

// A rank that cannot write: with the agreement everybody hears why.
Status save_with_failing_rank(const ProtocolSteps& steps) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto memory = open_memory_store(disk);
  Status status;
  const Status run = sim_run_on_one_core(2, [&](Comm& comm) -> Status {
    FaultPlan plan;
    plan.error_number = EDQUOT;
    if (comm.rank() == 1) plan.fail_at = 1;
    const auto store = open_faulty_store(*memory, std::make_shared<FaultCounter>(plan));
    WriterOptions options;
    options.steps = steps;
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
    const auto saved = writer->save(request_for(1, comm.rank(), comm.size()));
    if (comm.rank() == 0) status = saved.status();
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  return status;
}

TEST(Agreement, RankZeroHearsOfRankOnesFullQuota) {
  EXPECT_EQ(save_with_failing_rank({}).code(), StatusCode::kNoSpace);
}

TEST(Agreement, WithoutItRankZeroDoesNotHear) {
  const ProtocolSteps steps{.left_out =
                                static_cast<std::uint32_t>(ProtocolStep::kAgreeBeforeManifest)};
  EXPECT_NE(save_with_failing_rank(steps).code(), StatusCode::kNoSpace);
}

}  // namespace
}  // namespace stratalog
