// SPDX-License-Identifier: Apache-2.0
// Modes auto and hdf5-auto over several jobs: the writer of the next one goes on where the last one
// stopped, on all ranks alike; not where costs cannot be compared, and never because of what else a
// manifest says.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "checkpoint/checkpoint.h"
#include "commit/generations.h"
#include "commit/store_file.h"
#include "unit/checkpoint/long_runs.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr Cell kKeys = 60;
constexpr std::uint64_t kAllRows = kKeys * kRunRows;

// Of all keys those of this rank: enough to be worth a measurement.
RelationImage dealt_image(int rank, int ranks) {
  return image_of_runs("path", static_cast<Cell>(rank), static_cast<Cell>(ranks), kKeys);
}

struct Job {
  int ranks = 1;
  int saves = 1;
  CheckpointMode mode = CheckpointMode::kAuto;
  WriterOptions options = {.keep_generations = 20};
  ShardEncoding encoding = ShardEncoding::kAuto;
};

// One job from its opening to its end; the names of its generations.
std::vector<std::string> run_learning_job(const std::shared_ptr<MemoryDisk>& disk, const Job& job) {
  std::vector<std::string> generations;
  const Status run = sim_run(job.ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, job.options));
    for (int save = 0; save < job.saves; ++save) {
      SaveRequest request;
      request.mode = job.mode;
      request.encoding = job.encoding;
      request.images = {dealt_image(comm.rank(), comm.size())};
      STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer->save(request));
      EXPECT_EQ(report.rows, kAllRows);
      if (comm.rank() == 0) generations.push_back(report.generation);
    }
    return {};
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  return generations;
}

Manifest manifest_of(const std::shared_ptr<MemoryDisk>& disk, const std::string& generation) {
  const auto store = open_memory_store(disk);
  const auto found = read_manifest(*store, parse_generation_name(generation).value(),
                                   read_store_id(*store).value(), {});
  EXPECT_TRUE(found.is_ok()) << found.status().to_string();
  return found.is_ok() ? found.value().manifest : Manifest();
}

// "from gen-..., 2 measurements", or nothing.
std::string remembered(const std::shared_ptr<MemoryDisk>& disk, const std::string& generation) {
  for (const Reason& reason : manifest_of(disk, generation).reasons)
    if (reason.about == "auto: remembered") return reason.text;
  return "";
}

std::uint64_t saves_known(const std::shared_ptr<MemoryDisk>& disk, const std::string& generation) {
  const Manifest manifest = manifest_of(disk, generation);
  return manifest.learned ? manifest.learned->costs.saves : 0;
}

TEST(LearningJobs, TheNextJobGoesOnWhereTheLastOneStopped) {
  for (const int ranks : {1, 3}) {
    SCOPED_TRACE(ranks);
    const auto disk = std::make_shared<MemoryDisk>();
    const auto first = run_learning_job(disk, {.ranks = ranks, .saves = 3});
    ASSERT_EQ(first.size(), 3U);
    EXPECT_FALSE(manifest_of(disk, first[0]).learned.has_value()) << "nothing is known yet";
    EXPECT_EQ(saves_known(disk, first[1]), 1U);
    EXPECT_EQ(saves_known(disk, first[2]), 2U);
    for (const std::string& generation : first) EXPECT_EQ(remembered(disk, generation), "");

    const auto second = run_learning_job(disk, {.ranks = ranks, .saves = 2});
    ASSERT_EQ(second.size(), 2U);
    const std::string from = fmt::format("from {}, 2 measurements", first[2]);
    for (const std::string& generation : second) EXPECT_EQ(remembered(disk, generation), from);
    const Manifest begun = manifest_of(disk, second[0]);
    EXPECT_EQ(begun.learned, manifest_of(disk, first[2]).learned) << "to the last bit";
    EXPECT_TRUE(std::any_of(begun.reasons.begin(), begun.reasons.end(), [](const Reason& reason) {
      return reason.about == "auto: measured";
    })) << "it counts at once";
    EXPECT_EQ(saves_known(disk, second[1]), 3U);
    ASSERT_TRUE(begun.learned.has_value());
    EXPECT_EQ(begun.learned->on.ranks, static_cast<std::uint32_t>(ranks));
    EXPECT_EQ(begun.learned->on.file_system, "memory");

    for (const std::string& generation : second) {
      const auto verified =
          verify_generation(*open_memory_store(disk), generation, VerifyDepth::kContent);
      ASSERT_TRUE(verified.is_ok());
      EXPECT_TRUE(verified.value().problems.empty());
    }
  }
}

