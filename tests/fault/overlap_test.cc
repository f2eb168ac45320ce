// SPDX-License-Identifier: Apache-2.0
// begin() and finish(): what save() does in two halves, with the writing in a thread in between.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <mutex>

#include "checkpoint/checkpoint.h"
#include "fault/loaded_samples.h"
#include "fault/overlap_ways.h"
#include "one_core.h"
#include "write/faulty_store.h"
#include "write/hdf5_row_layout.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

using sample::Collected;
using sample::OverlapCase;

constexpr std::uint64_t kOverlapSize = 80;

// A buffer that holds a few blocks only, so that packing has to wait for writing.
WriterOptions overlapped(OverlapWay way) {
  WriterOptions options;
  options.overlap = way;
  options.backends.rows = hdf5_serial_files();
  options.block_bytes = 256;
  options.stage_bytes = 4096;
  return options;
}

class OverlapWays : public ::testing::TestWithParam<OverlapCase> {};
INSTANTIATE_TEST_SUITE_P(Overlap, OverlapWays,
                         ::testing::ValuesIn(sample::overlap_cases(OverlapWay::kNone)),
                         [](const auto& about) { return about.param.name(); });

// The request borrows from the relations.
struct Sample {
  explicit Sample(std::uint64_t iteration)
      : relations(sample::sample_relations(iteration, kOverlapSize)) {}
  SaveRequest request(const Comm& comm,
                      CheckpointMode mode = CheckpointMode::kFilePerProcess) const {
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = mode;
    return request;
  }
  std::vector<sample::SampleRelation> relations;
};

TEST_P(OverlapWays, WhatIsFinishedIsWhatWasBegun) {
  const auto [mode, way] = GetParam();
  for (const int ranks : {1, 2, 3, 4, 7}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const Status run =
        sim_run_on_one_core(ranks, [&, mode = mode, way = way](Comm& comm) -> Status {
          const auto store = open_memory_store(disk);
          STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                                     open_checkpoint_writer(comm, *store, overlapped(way)));
          const Sample first(1);
          const Sample second(2);
          const auto begun = std::chrono::steady_clock::now();
          STRATALOG_RETURN_IF_ERROR(writer->begin(first.request(comm, mode)));
          EXPECT_TRUE(writer->base().empty()) << "nothing is committed yet";
          EXPECT_EQ(writer->begin(second.request(comm, mode)).code(), StatusCode::kInvalidArgument);
          EXPECT_EQ(writer->save(second.request(comm, mode)).status().code(),
                    StatusCode::kInvalidArgument);
          STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer->finish());
          EXPECT_EQ(report.generation, writer->base());
          EXPECT_LE(report.held_seconds, report.total_seconds);
          // No time counts twice. Of one rank, as the others' may have begun earlier.
          const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun;
          if (ranks == 1) {
            EXPECT_LE(report.total_seconds, passed.count());
          }
          EXPECT_EQ(report.overlap, way);
          EXPECT_TRUE(writer->is_written());
          EXPECT_EQ(writer->finish().status().code(), StatusCode::kInvalidArgument);
          return writer->save(second.request(comm, mode)).status();
        });
    ASSERT_TRUE(run.is_ok()) << run.to_string();
    const auto store = open_memory_store(disk);
    const auto listed = list_generations(*store);
    ASSERT_TRUE(listed.is_ok());
    ASSERT_EQ(listed.value().size(), 2U);
    const auto state = inspect_generation(*store, listed.value()[1].name);
    ASSERT_TRUE(state.is_ok());
    const std::vector<Reason>& reasons = state.value().layout_reasons;
    EXPECT_EQ(std::any_of(reasons.begin(), reasons.end(),
                          [](const Reason& reason) { return reason.about == "overlap"; }),
              way != OverlapWay::kNone);
    for (std::uint64_t i = 0; i < 2; ++i) {
      Collected collected;
      const Status loaded = sim_run_on_one_core(2, [&](Comm& comm) -> Status {
        const auto own = open_memory_store(disk);
        std::vector<StoredRelation> stored;
        return load_checkpoint(comm, *own,
                               {.generation = listed.value()[1 - i].name, .excluded = {}},
                               sample::sink_into(collected, comm, stored))
            .status();
      });
      ASSERT_TRUE(loaded.is_ok()) << loaded.to_string();
      sample::expect_collected(collected, Sample(i + 1).relations);
    }
  }
}

TEST(Overlap, OnlyWhereRanksWriteAlone) {
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto comm = make_self_comm();
  const auto writer = open_checkpoint_writer(*comm, *store, {});
  ASSERT_TRUE(writer.is_ok());
  const Sample one(1);
  SaveRequest request = one.request(*comm);
  request.mode = CheckpointMode::kSharedOpt;
  EXPECT_EQ(writer.value()->begin(request).code(), StatusCode::kNotSupported);
  request.mode = CheckpointMode::kFilePerProcess;
  EXPECT_TRUE(writer.value()->begin(request).is_ok());
  EXPECT_TRUE(writer.value()->finish().is_ok());
}

