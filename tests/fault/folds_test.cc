// SPDX-License-Identifier: Apache-2.0
// Chains that end by being read back and written as one, in all modes: the result stands by itself
// and holds every tuple once, each row in one piece; what is damaged is found, nothing builds on it
// again, and no failure harms what was there.
#include <gtest/gtest.h>

#include <cerrno>
#include <tuple>

#include "checkpoint/checkpoint.h"
#include "fault/loaded_samples.h"
#include "fault/store_row_files.h"
#include "one_core.h"
#include "write/faulty_store.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kFoldSize = 60;

WriterOptions fold_options(OverlapWay overlap) {
  WriterOptions options;
  options.block_bytes = 512;
  options.stage_bytes = 4096;
  options.overlap = overlap;
  options.backends.rows = sample::store_row_files();
  return options;
}

// Iteration `now`, on the one before. What has nothing to build on is whole.
SaveRequest request_for(CheckpointMode mode, ImagePart step, std::uint64_t now,
                        const std::string& base, const Comm& comm) {
  const bool is_whole = step == ImagePart::kWhole || base.empty();
  SaveRequest request =
      sample::grown_request(now, is_whole ? 0 : now - 1, base, kFoldSize, comm.rank(), comm.size());
  if (step == ImagePart::kFolded && !is_whole)
    sample::fold_growth(request, now, kFoldSize, comm.rank(), comm.size());
  request.mode = mode;
  return request;
}

Result<SaveReport> begin_and_finish(CheckpointWriter& writer, SaveRequest request) {
  STRATALOG_RETURN_IF_ERROR(writer.begin(std::move(request)));
  return writer.finish();
}

std::uint64_t iteration_after_fold(const std::shared_ptr<MemoryDisk>& disk, int ranks) {
  sample::Collected collected;
  std::uint64_t iteration = 0;
  const Status run = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    std::vector<StoredRelation> stored;
    STRATALOG_ASSIGN_OR_RETURN(
        const LoadReport report,
        load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored)));
    if (comm.rank() == 0) iteration = report.state.iteration;
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  sample::expect_collected(collected, sample::grown_relations(iteration, kFoldSize));
  return iteration;
}

constexpr CheckpointMode kOwnFiles = CheckpointMode::kFilePerProcess;

// A mode, and whether a thread folds.
class Folds : public ::testing::TestWithParam<std::tuple<CheckpointMode, OverlapWay>> {
 protected:
  CheckpointMode mode() const { return std::get<0>(GetParam()); }
  OverlapWay way() const { return std::get<1>(GetParam()); }
  // Collective modes of HDF5 have no thread.
  Result<SaveReport> save(CheckpointWriter& writer, SaveRequest request) const {
    if (most_overlap(mode()) == OverlapWay::kNone) return writer.save(request);
    return begin_and_finish(writer, std::move(request));
  }
  // Saves iterations 1, 2, ... in these steps.
  Status steps(CheckpointWriter& writer, const Comm& comm, const std::vector<ImagePart>& all,
               std::vector<SaveReport>* reports = nullptr) const {
    std::uint64_t now = 0;
    for (const ImagePart step : all) {
      ++now;
      STRATALOG_ASSIGN_OR_RETURN(SaveReport report,
                                 save(writer, request_for(mode(), step, now, writer.base(), comm)));
      if (reports != nullptr && comm.rank() == 0) reports->push_back(std::move(report));
    }
    return Status::ok();
  }
};

INSTANTIATE_TEST_SUITE_P(
    Modes, Folds,
    ::testing::Values(std::tuple(CheckpointMode::kFilePerProcess, OverlapWay::kNone),
                      std::tuple(CheckpointMode::kFilePerProcess, OverlapWay::kPack),
                      std::tuple(CheckpointMode::kShared, OverlapWay::kNone),
                      std::tuple(CheckpointMode::kShared, OverlapWay::kPack),
                      std::tuple(CheckpointMode::kHdf5Opt, OverlapWay::kNone),
                      std::tuple(CheckpointMode::kHdf5Direct, OverlapWay::kNone),
                      std::tuple(CheckpointMode::kHdf5Direct, OverlapWay::kPack),
                      std::tuple(CheckpointMode::kHdf5Streams, OverlapWay::kNone),
                      std::tuple(CheckpointMode::kHdf5Streams, OverlapWay::kPack)),
    [](const auto& about) {
      std::string name = std::string(mode_name(std::get<0>(about.param))) + "_" +
                         std::string(overlap_name(std::get<1>(about.param)));
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST_P(Folds, StandByThemselvesAndHoldEverything) {
  for (const int ranks : {1, 2, 3, 5}) {
    const auto disk = std::make_shared<MemoryDisk>();
    std::vector<SaveReport> reports;
    const Status run = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
      const auto store = open_memory_store(disk);
      STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                                 open_checkpoint_writer(comm, *store, fold_options(way())));
      const Status saved = steps(*writer, comm,
                                 {ImagePart::kWhole, ImagePart::kGrowth, ImagePart::kGrowth,
                                  ImagePart::kGrowth, ImagePart::kFolded},
                                 &reports);
      STRATALOG_RETURN_IF_ERROR(saved);
      EXPECT_EQ(writer->chain("path", RelationVersion::kTotal).parts, 1U);
      EXPECT_EQ(writer->chain("path", RelationVersion::kTotal).generations, 1U);
      return Status::ok();
    });
    ASSERT_TRUE(run.is_ok()) << run.to_string();
    for (const int readers : {1, 2, 3, 7}) EXPECT_EQ(iteration_after_fold(disk, readers), 5U);
    sample::expect_valid_generations_verify(disk);
    const auto listed = list_generations(*open_memory_store(disk));
    ASSERT_TRUE(listed.is_ok());
    EXPECT_TRUE(listed.value()[0].builds_on.empty());
    EXPECT_EQ(reports.back().folded_images, 5U);
    EXPECT_EQ(reports[3].folded_images, 0U);
    std::uint64_t rows = 0;
    for (const auto& relation : sample::grown_relations(5, kFoldSize))
      rows += relation.tuples.size();
    EXPECT_EQ(reports.back().rows, rows);
  }
}