TEST(LearningJobs, WhatCannotBeComparedIsNotTakenAndNotLost) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Job usual{.ranks = 3, .saves = 2};
  const std::string last = run_learning_job(disk, usual).back();
  Job other = usual;
  const auto starts_anew = [&](const char* why) {
    const auto generations = run_learning_job(disk, other);
    EXPECT_EQ(remembered(disk, generations[0]), "") << why;
    EXPECT_EQ(saves_known(disk, generations[0]), 0U) << why;
    EXPECT_EQ(saves_known(disk, generations[1]), 1U) << why;
    other = usual;
  };
  other.ranks = 1;
  starts_anew("other ranks");
  other.options.durability = Durability::kNone;
  starts_anew("nothing is fsynced");
  other.encoding = ShardEncoding::kCompact;
  starts_anew("an encoding was asked for");
  other.options.layout.aggregators = 2;
  starts_anew("aggregators were asked for");
  disk->file_system.name = "lustre";
  starts_anew("another file system");
  disk->file_system.name = "memory";
  // And a mode that leaves nothing to learn.
  other.mode = CheckpointMode::kFilePerProcess;
  const std::string plain = run_learning_job(disk, other).back();
  EXPECT_FALSE(manifest_of(disk, plain).learned.has_value());
  EXPECT_EQ(remembered(disk, run_learning_job(disk, usual).front()),
            fmt::format("from {}, 1 measurement", last));
}

// A user's number of files stands in the options themselves: what was measured of it counts.
TEST(LearningJobs, ANumberOfFilesIsAWishLikeBefore) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Job usual{.ranks = 3, .saves = 3};
  const std::string last = run_learning_job(disk, usual).back();
  Job wishing = usual;
  wishing.options.layout.files = 2;
  const std::string next = run_learning_job(disk, wishing).front();
  EXPECT_EQ(remembered(disk, next), fmt::format("from {}, 2 measurements", last));
  EXPECT_EQ(manifest_of(disk, next).mode, CheckpointMode::kSharedOpt);
}

// Its costs are as true as before: they were measured.
TEST(LearningJobs, AlsoOfAGenerationThatIsDamaged) {
  const auto disk = std::make_shared<MemoryDisk>();
  const std::string last = run_learning_job(disk, {.ranks = 3, .saves = 2}).back();
  disk->change(disk->find(last + "/0000-path.total.000001").value()).data.resize(10);
  EXPECT_EQ(remembered(disk, run_learning_job(disk, {.ranks = 3}).front()),
            fmt::format("from {}, 1 measurement", last));
}

// Rewrites a manifest with the right hash.
void replace_in_manifest(MemoryDisk& disk, const std::string& generation, const std::string& from,
                         const std::string& to) {
  Bytes& data = disk.change(disk.find(generation + "/MANIFEST").value()).data;
  std::string text(reinterpret_cast<const char*>(data.data()), data.size());
  text.resize(text.rfind('\n', text.size() - 2) + 1);
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  text += fmt::format("{{\"xxh3_128\":\"{}\"}}\n", to_hex(hash128(text)));
  const auto bytes = std::as_bytes(std::span(text));
  data.assign(bytes.begin(), bytes.end());
}

// What rank 0 has read decides on all ranks, or they would not save the same.
TEST(LearningJobs, AllRanksGoByWhatIsRemembered) {
  const auto disk = std::make_shared<MemoryDisk>();
  const std::string last = run_learning_job(disk, {.ranks = 3, .saves = 3}).back();
  const Manifest manifest = manifest_of(disk, last);
  ASSERT_TRUE(manifest.learned.has_value());
  const std::string way = R"({"mode":"shared-opt","files":2,"coding":"compact")";
  replace_in_manifest(*disk, last, R"("settled":{"mode":"fpp","coding":"compact")",
                      "\"settled\":" + way);
  replace_in_manifest(
      *disk, last, "\"costs\":[",
      fmt::format(R"("costs":[{},"bytes":{},"seconds_per_byte":1e-12,"saves":1,"last":1}},)", way,
                  manifest.learned->costs.costs[0].bytes));
  const std::string next = run_learning_job(disk, {.ranks = 3}).front();
  EXPECT_EQ(remembered(disk, next), fmt::format("from {}, 2 measurements", last));
  EXPECT_EQ(manifest_of(disk, next).mode, CheckpointMode::kSharedOpt);
  EXPECT_EQ(manifest_of(disk, next).files.size(), 2U);
}

TEST(LearningJobs, NonsenseIsForgottenAndNoError) {
  const std::pair<const char*, const char*> nonsense[] = {
      {R"("learned":{)", R"("learned":null,"x":{)"},
      {R"("saves":1)", R"("saves":-1)"},
      {R"("seconds_per_byte":)", R"("seconds":)"},
      {R"("seconds_per_byte":)", R"("seconds_per_byte":-)"},
      {R"("costs":[{"mode":"fpp")", R"("costs":[{"mode":"shared")"},
      {R"("bytes":)", R"("bytes":999999999999)"},
  };
  for (const int ranks : {1, 3})
    for (const auto& [from, to] : nonsense) {
      SCOPED_TRACE(to);
      const auto disk = std::make_shared<MemoryDisk>();
      const auto first = run_learning_job(disk, {.ranks = ranks, .saves = 2});
      replace_in_manifest(*disk, first[1], from, to);
      const std::string next = run_learning_job(disk, {.ranks = ranks}).front();
      EXPECT_EQ(remembered(disk, next), "");
      EXPECT_EQ(saves_known(disk, next), 0U);
    }
}

}  // namespace
}  // namespace stratalog
