// SPDX-License-Identifier: Apache-2.0
// Staging directories of several nodes: power failure at every point of staging and draining, with
// all stages and without that of one node, each state restarted through recover_stages; jobs that
// go on elsewhere; full stages; a second job. The stages and home are folders of one disk in
// memory, ranks are threads on declared nodes.
#include <gtest/gtest.h>

#include <cerrno>
#include <mutex>

#include "checkpoint/node_stages.h"
#include "commit/drain.h"
#include "commit/store_file.h"
#include "fault/staged_runs.h"
#include "one_core.h"
#include "write/faulty_store.h"

namespace stratalog {
namespace {

using sample::Chaining;
using sample::CrashExplorer;
using sample::FullStore;
using sample::RunPlan;
using sample::SubdirectoryStore;

constexpr int kRanks = 3;
constexpr int kRanksPerNode = 2;  // two nodes, the second one smaller
constexpr int kNodes = 2;

std::string stage_folder(int node) { return "stage" + std::to_string(node); }

std::shared_ptr<MemoryDisk> disk_of_nodes(int nodes = kNodes) {
  auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  EXPECT_TRUE(store->make_directory("home").is_ok());
  for (int node = 0; node < nodes; ++node)
    EXPECT_TRUE(store->make_directory(stage_folder(node)).is_ok());
  return disk;
}

void lose_stage(MemoryDisk& disk, int node) {
  const std::lock_guard guard(disk.mutex());
  disk.change(disk.find(stage_folder(node)).value()).entries.clear();
}

// What `comm`'s rank sees: home and its node's stage. `home` may be something else than the folder.
std::unique_ptr<StagedStore> open_seat(Comm& comm, const std::shared_ptr<Store>& disk,
                                       Draining draining = Draining::kInSettle,
                                       std::unique_ptr<Store> home = nullptr) {
  const Topology topology = comm.topology().value();
  const StageSeat seat = plan_stage_seat(topology.node_of_rank, comm.rank());
  const std::string folder = stage_folder(seat.node);
  if (home == nullptr) home = std::make_unique<SubdirectoryStore>(disk, "home");
  return open_staged_store(std::move(home), sample::stages_in(disk, folder), folder, draining,
                           seat);
}

// A job of one rank on each of `nodes` nodes recovers what lies in their stages. Its notes.
std::vector<std::string> recover(const std::shared_ptr<MemoryDisk>& disk, int nodes = kNodes) {
  std::vector<std::string> notes;
  const Status status = sim_nodes_on_one_core(nodes, 1, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store = open_seat(comm, memory);
    STRATALOG_ASSIGN_OR_RETURN(auto mine, recover_stages(comm, *store, Durability::kFull));
    if (comm.rank() == 0) notes = std::move(mine);
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return notes;
}

std::unique_ptr<Store> home_of(std::shared_ptr<MemoryDisk> disk) {
  return std::make_unique<SubdirectoryStore>(open_memory_store(std::move(disk)), "home");
}

// As record_run. After every `settle_every`-th save all is drained: "drained I".
std::vector<Operation> record_staged_run(const std::shared_ptr<MemoryDisk>& disk,
                                         const RunPlan& plan, std::uint64_t settle_every) {
  return sample::record_ranks(
      disk, plan.ranks,
      [&](Comm& comm, const std::shared_ptr<Store>& recording, OperationLog& log) {
        const auto store = open_seat(comm, recording);
        return sample::save_with_marks(comm, *store, log, plan,
                                       [&](std::uint64_t iteration) -> Status {
                                         if (iteration % settle_every != 0) return Status::ok();
                                         STRATALOG_RETURN_IF_ERROR(settle_stages(comm, *store));
                                         if (comm.rank() == 0)
                                           sample::mark_drained(log, iteration, settle_every);
                                         return Status::ok();
                                       });
      },
      kRanksPerNode);
}

constexpr int kNoNode = -1;

// The restart after a power failure, perhaps without the stage of one node.
std::unique_ptr<Store> restart(const std::shared_ptr<MemoryDisk>& disk, int lost) {
  if (lost != kNoNode) lose_stage(*disk, lost);
  recover(disk);
  return home_of(disk);
}

CrashExplorer explored(const MemoryDisk& start, const std::vector<Operation>& log,
                       const RunPlan& plan, std::size_t most_states, int lost) {
  CrashExplorer explorer(
      {.most_variants_per_prefix = 4 * sample::campaign_factor(),
       .most_states = most_states * sample::campaign_factor(),
       .chaining = plan.chaining,
       .view = [lost](const std::shared_ptr<MemoryDisk>& disk) { return restart(disk, lost); }});
  explorer.explore(start, lost == kNoNode ? log : sample::without_stages(log), 0);
  return explorer;
}

TEST(NodeStages, SurvivePowerFailureWithAllStagesAndWithoutOne) {
  std::size_t states = 0;
  for (const Chaining chaining : {Chaining::kNone, Chaining::kGrowth}) {
    const auto disk = disk_of_nodes();
    const auto start = disk->clone();
    const RunPlan plan{.ranks = kRanks, .saves = 3, .steps = {}, .chaining = chaining};
    const std::uint64_t settle_every = chaining == Chaining::kNone ? 1 : 2;
    const auto log = reorder_ranks(record_staged_run(disk, plan, settle_every), plan.ranks, 7);
    for (const int lost : {kNoNode, 0, 1}) {
      const CrashExplorer explorer = explored(*start, log, plan, 12000, lost);
      report("stage lost: " + std::to_string(lost), explorer);
      states += explorer.states();
    }
  }
  EXPECT_GE(states, 20000U);
}

// The search above finds bad states if other nodes' stages are not sealed.
TEST(NodeStages, TheSealOfOtherStagesIsNeeded) {
  const auto disk = disk_of_nodes();
  const auto start = disk->clone();
  const RunPlan plan{.ranks = kRanks,
                     .saves = 2,
                     .steps = {.left_out = static_cast<std::uint32_t>(ProtocolStep::kSealStages)}};
  const auto log = reorder_ranks(record_staged_run(disk, plan, 2), plan.ranks, 7);
  EXPECT_FALSE(explored(*start, log, plan, 12000, kNoNode).problems().empty());
}

// The iteration that a load takes from home, 0: none.
std::uint64_t loaded(const std::shared_ptr<MemoryDisk>& disk) {
  return sample::loaded(*home_of(disk));
}

// What a job of kRanks ranks does between opening its writer and its end.
using Body = std::function<Status(Comm&, StagedStore&, CheckpointWriter&)>;

const RunPlan kPlan{.ranks = kRanks, .saves = 0, .steps = {}};

Status run_job(const std::shared_ptr<MemoryDisk>& disk, Draining draining, const Body& body) {
  return sim_nodes_on_one_core(kRanks, kRanksPerNode, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store = open_seat(comm, memory, draining);
    STRATALOG_RETURN_IF_ERROR(recover_stages(comm, *store, Durability::kFull).status());
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, sample::crash_options(kPlan)));
    return body(comm, *store, *writer);
  });
}