// Rows that lay in several parts are one group each, as if the relation had been at hand.
TEST_P(Folds, WriteWhatAWholeOneWouldWrite) {
  const auto comm = make_self_comm();
  const auto shards = [&](ImagePart last) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto store = open_memory_store(disk);
    auto writer = open_checkpoint_writer(*comm, *store, fold_options(way()));
    EXPECT_TRUE(writer.is_ok());
    EXPECT_TRUE(steps(*writer.value(), *comm,
                      {ImagePart::kWhole, ImagePart::kGrowth, ImagePart::kGrowth, last})
                    .is_ok());
    const std::string manifest = writer.value()->base() + "/MANIFEST";
    const Bytes& text = disk->node(disk->find(manifest).value()).data;
    std::string groups;
    const std::string_view lines(reinterpret_cast<const char*>(text.data()), text.size());
    for (std::size_t at = lines.find("\"groups\":"); at != std::string_view::npos;
         at = lines.find("\"groups\":", at + 1))
      groups += std::string(lines.substr(at, lines.find(',', at) - at)) + " ";
    return groups;
  };
  const std::string whole = shards(ImagePart::kWhole);
  EXPECT_NE(whole, "");
  EXPECT_EQ(shards(ImagePart::kFolded), whole);
}

TEST_P(Folds, ChainsGoOnFromThem) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status run = sim_run_on_one_core(3, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, fold_options(way())));
    return steps(*writer, comm,
                 {ImagePart::kWhole, ImagePart::kGrowth, ImagePart::kFolded, ImagePart::kGrowth,
                  ImagePart::kFolded, ImagePart::kFolded, ImagePart::kGrowth, ImagePart::kGrowth});
  });
  ASSERT_TRUE(run.is_ok()) << run.to_string();
  EXPECT_EQ(iteration_after_fold(disk, 2), 8U);
  sample::expect_valid_generations_verify(disk);
}

// Of what lies in a generation's files; false if there is no such file or byte.
bool flip_a_bit(const std::shared_ptr<MemoryDisk>& disk, const std::string& generation,
                CheckpointMode mode, std::size_t at) {
  const auto store = open_memory_store(disk);
  const auto names = store->list(generation);
  if (!names.is_ok()) return false;
  for (const std::string& name : names.value()) {
    if (name == "MANIFEST" || name.starts_with("section")) continue;
    if (mode == kOwnFiles && !name.starts_with("0001-")) continue;
    Bytes& data = disk->change(disk->find(generation + "/" + name).value()).data;
    if (at >= data.size()) return false;
    data[at] ^= std::byte{16};
    return true;
  }
  return false;
}

// Most bytes of such small files of HDF5 belong to no tuple.
TEST_P(Folds, FindDamageAndNothingBuildsOnItAgain) {
  std::size_t tried = 0;
  std::size_t found = 0;
  const std::size_t step = stores_blocks(mode()) ? 37 : 211;
  for (const int ranks : {1, 3})
    for (std::size_t at = 0;; at += step) {
      const auto disk = std::make_shared<MemoryDisk>();
      bool is_flipped = true;
      bool is_found = false;
      const Status run = sim_run_on_one_core(ranks, [&](Comm& comm) -> Status {
        const auto store = open_memory_store(disk);
        STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                                   open_checkpoint_writer(comm, *store, fold_options(way())));
        STRATALOG_RETURN_IF_ERROR(steps(*writer, comm, {ImagePart::kWhole, ImagePart::kGrowth}));
        const std::string base = writer->base();
        if (comm.rank() == 0) is_flipped = flip_a_bit(disk, base, mode(), at);
        STRATALOG_RETURN_IF_ERROR(comm.barrier());
        if (!is_flipped) return Status::ok();
        const auto failed =
            save(*writer, request_for(mode(), ImagePart::kFolded, 3, base, comm)).status();
        if (comm.rank() == 0) is_found = !failed.is_ok();
        if (failed.is_ok()) {
          EXPECT_NE(mode(), kOwnFiles);
        } else {
          EXPECT_EQ(failed.code(), StatusCode::kCorruption) << failed.to_string();
          EXPECT_NE(failed.message().find("to be folded"), std::string::npos);
          EXPECT_EQ(writer->last_outcome(), SaveOutcome::kFailed);
          EXPECT_EQ(writer->base(), "");
          EXPECT_EQ(writer->chain("path", RelationVersion::kTotal).parts, 0U);
          if (comm.rank() == 0) {
            EXPECT_EQ(list_generations(*store).value().size(), 2U);
          }
        }
        STRATALOG_RETURN_IF_ERROR(comm.barrier());
        return save(*writer, request_for(mode(), ImagePart::kFolded, 4, writer->base(), comm))
            .status();
      });
      ASSERT_TRUE(run.is_ok()) << run.to_string();
      if (!is_flipped) break;
      ++tried;
      found += is_found ? 1 : 0;
      EXPECT_EQ(iteration_after_fold(disk, 2), 4U);
    }
  EXPECT_GT(tried, 20U);
  EXPECT_GT(found, stores_blocks(mode()) ? tried / 4 : 4);
}

