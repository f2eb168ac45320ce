// SPDX-License-Identifier: Apache-2.0
// Memory that ends on one rank while a checkpoint is packed or read, while what was read travels to
// other ranks, and while the engine takes it in: all ranks end with the same NoSpace, and none of
// them waits for the others. Every larger request for memory of a restart is refused once, and many
// of an agreement on the classes of an equivalence relation.
#include <gtest/gtest.h>

#include <optional>

#include "checkpoint/checkpoint.h"
#include "datalog/evaluate/class_agreement.h"
#include "failing_memory.h"
#include "fault/loaded_samples.h"
#include "fault/small_writer_options.h"
#include "one_core.h"
#include "property/engine_runner.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr int kRanks = 3;
constexpr std::uint64_t kSize = 400;

Status save(Comm& comm, CheckpointMode mode, const std::shared_ptr<MemoryDisk>& disk, int poor) {
  const auto relations = sample::sample_relations(5, kSize);
  const auto store = open_memory_store(disk);
  WriterOptions options = sample::small_writer_options();
  STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
  SaveRequest request = sample::request_of(relations, comm.rank(), kRanks);
  request.mode = mode;
  SaveRequest good = request;
  if (comm.rank() == poor)
    for (RelationImage& image : request.images)
      if (image.for_each_group)
        image.for_each_group = [walk = image.for_each_group](const GroupVisitor& visit) -> Status {
          int groups = 0;
          return walk([&](const TupleGroup& group) -> Status {
            if (++groups > 3) throw std::bad_alloc();
            return visit(group);
          });
        };
  const Status failed = writer->save(request).status();
  EXPECT_EQ(failed.code(), StatusCode::kNoSpace) << failed.to_string();
  EXPECT_EQ(failed.message().find(fmt::format("rank {}: ", poor)), 0U) << failed.to_string();
  return writer->save(good).status();
}

TEST(MemoryEnd, WhileRowsArePackedItIsAFailedCheckpoint) {
  for (const CheckpointMode mode :
       {CheckpointMode::kFilePerProcess, CheckpointMode::kShared, CheckpointMode::kSharedOpt,
        CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Streams})
    for (const int poor : {0, 2})
      // On a network ranks pass bytes on, so that no block has two writers.
      for (const FileSystemKind kind : {FileSystemKind::kMemory, FileSystemKind::kNetwork}) {
        SCOPED_TRACE(fmt::format("{}, rank {}, file system {}", mode_name(mode), poor,
                                 static_cast<int>(kind)));
        const auto disk = std::make_shared<MemoryDisk>();
        disk->file_system.kind = kind;
        const Status status =
            sim_run_on_one_core(kRanks, [&](Comm& comm) { return save(comm, mode, disk, poor); });
        EXPECT_TRUE(status.is_ok()) << status.to_string();
      }
}

// `throws`: the call of the sink on the poor rank that finds no memory.
Status load(Comm& comm, const std::shared_ptr<MemoryDisk>& disk, sample::Collected& collected,
            int poor, std::uint64_t throws) {
  const auto store = open_memory_store(disk);
  std::vector<StoredRelation> stored;
  LoadSink sink = sample::sink_into(collected, comm, stored);
  std::uint64_t calls = 0;
  const auto count = [&] {
    if (comm.rank() == poor && calls++ == throws) throw std::bad_alloc();
  };
  sink.begin = [&, begin = sink.begin](const StoredState& state) {
    const Status begun = begin(state);  // collective
    count();
    return begun;
  };
  sink.accept = [&, accept = sink.accept](std::size_t index, const TupleGroup& group) {
    count();
    return accept(index, group);
  };
  const Status status = load_checkpoint(comm, *store, {}, sink).status();
  EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.to_string();
  EXPECT_EQ(status.message().find(fmt::format("rank {}: ", poor)), 0U) << status.to_string();
  return comm.barrier();
}

TEST(MemoryEnd, WhileACheckpointIsReadNoOlderOneIsTried) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status saved = sim_run_on_one_core(
      kRanks, [&](Comm& comm) { return save(comm, CheckpointMode::kShared, disk, 1); });
  ASSERT_TRUE(saved.is_ok()) << saved.to_string();
  for (const int ranks : {2, kRanks})
    for (const int poor : {0, 1})
      for (const std::uint64_t throws : {0U, 1U, 20U}) {
        sample::Collected collected;
        const Status status = sim_run_on_one_core(
            ranks, [&](Comm& comm) { return load(comm, disk, collected, poor, throws); });
        EXPECT_TRUE(status.is_ok()) << status.to_string();
      }
}

}  // namespace

namespace datalog {
namespace {

const FileTexts& facts() {
  static const FileTexts texts = [] {
    std::string edges;
    for (int i = 0; i < 120; ++i) edges += fmt::format("{}\t{}\n", i, i + 1);
    return FileTexts{{"edge.facts", edges}};
  }();
  return texts;
}

Program sample_program() {
  return compiled(
      ".decl edge(x: number, y: number)\n.input edge\n"
      ".decl path(x: number, y: number)\n.output path\npath(x, y) :- edge(x, y).\n"
      "path(x, z) :- path(x, y), edge(y, z).\n"
      ".decl same(x: number, y: number) eqrel\nsame(x, x + 60) :- edge(x, _), x < 60.\n"
      ".decl far(x: number, y: number, n: number)\n.output far\n"
      "far(x, y, x * 1000000007) :- path(x, y), same(x, y).\n"
      "far(x, z, n) :- far(x, y, n), edge(y, z).\n");
}

RunOptions options_with(ResumePolicy resume, bool by_pivot) {
  RunOptions options;
  options.allow_pivot = by_pivot;
  options.mirror_limit_rows = 0;
  options.restore_round_bytes = 4096;
  options.checkpoint.every_iterations = 20;
  options.checkpoint.resume = resume;
  return options;
}

// On rank 0, from the beginning of the restart to its end.
struct RestartWithoutMemory {
  std::uint64_t granted;
  std::optional<FailingMemory> end;
  bool was_refused = false;