// Saves 1 and 2; drains what `drained` says; saves 3, which stays in the stages.
void leave_one_behind(const std::shared_ptr<MemoryDisk>& disk) {
  const Status status =
      run_job(disk, Draining::kInSettle,
              [](Comm& comm, StagedStore& store, CheckpointWriter& writer) -> Status {
                STRATALOG_RETURN_IF_ERROR(sample::save_iteration(writer, comm, kPlan, 1));
                STRATALOG_RETURN_IF_ERROR(sample::save_iteration(writer, comm, kPlan, 2));
                STRATALOG_RETURN_IF_ERROR(settle_stages(comm, store));
                return sample::save_iteration(writer, comm, kPlan, 3);
              });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  ASSERT_EQ(loaded(disk), 2U);
}

std::size_t generations_in(const std::shared_ptr<MemoryDisk>& disk, int node) {
  const auto store = open_memory_store(disk);
  const auto folders = store->list(stage_folder(node));
  if (folders.value().empty()) return 0;
  return store->list(stage_folder(node) + "/" + folders.value()[0]).value().size();
}

TEST(NodeStages, EachNodeHasItsOwnFilesAndDrainsThem) {
  const auto disk = disk_of_nodes();
  const Status status =
      run_job(disk, Draining::kBeside,
              [](Comm& comm, StagedStore& store, CheckpointWriter& writer) -> Status {
                for (std::uint64_t iteration = 1; iteration <= 6; ++iteration)
                  STRATALOG_RETURN_IF_ERROR(sample::save_iteration(writer, comm, kPlan, iteration));
                return settle_stages(comm, store);
              });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 6U);
  EXPECT_EQ(list_generations(*home_of(disk)).value().size(), 2U);
  const auto store = open_memory_store(disk);
  int looked_at = 0;
  for (int node = 0; node < kNodes; ++node) {
    EXPECT_LE(generations_in(disk, node), 2U);
    const std::string folder =
        stage_folder(node) + "/" + store->list(stage_folder(node)).value().at(0);
    const auto generations = store->list(folder);
    for (const std::string& name : generations.value()) {
      std::string generation = folder;
      const auto files = store->list(generation.append("/").append(name));
      for (const std::string& file : files.value()) {
        // Files of ranks end in the rank's number.
        if (file.find(".total.") == std::string::npos) continue;
        EXPECT_EQ(file.ends_with("2") ? 1 : 0, node) << file;
        ++looked_at;
      }
    }
  }
  EXPECT_GE(looked_at, 3);
}