// Mode auto chooses for each checkpoint anew; whether it may be written beside is known then.
TEST(Overlap, AutoIsFinishedToo) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status run = sim_run_on_one_core(2, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, {}));
    for (const std::uint64_t iteration : {1U, 2U}) {
      const Sample sample(iteration);
      SaveRequest request = sample.request(comm);
      request.mode = CheckpointMode::kAuto;
      STRATALOG_RETURN_IF_ERROR(writer->begin(std::move(request)));
      STRATALOG_RETURN_IF_ERROR(writer->finish().status());
    }
    return {};
  });
  ASSERT_TRUE(run.is_ok()) << run.to_string();
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  ASSERT_EQ(listed.value().size(), 2U);
  for (const GenerationSummary& generation : listed.value()) {
    const auto verified = verify_generation(*store, generation.name, VerifyDepth::kContent);
    ASSERT_TRUE(verified.is_ok());
    EXPECT_TRUE(verified.value().problems.empty());
    const auto state = inspect_generation(*store, generation.name);
    ASSERT_TRUE(state.is_ok());
    EXPECT_FALSE(state.value().layout_reasons.empty()) << "it says why";
  }
}

// Each call that can fail does, once: the error comes out of one of the two halves, the generation
// before stays the newest, and the next save works.
TEST_P(OverlapWays, AFailureComesOutAndLeavesWhatWasThere) {
  const auto [mode, way] = GetParam();
  std::uint64_t in_begin = 0;
  std::uint64_t in_finish = 0;
  for (std::uint64_t at = 0;; ++at) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto memory = open_memory_store(disk);
    const auto comm = make_self_comm();
    std::uint64_t calls = 0;
    {
      const auto counter = std::make_shared<FaultCounter>(FaultPlan{});
      const auto store = open_faulty_store(*memory, counter);
      const auto writer = open_checkpoint_writer(*comm, *store, overlapped(way));
      ASSERT_TRUE(writer.is_ok());
      ASSERT_TRUE(writer.value()->save(Sample(1).request(*comm, mode)).is_ok());
      calls = counter->calls();
    }
    const auto counter =
        std::make_shared<FaultCounter>(FaultPlan{.fail_at = at, .error_number = EIO});
    const auto store = open_faulty_store(*memory, counter);
    const auto writer = open_checkpoint_writer(*comm, *store, overlapped(way));
    if (!writer.is_ok()) continue;
    const Sample second(2);
    const Status begun = writer.value()->begin(second.request(*comm, mode));
    in_begin += begun.is_ok() ? 0 : 1;
    if (begun.is_ok()) in_finish += writer.value()->finish().is_ok() ? 0 : 1;
    if (!counter->has_fired()) break;
    const auto listed = list_generations(*memory);
    ASSERT_TRUE(listed.is_ok());
    EXPECT_GE(listed.value().size(), 1U);
    const auto next = writer.value()->save(Sample(3).request(*comm, mode));
    EXPECT_TRUE(next.is_ok()) << "after a failure at call " << at << ": "
                              << next.status().to_string();
    ASSERT_LT(at, 10 * calls + 1000);
  }
  EXPECT_GT(in_begin, 0U);
  EXPECT_GT(in_finish, 3U);
}

TEST_P(OverlapWays, AWriterCanGoWhileItWrites) {
  const auto [mode, way] = GetParam();
  const auto disk = std::make_shared<MemoryDisk>();
  const auto store = open_memory_store(disk);
  const auto comm = make_self_comm();
  const Sample one(1);
  {
    const auto writer = open_checkpoint_writer(*comm, *store, overlapped(way));
    ASSERT_TRUE(writer.is_ok());
    ASSERT_TRUE(writer.value()->begin(one.request(*comm, mode)).is_ok());
  }
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  ASSERT_EQ(listed.value().size(), 1U);
  EXPECT_EQ(listed.value()[0].condition, GenerationCondition::kUnfinished);
  const auto writer = open_checkpoint_writer(*comm, *store, overlapped(way));
  ASSERT_TRUE(writer.is_ok());
  EXPECT_TRUE(writer.value()->save(one.request(*comm, mode)).is_ok());
}