// Whatever call fails, while the base is read or the new files are written.
TEST_P(Folds, AFailureLeavesWhatWasThere) {
  for (const int error : {EIO, ENOSPC}) {
    std::uint64_t lost_bases = 0;
    std::uint64_t failures = 0;
    for (std::uint64_t at = 0;; ++at) {
      const auto disk = std::make_shared<MemoryDisk>();
      const auto memory = open_memory_store(disk);
      const auto comm = make_self_comm();
      auto calm = open_checkpoint_writer(*comm, *memory, fold_options(way()));
      ASSERT_TRUE(calm.is_ok());
      const auto counter = std::make_shared<FaultCounter>(
          FaultPlan{.fail_at = at, .error_number = error, .short_write = true});
      const auto store = open_faulty_store(*memory, counter);
      calm.value().reset();
      const auto writer = open_checkpoint_writer(*comm, *store, fold_options(way()));
      if (!writer.is_ok()) continue;
      if (!steps(*writer.value(), *comm, {ImagePart::kWhole, ImagePart::kGrowth}).is_ok()) continue;
      const bool was_calm = !counter->has_fired();
      const std::string base = writer.value()->base();
      const auto saved =
          save(*writer.value(), request_for(mode(), ImagePart::kFolded, 3, base, *comm));
      if (!counter->has_fired()) break;
      if (was_calm && !saved.is_ok()) {
        ++failures;
        lost_bases += writer.value()->base().empty() ? 1 : 0;
        EXPECT_GE(iteration_after_fold(disk, 1), 2U);
      }
      const ImagePart next = saved.is_ok() ? ImagePart::kGrowth : ImagePart::kWhole;
      const auto after =
          save(*writer.value(), request_for(mode(), next, 4, writer.value()->base(), *comm));
      EXPECT_TRUE(after.is_ok()) << "after call " << at << ": " << after.status().to_string();
      EXPECT_EQ(iteration_after_fold(disk, 2), 4U) << "after call " << at;
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(failures, 20U);
    EXPECT_GT(lost_bases, 3U);
    EXPECT_LT(lost_bases, failures);
  }
}

TEST(Fold, OnlyWhereItCanBe) {
  constexpr CheckpointMode kMode = CheckpointMode::kFilePerProcess;
  const auto comm = make_self_comm();
  const auto store = open_memory_store(std::make_shared<MemoryDisk>());
  const auto writer = open_checkpoint_writer(*comm, *store, fold_options(OverlapWay::kWrite));
  ASSERT_TRUE(writer.is_ok());
  for (const ImagePart step : {ImagePart::kWhole, ImagePart::kGrowth}) {
    const std::uint64_t now = step == ImagePart::kWhole ? 1 : 2;
    ASSERT_TRUE(begin_and_finish(*writer.value(),
                                 request_for(kMode, step, now, writer.value()->base(), *comm))
                    .is_ok());
  }
  EXPECT_TRUE(writer.value()->can_fold());
  const std::string base = writer.value()->base();
  SaveRequest request = request_for(kMode, ImagePart::kFolded, 3, base, *comm);
  EXPECT_EQ(writer.value()->begin(request).code(), StatusCode::kNotSupported);
  request.base.clear();
  EXPECT_EQ(writer.value()->save(request).status().code(), StatusCode::kInvalidArgument);
  // Prefixes that come in another order than they were saved are noticed.
  request.base = base;
  auto& walk = request.images[4].for_each_group;
  walk = [walk](const GroupVisitor& visit) {
    bool is_first = true;
    return walk([&](const TupleGroup& group) {
      if (is_first && group.set.count == 0) {
        is_first = false;
        return Status::ok();
      }
      return visit(group);
    });
  };
  EXPECT_EQ(writer.value()->save(request).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(writer.value()->base(), "");
}

}  // namespace
}  // namespace stratalog