// In the other modes each node has a file of its own: one of them lost, and none.
TEST(NodeStages, FilesOfNodesSurvivePowerFailure) {
  for (const CheckpointMode mode :
       {CheckpointMode::kShared, CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams}) {
    const auto disk = disk_of_nodes();
    const auto start = disk->clone();
    const RunPlan plan{.ranks = kRanks, .mode = mode, .saves = 2, .steps = {}};
    const auto log = reorder_ranks(record_staged_run(disk, plan, 1), plan.ranks, 7);
    for (const int lost : {kNoNode, 1}) {
      const CrashExplorer explorer = explored(*start, log, plan, 12000, lost);
      report("stage lost: " + std::to_string(lost), explorer);
      EXPECT_GE(explorer.states(), 500U);
    }
  }
}

TEST(NodeStages, WhatWaitsArrivesWhereAllPartsAreFound) {
  for (const int nodes : {2, 3}) {
    const auto disk = disk_of_nodes(nodes);
    leave_one_behind(disk);
    EXPECT_TRUE(recover(disk, nodes).empty());
    EXPECT_EQ(loaded(disk), 3U) << nodes;
    EXPECT_TRUE(recover(disk, nodes).empty());
  }
}

TEST(NodeStages, OtherwiseTheNewestDrainedOneIsTaken) {
  for (const int lost : {0, 1}) {
    const auto disk = disk_of_nodes();
    leave_one_behind(disk);
    lose_stage(*disk, lost);
    const auto notes = recover(disk);
    // Without node 0's manifest nobody knows that there was anything.
    EXPECT_EQ(notes.size(), lost == 0 ? 0U : 1U);
    if (lost == 1) {
      EXPECT_NE(notes.at(0).find("in the stage of no node of this job"), std::string::npos);
    }
    EXPECT_EQ(loaded(disk), 2U);
  }
}

TEST(NodeStages, AJobOnFewerNodesFindsOnlyWhatTheyHave) {
  const auto disk = disk_of_nodes();
  leave_one_behind(disk);
  EXPECT_EQ(recover(disk, 1).size(), 1U);
  EXPECT_EQ(loaded(disk), 2U);
  // And goes on; what it makes is newer than what the other node still has.
  const Status status = sim_nodes_on_one_core(2, 2, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store = open_seat(comm, memory);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, sample::crash_options(kPlan)));
    STRATALOG_RETURN_IF_ERROR(sample::save_iteration(*writer, comm, kPlan, 5));
    return comm.rank() == 0 ? store->settle() : Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 5U);
  EXPECT_TRUE(recover(disk).empty());
  EXPECT_EQ(loaded(disk), 5U);
}

// A node that had drained its part before it was lost.
TEST(NodeStages, PartsThatHadArrivedNeedNoStage) {
  const auto disk = disk_of_nodes();
  leave_one_behind(disk);
  const std::shared_ptr<Store> memory = open_memory_store(disk);
  const auto folder = stage_folder(1) + "/" + memory->list(stage_folder(1)).value().at(0);
  SubdirectoryStore stage(memory, folder);
  SubdirectoryStore home(memory, "home");
  const GenerationId newest = list_generation_ids(stage).value().at(0);
  const auto files = data_files_in(stage, newest);
  ASSERT_FALSE(files.value().empty());
  ASSERT_TRUE(drain_files(stage, home, newest, files.value(), 1, {.epoch = 1}).is_ok());
  EXPECT_EQ(loaded(disk), 2U);
  lose_stage(*disk, 1);
  EXPECT_TRUE(recover(disk).empty());
  EXPECT_EQ(loaded(disk), 3U);
}