// All ranks come to the same end, whoever has more than the stage holds and however often they have
// to meet for it.
TEST(Overlap, SharedFilesGrowRoundAfterRound) {
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const OverlapWay way : {OverlapWay::kNone, OverlapWay::kPack}) {
      const auto disk = std::make_shared<MemoryDisk>();
      std::atomic<int> meetings = 0;
      const Status run = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
        const auto store = open_memory_store(disk);
        STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                                   open_checkpoint_writer(comm, *store, overlapped(way)));
        const auto relations = sample::sample_relations(1, 4000);
        SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
        request.mode = CheckpointMode::kShared;
        STRATALOG_RETURN_IF_ERROR(writer->begin(std::move(request)));
        int met = 0;
        for (bool is_due = false; !is_due;) {
          std::uint64_t waits = writer->is_written() ? 0 : 1;
          STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&waits, 1), ReduceOp::kSum));
          if (waits != 0) continue;
          is_due = writer->advance();
          met += is_due ? 0 : 1;
        }
        if (comm.rank() == 0) meetings = met;
        return writer->finish().status();
      });
      ASSERT_TRUE(run.is_ok()) << run.to_string();
      EXPECT_EQ(meetings > 0, way == OverlapWay::kPack) << ranks << " ranks";
      const auto store = open_memory_store(disk);
      const std::string generation = list_generations(*store).value().at(0).name;
      // What a rank wrote of a relation in several rounds lies in several places.
      const Bytes& manifest = disk->node(disk->find(generation + "/MANIFEST").value()).data;
      const std::string_view text(reinterpret_cast<const char*>(manifest.data()), manifest.size());
      EXPECT_NE(text.find("],["), std::string_view::npos) << text;
      const auto verified = verify_generation(*store, generation, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      EXPECT_TRUE(verified.value().problems.empty());
      sample::Collected collected;
      const auto self = make_self_comm();
      std::vector<StoredRelation> stored;
      ASSERT_TRUE(
          load_checkpoint(*self, *store, {}, sample::sink_into(collected, *self, stored)).is_ok());
      sample::expect_collected(collected, sample::sample_relations(1, 4000));
    }
  }
}

// A rank whose thread fails on the way, and one whose callers finish without having met before.
TEST(Overlap, AFailedRankEndsTheRoundsOfAll) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status run = sim_run_on_one_core(3, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, overlapped(OverlapWay::kPack)));
    const auto relations = sample::sample_relations(1, 4000);
    SaveRequest request = sample::request_of(relations, comm.rank(), comm.size());
    request.mode = CheckpointMode::kShared;
    SaveRequest broken = request;
    if (comm.rank() == 1)
      broken.images[0].for_each_group =
          [walk = request.images[0].for_each_group](const GroupVisitor& visit) -> Status {
        STRATALOG_RETURN_IF_ERROR(walk(visit));
        return Status::no_space("out of imaginary space");
      };
    STRATALOG_RETURN_IF_ERROR(writer->begin(std::move(broken)));
    const Status failed = writer->finish().status();
    EXPECT_EQ(failed.code(), StatusCode::kNoSpace) << failed.to_string();
    EXPECT_EQ(writer->last_outcome(), SaveOutcome::kFailed);
    STRATALOG_RETURN_IF_ERROR(writer->begin(std::move(request)));
    return writer->finish().status();
  });
  ASSERT_TRUE(run.is_ok()) << run.to_string();
  EXPECT_EQ(list_generations(*open_memory_store(disk)).value().size(), 1U);
}

// Packing ends before the first byte is written: whatever the images show may change then.
TEST(Overlap, WhatIsPackedNeedsItsImagesNoMore) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto memory = open_memory_store(disk);
  const auto comm = make_self_comm();
  WriterOptions options;
  options.overlap = OverlapWay::kWrite;
  // Which call of the store is the first one after packing has begun.
  std::uint64_t before_data = 0;
  {
    const auto counter = std::make_shared<FaultCounter>(FaultPlan{});
    const auto other = open_memory_store(std::make_shared<MemoryDisk>());
    const auto store = open_faulty_store(*other, counter);
    const auto writer = open_checkpoint_writer(*comm, *store, options);
    ASSERT_TRUE(writer.is_ok());
    const Sample sample(1);
    SaveRequest request = sample.request(*comm);
    auto& walk = request.images[0].for_each_group;
    walk = [&, inner = walk](const GroupVisitor& visit) {
      before_data = counter->calls();
      return inner(visit);
    };
    ASSERT_TRUE(writer.value()->save(request).is_ok());
    ASSERT_GT(before_data, 0U);
  }
  std::mutex gate;
  FaultPlan plan;
  plan.fail_at = before_data;
  plan.meanwhile = [&] { const std::lock_guard open(gate); };
  const auto store = open_faulty_store(*memory, std::make_shared<FaultCounter>(plan));
  const auto writer = open_checkpoint_writer(*comm, *store, options);
  ASSERT_TRUE(writer.is_ok());
  auto sample = std::make_unique<Sample>(1);
  std::unique_lock closed(gate);
  ASSERT_TRUE(writer.value()->begin(sample->request(*comm)).is_ok());
  EXPECT_FALSE(writer.value()->is_written());
  sample.reset();
  closed.unlock();
  ASSERT_TRUE(writer.value()->finish().is_ok());
  const auto listed = list_generations(*memory);
  ASSERT_TRUE(listed.is_ok());
  ASSERT_EQ(listed.value().size(), 1U);
  const auto verified = verify_generation(*memory, listed.value()[0].name, VerifyDepth::kContent);
  ASSERT_TRUE(verified.is_ok());
  EXPECT_TRUE(verified.value().problems.empty());
}

}  // namespace
}  // namespace stratalog
