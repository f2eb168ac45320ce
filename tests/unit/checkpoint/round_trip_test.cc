// SPDX-License-Identifier: Apache-2.0
// What is saved is loaded, in every mode and encoding, on the same and on other numbers of ranks.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "fault/loaded_samples.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

using sample::Collected;
using sample::SampleRelation;

struct Case {
  CheckpointMode mode;
  ShardEncoding encoding;
};

WriterOptions short_stages() {
  WriterOptions options;
  options.block_bytes = 512;
  options.stage_bytes = 4096;
  return options;
}

void save_once(const std::shared_ptr<MemoryDisk>& disk, int ranks, const Case& how,
               const std::vector<SampleRelation>& relations) {
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, short_stages()));
    SaveRequest request = sample::request_of(relations, comm.rank(), ranks);
    request.mode = how.mode;
    request.encoding = how.encoding;
    request.iteration = 7;
    request.engine_state = R"({"stratum":1,"name":"π"})";
    if (comm.rank() == 0) {
      request.sections.push_back({.name = "symbols", .data = Bytes(1500, std::byte{'s'})});
      request.sections.push_back({.name = "nothing", .data = {}});
    }
    STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer->save(request));
    EXPECT_EQ(writer->last_outcome(), SaveOutcome::kCommitted);
    std::uint64_t rows = 0;
    for (const SampleRelation& relation : relations) rows += relation.tuples.size();
    EXPECT_EQ(report.rows, rows);
    return Status::ok();
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
}

void load_and_compare(const std::shared_ptr<MemoryDisk>& disk, int ranks, int writers,
                      const std::vector<SampleRelation>& relations) {
  Collected collected;
  const Status status = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    std::vector<StoredRelation> stored;
    STRATALOG_ASSIGN_OR_RETURN(
        const LoadReport report,
        load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored)));
    EXPECT_EQ(report.state.needs_redistribution, ranks != writers);
    EXPECT_EQ(report.state.iteration, 7U);
    EXPECT_EQ(report.state.engine_state, R"({"stratum":1,"name":"π"})");
    EXPECT_EQ(report.state.sections.at(0).data, Bytes(1500, std::byte{'s'}));
    EXPECT_TRUE(report.state.sections.at(1).data.empty());
    EXPECT_TRUE(report.skipped.empty());
    EXPECT_EQ(report.state.relations.at(5).rows, relations[5].tuples.size());
    return Status::ok();
  });
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  sample::expect_collected(collected, relations);
}

TEST(RoundTrip, AllRankCountsModesAndEncodings) {
  for (const Case how : {Case{CheckpointMode::kFilePerProcess, ShardEncoding::kCompact},
                         Case{CheckpointMode::kFilePerProcess, ShardEncoding::kRowsU64},
                         Case{CheckpointMode::kShared, ShardEncoding::kCompact},
                         Case{CheckpointMode::kShared, ShardEncoding::kRowsU64},
                         Case{CheckpointMode::kFilePerProcess, ShardEncoding::kStreams},
                         Case{CheckpointMode::kShared, ShardEncoding::kStreams},
                         Case{CheckpointMode::kFilePerProcess, ShardEncoding::kAuto}}) {
    for (const int writers : {1, 2, 3, 7}) {
      SCOPED_TRACE(::testing::Message() << mode_name(how.mode) << ' ' << encoding_name(how.encoding)
                                        << ' ' << writers << " writers");
      const auto relations = sample::sample_relations(static_cast<std::uint64_t>(writers), 300);
      const auto disk = std::make_shared<MemoryDisk>();
      save_once(disk, writers, how, relations);
      for (const int readers : {1, 2, 3, 5, 7, 14})
        load_and_compare(disk, readers, writers, relations);
    }
  }
}

}  // namespace
}  // namespace stratalog