class LockedHome final : public SubdirectoryStore {
 public:
  using SubdirectoryStore::SubdirectoryStore;
  Result<std::unique_ptr<StoreLock>> lock(const std::string& path) override {
    return Status::already_exists(path);
  }
};

TEST(NodeStages, ARunningJobIsLeftAlone) {
  const auto disk = disk_of_nodes();
  leave_one_behind(disk);
  const Status status = sim_nodes_on_one_core(kNodes, 1, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store =
        open_seat(comm, memory, Draining::kInSettle, std::make_unique<LockedHome>(memory, "home"));
    return recover_stages(comm, *store, Durability::kFull).status();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 2U);
}

// A job that saves 1 and does `then` after something else has happened on the disk.
Status interrupted_job(const std::shared_ptr<MemoryDisk>& disk,
                       const std::function<void()>& meanwhile, const Body& then) {
  return run_job(disk, Draining::kInSettle,
                 [&](Comm& comm, StagedStore& store, CheckpointWriter& writer) -> Status {
                   STRATALOG_RETURN_IF_ERROR(sample::save_iteration(writer, comm, kPlan, 1));
                   if (comm.rank() == 0) meanwhile();
                   STRATALOG_RETURN_IF_ERROR(comm.barrier());
                   return then(comm, store, writer);
                 });
}

// Where there are no locks, what two jobs drain is drained once.
TEST(NodeStages, WithoutLocksTwoJobsMayDrainTheSame) {
  const auto disk = disk_of_nodes();
  const auto other_job = [&] {
    EXPECT_TRUE(recover(disk).empty());
    EXPECT_EQ(loaded(disk), 1U);
  };
  const Status status = interrupted_job(
      disk, other_job, [](Comm& comm, StagedStore& store, CheckpointWriter& writer) -> Status {
        STRATALOG_RETURN_IF_ERROR(settle_stages(comm, store));
        return sample::save_iteration(writer, comm, kPlan, 2);
      });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 1U);
}

// Whatever a later job drained and published stays, when an earlier one wakes up and drains.
TEST(NodeStages, AZombieChangesNothing) {
  const auto disk = disk_of_nodes();
  // Without the lock, as where there are none.
  const auto later_job = [&] {
    EXPECT_TRUE(home_of(disk)->open(epoch_name(2), OpenMode::kCreateExclusive).is_ok());
  };
  const Status status = interrupted_job(
      disk, later_job, [](Comm& comm, StagedStore& store, CheckpointWriter& writer) {
        const Status settled = settle_stages(comm, store);
        EXPECT_EQ(settled.code(), StatusCode::kAlreadyExists) << settled.to_string();
        EXPECT_EQ(sample::save_iteration(writer, comm, kPlan, 2).code(),
                  StatusCode::kAlreadyExists);
        return Status::ok();
      });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 0U);
}

// Home is full as node 1 sees it: the error comes on all ranks once two wait, and passes.
TEST(NodeStages, ErrorsOfOneNodesDrainingAreEverybodys) {
  const auto disk = disk_of_nodes();
  std::atomic<bool> is_full = true;
  const Status status = sim_nodes_on_one_core(kRanks, kRanksPerNode, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    std::unique_ptr<Store> home;
    if (comm.rank() == 2) home = std::make_unique<FullStore>(memory, "home", is_full);
    const auto store = open_seat(comm, memory, Draining::kBeside, std::move(home));
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, sample::crash_options(kPlan)));
    const auto save = [&](std::uint64_t iteration) {
      return sample::save_iteration(*writer, comm, kPlan, iteration);
    };
    STRATALOG_RETURN_IF_ERROR(save(1));
    STRATALOG_RETURN_IF_ERROR(save(2));
    const Status refused = save(3);
    EXPECT_EQ(refused.code(), StatusCode::kNoSpace);
    EXPECT_NE(refused.message().find("the disk is full"), std::string::npos) << refused.to_string();
    if (comm.rank() == 0) {
      EXPECT_FALSE(store->take_notes().empty());
    }
    EXPECT_EQ(settle_stages(comm, *store).code(), StatusCode::kNoSpace);
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    is_full = false;
    STRATALOG_RETURN_IF_ERROR(save(4));
    return settle_stages(comm, *store);
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 4U);
}