  RunHooks hooks() {
    RunHooks hooks;
    hooks.progress = [this](const Progress& progress) {
      if (progress.phase == Phase::kRestoring && !end) {
        // To free what nlohmann-json holds takes memory, and ends the program where there is none:
        // less than this.
        end.emplace(MemoryEnd{.bytes = 4096, .granted = granted, .refused = 1});
      } else if (end) {
        was_refused = memory_end_of_thread.refused == 0;
        memory_end_of_thread = {};
      }
    };
    return hooks;
  }
};

// The newest checkpoint but one, in the middle of a stratum.
std::shared_ptr<MemoryDisk> interrupted(const Program& program, bool by_pivot) {
  const auto disk = std::make_shared<MemoryDisk>();
  std::uint64_t polls = 0;
  RunHooks hooks;
  hooks.stop_requested = [&] {
    return ++polls == 150 ? StopRequest::kCheckpointAndStop : StopRequest::kNone;
  };
  const EngineOutcome outcome = run_engine(
      program, facts(), kRanks, options_with(ResumePolicy::kFresh, by_pivot), hooks, disk);
  EXPECT_TRUE(outcome.status.is_ok()) << outcome.status.to_string();
  return disk;
}

TEST(MemoryEnd, EveryLargerRequestOfARestartIsRefusedOnce) {
  const Program program = sample_program();
  for (const bool by_pivot : {false, true}) {
    const auto disk = interrupted(program, by_pivot);
    for (const int ranks : {kRanks, 2}) {
      std::uint64_t refused = 0;
      for (std::uint64_t granted = 0;; ++granted) {
        SCOPED_TRACE(fmt::format("by pivot {}, {} ranks, {} granted", by_pivot, ranks, granted));
        RestartWithoutMemory restart{.granted = granted};
        // run_engine compares the verdicts of all ranks.
        const EngineOutcome outcome =
            run_engine(program, facts(), ranks, options_with(ResumePolicy::kResume, by_pivot),
                       restart.hooks(), disk->clone());
        const bool was_refused = restart.end && memory_end_of_thread.refused == 0;
        restart.end.reset();
        if (outcome.status.is_ok() && !restart.was_refused) break;
        EXPECT_TRUE(was_refused || restart.was_refused) << outcome.status.to_string();
        const bool is_expected =
            outcome.status.is_ok() || outcome.status.code() == StatusCode::kNoSpace;
        EXPECT_TRUE(is_expected) << outcome.status.to_string();
        ++refused;
        if (HasFailure()) return;
      }
      EXPECT_GT(refused, 10U);
    }
  }
}

// Pairs that unite, in two rounds, most of the elements of all ranks: paths of labels in no order,
// which take several phases (there are more edges than all ranks get to see).
std::vector<Equivalence::Pair> pairs_of(std::uint32_t rank, std::uint32_t round) {
  std::vector<Equivalence::Pair> pairs;
  for (std::uint32_t i = rank; i < 60'000; i += kRanks)
    if ((i / kRanks) % 2 == round)
      pairs.push_back({.first = i * 7919 % 60'000, .second = (i + 1) * 7919 % 60'000});
  return pairs;
}

// Of rank `poor` one request for memory is refused, after `granted` ones. Whether there was one.
bool refuse_in_agreement(int poor, std::uint64_t granted) {
  bool was_refused = false;
  std::vector<StatusCode> codes(kRanks, StatusCode::kOk);
  const Status status = sim_run_on_one_core(kRanks, [&](Comm& comm) -> Status {
    Equivalence classes;
    classes.deal(
        [self = comm.rank()](Cell cell) { return owner_of_element(cell, kRanks) == self; });
    for (std::uint32_t round = 0; round < 2; ++round) {
      for (const auto& [a, b] : pairs_of(static_cast<std::uint32_t>(comm.rank()), round))
        classes.unite(a, b);
      const auto news = classes.take_news();
      const bool fails = round == 1 && comm.rank() == poor;
      std::optional<FailingMemory> end;
      if (fails) end.emplace(MemoryEnd{.bytes = 4096, .granted = granted, .refused = 1});
      const Status agreed = agree_on_classes(comm, classes, news).status();
      if (fails) was_refused = memory_end_of_thread.refused == 0;
      end.reset();
      codes[static_cast<std::size_t>(comm.rank())] = agreed.code();
      if (!agreed.is_ok()) return comm.barrier();
      classes.advance();
    }
    return comm.barrier();
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  for (const StatusCode code : codes)
    EXPECT_EQ(code, was_refused ? StatusCode::kNoSpace : StatusCode::kOk);
  return was_refused;
}

TEST(MemoryEnd, LargerRequestsOfAnAgreementOnClassesAreRefusedOnce) {
  for (const int poor : {0, 2}) {
    std::uint64_t granted = 0;
    while (refuse_in_agreement(poor, granted) && granted < 5000) granted += 1 + (granted / 16);
    EXPECT_GT(granted, 100U) << "requests that can be refused";
    EXPECT_LT(granted, 5000U);
  }
}

}  // namespace
}  // namespace datalog
}  // namespace stratalog