// The stage of node 1 is full for one checkpoint: nobody has it, and nothing of it stays.
TEST(NodeStages, AFullStageCostsOneCheckpoint) {
  const auto disk = disk_of_nodes();
  std::atomic<bool> is_full = false;
  const Status status = sim_nodes_on_one_core(kRanks, kRanksPerNode, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const Topology topology = comm.topology().value();
    const StageSeat seat = plan_stage_seat(topology.node_of_rank, comm.rank());
    const std::string folder = stage_folder(seat.node);
    const StageOpener opener = [&](const std::string&, RootMode) {
      return Result<std::unique_ptr<Store>>(
          seat.node == 1 ? std::make_unique<FullStore>(memory, folder, is_full)
                         : std::make_unique<SubdirectoryStore>(memory, folder));
    };
    const auto store = open_staged_store(std::make_unique<SubdirectoryStore>(memory, "home"),
                                         opener, folder, Draining::kBeside, seat);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, sample::crash_options(kPlan)));
    STRATALOG_RETURN_IF_ERROR(sample::save_iteration(*writer, comm, kPlan, 1));
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    is_full = true;
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    EXPECT_EQ(sample::save_iteration(*writer, comm, kPlan, 2).code(), StatusCode::kNoSpace);
    STRATALOG_RETURN_IF_ERROR(settle_stages(comm, *store));
    if (comm.rank() == 0) {
      for (int node = 0; node < kNodes; ++node)
        EXPECT_EQ(memory->list(stage_folder(node)).value().size(), 1U);
    }
    STRATALOG_RETURN_IF_ERROR(comm.barrier());
    is_full = false;
    STRATALOG_RETURN_IF_ERROR(sample::save_iteration(*writer, comm, kPlan, 3));
    return settle_stages(comm, *store);
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(loaded(disk), 3U);
}

TEST(NodeStages, AHomeThatIsNotSharedIsRefused) {
  const auto disk = disk_of_nodes();
  ASSERT_TRUE(open_memory_store(disk)->make_directory("other").is_ok());
  const Status status = sim_nodes_on_one_core(2, 1, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store =
        open_seat(comm, memory, Draining::kInSettle,
                  std::make_unique<SubdirectoryStore>(memory, comm.rank() == 0 ? "home" : "other"));
    const auto writer = open_checkpoint_writer(comm, *store, sample::crash_options(kPlan));
    EXPECT_EQ(writer.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(writer.status().message().find("not the same on all nodes"), std::string::npos)
        << writer.status().to_string();
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(NodeStages, OneStageForSeveralNodesIsRefused) {
  const auto disk = disk_of_nodes();
  const Status status = sim_nodes_on_one_core(4, 2, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const Topology topology, comm.topology());
    const auto store = open_staged_store(
        std::make_unique<SubdirectoryStore>(memory, "home"), sample::stages_in(memory, "stage0"),
        "fast", Draining::kInSettle, plan_stage_seat(topology.node_of_rank, comm.rank()));
    const auto writer = open_checkpoint_writer(comm, *store, sample::crash_options(kPlan));
    EXPECT_EQ(writer.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(writer.status().message().find("--stage fast-{node}"), std::string::npos)
        << writer.status().to_string();
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(NodeStages, ProbesDoNotStay) {
  const auto disk = disk_of_nodes();
  const Status status = sim_nodes_on_one_core(kNodes, 1, [&](Comm& comm) -> Status {
    const std::shared_ptr<Store> memory = open_memory_store(disk);
    const auto store = open_seat(comm, memory);
    const auto writer = open_checkpoint_writer(comm, *store, sample::crash_options(kPlan));
    EXPECT_TRUE(writer.is_ok()) << writer.status().to_string();
    STRATALOG_ASSIGN_OR_RETURN(Store* const stage, store->stage(RootMode::kMustExist));
    // One of a job that ended in between goes, too.
    STRATALOG_RETURN_IF_ERROR(stage->make_directory("probe-0123456789abcdef"));
    STRATALOG_RETURN_IF_ERROR(check_stages_are_apart(comm, *store));
    STRATALOG_ASSIGN_OR_RETURN(const auto names, stage->list("."));
    for (const std::string& name : names) EXPECT_FALSE(name.starts_with("probe")) << name;
    return Status::ok();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace stratalog
