// SPDX-License-Identifier: Apache-2.0
// Generations that build on older ones: what is loaded, verified, listed and exported is the whole,
// on any number of ranks and across modes; a broken link is named and the next older generation
// takes its place; what nothing needs goes.
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "fault/loaded_samples.h"
#include "write/memory_store.h"

namespace stratalog {
namespace {

using sample::Collected;

constexpr std::uint64_t kChainSize = 60;

WriterOptions small_blocks() {
  WriterOptions options;
  options.block_bytes = 512;
  options.stage_bytes = 4096;
  return options;
}

struct Step {
  std::uint64_t iteration;
  ImagePart part;
  CheckpointMode mode;
};

// A job that saves all steps; returns the names of the generations.
std::vector<std::string> run_job(const std::shared_ptr<MemoryDisk>& disk, int ranks,
                                 const std::vector<Step>& steps, std::uint32_t keep) {
  std::vector<std::string> names;
  const Status run = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    WriterOptions options = small_blocks();
    options.keep_generations = keep;
    STRATALOG_ASSIGN_OR_RETURN(const auto writer, open_checkpoint_writer(comm, *store, options));
    std::uint64_t before = 0;
    for (const Step& step : steps) {
      const bool grows = step.part == ImagePart::kGrowth;
      SaveRequest request = sample::grown_request(
          step.iteration, grows ? before : 0, writer->base(), kChainSize, comm.rank(), comm.size());
      request.mode = step.mode;
      STRATALOG_ASSIGN_OR_RETURN(const SaveReport report, writer->save(request));
      EXPECT_EQ(report.generation, writer->base());
      before = step.iteration;
      if (comm.rank() == 0) names.push_back(report.generation);
    }
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  return names;
}

// The iteration that a load on `ranks` ranks gives, all of whose tuples must be right.
std::uint64_t loaded(const std::shared_ptr<MemoryDisk>& disk, int ranks,
                     LoadReport* out = nullptr) {
  Collected collected;
  std::uint64_t iteration = 0;
  const Status run = sim_run(ranks, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    std::vector<StoredRelation> stored;
    STRATALOG_ASSIGN_OR_RETURN(
        LoadReport report,
        load_checkpoint(comm, *store, {}, sample::sink_into(collected, comm, stored)));
    EXPECT_EQ(report.state.sections.at(1).data, Bytes(60, std::byte{'p'}));
    EXPECT_EQ(report.state.sections.at(2).data, sample::grown_section(report.state.iteration));
    if (comm.rank() == 0) {
      iteration = report.state.iteration;
      if (out != nullptr) *out = std::move(report);
    }
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  const auto relations = sample::grown_relations(iteration, kChainSize);
  sample::expect_collected(collected, relations);
  return iteration;
}

void expect_sound(const std::shared_ptr<MemoryDisk>& disk) {
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  for (const GenerationSummary& generation : listed.value()) {
    EXPECT_TRUE(generation.condition == GenerationCondition::kValid ||
                generation.condition == GenerationCondition::kBase)
        << generation.name << ": " << generation.reason;
  }
  sample::expect_valid_generations_verify(disk);
}

constexpr auto kFpp = CheckpointMode::kFilePerProcess;
constexpr auto kShared = CheckpointMode::kShared;
constexpr auto kWhole = ImagePart::kWhole;
constexpr auto kGrowth = ImagePart::kGrowth;

TEST(Chain, IsLoadedWholeOnAnyNumberOfRanks) {
  for (const auto& modes : {std::vector{kFpp, kFpp, kFpp}, std::vector{kShared, kShared, kShared},
                            std::vector{kFpp, kShared, kFpp}})
    for (const int writers : {1, 2, 3, 5}) {
      const auto disk = std::make_shared<MemoryDisk>();
      run_job(disk, writers,
              {{1, kWhole, modes[0]}, {3, kGrowth, modes[1]}, {4, kGrowth, modes[2]}}, 2);
      for (const int readers : {1, 2, 3, 4, 7}) EXPECT_EQ(loaded(disk, readers), 4U);
      expect_sound(disk);
    }
}

TEST(Chain, InspectionFollowsLinks) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto names =
      run_job(disk, 2, {{1, kWhole, kFpp}, {2, kGrowth, kFpp}, {3, kGrowth, kFpp}}, 3);
  const auto store = open_memory_store(disk);
  const auto state = inspect_generation(*store, names[2]);
  ASSERT_TRUE(state.is_ok()) << state.status().to_string();
  EXPECT_EQ(state.value().builds_on, (std::vector<std::string>{names[0], names[1]}));
  EXPECT_EQ(state.value().sections[1].data, Bytes(60, std::byte{'p'}));
  EXPECT_EQ(state.value().sections[2].data, sample::grown_section(3));
  const auto relations = sample::grown_relations(3, kChainSize);
  for (std::size_t i = 0; i < relations.size(); ++i) {
    EXPECT_EQ(state.value().relations[i].rows, relations[i].tuples.size());
    std::uint64_t rows = 0;
    MultisetHash hash;
    if (relations[i].arity == 0) continue;
    const Status walked = for_each_stored_group(*store, names[2], i, [&](const TupleGroup& group) {
      rows += group.set.count;
      hash += hash_group(group, relations[i].column_order);
      return Status::ok();
    });
    ASSERT_TRUE(walked.is_ok()) << walked.to_string();
    EXPECT_EQ(rows, relations[i].tuples.size());
    EXPECT_EQ(hash, state.value().relations[i].hash);
  }
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  // Unchanged relations and sections are written once.
  const auto& newest = listed.value().front();
  EXPECT_EQ(newest.builds_on.size(), 2U);
  EXPECT_GT(newest.linked_bytes, 5000U);
  const auto edge_files = disk->node(disk->find(names[2]).value()).entries;
  for (const auto& [name, node] : edge_files) {
    EXPECT_EQ(name.find("edge"), std::string::npos) << name;
    EXPECT_EQ(name.find("program"), std::string::npos) << name;
  }
  std::size_t pieces = 0;
  for (const auto& [name, node] : edge_files)
    pieces += name.find("values") != std::string::npos ? 1 : 0;
  EXPECT_EQ(pieces, 1U);
}

TEST(Chain, PiecesThatAreNotThereCannotBeTakenOver) {
  const auto disk = std::make_shared<MemoryDisk>();
  const Status run = sim_run(1, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, small_blocks()));
    const auto request_of = [&](std::uint64_t now, std::uint64_t before) {
      return sample::grown_request(now, before, writer->base(), kChainSize, 0, 1);
    };
    const auto refused = [&](const SaveRequest& request, std::string_view why) {
      const auto saved = writer->save(request);
      EXPECT_EQ(saved.status().code(), StatusCode::kInvalidArgument);
      EXPECT_NE(saved.status().message().find(why), std::string::npos)
          << saved.status().to_string();
    };
    SaveRequest without_base = request_of(1, 0);
    without_base.sections.back() = {.name = "values", .data = {}, .is_unchanged = true};
    refused(without_base, "there is nothing to build on");
    STRATALOG_RETURN_IF_ERROR(writer->save(request_of(1, 0)).status());
    SaveRequest too_many = request_of(3, 2);
    refused(too_many, "piece 1 of section values is to be taken over");
    SaveRequest a_gap = request_of(2, 1);
    a_gap.sections.back().piece = 3;
    refused(a_gap, "does not follow the one before");
    SaveRequest both = request_of(2, 1);
    both.sections[2].data = Bytes(1);
    refused(both, "there is content");
    return writer->save(request_of(2, 1)).status();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  EXPECT_EQ(loaded(disk, 2), 2U);
}

TEST(Chain, ABrokenLinkIsNamedAndTheNextOlderGenerationTaken) {
  for (const bool truncated : {false, true}) {
    const auto disk = std::make_shared<MemoryDisk>();
    const auto names = run_job(
        disk, 2, {{1, kWhole, kFpp}, {2, kWhole, kFpp}, {3, kGrowth, kFpp}, {4, kGrowth, kFpp}}, 9);
    const std::string path = names[2] + "/0001-path.total.000001";
    ASSERT_TRUE(disk->find(path).is_ok());
    if (truncated) {
      disk->change(disk->find(path).value()).data.pop_back();
    } else {
      const auto store = open_memory_store(disk);
      ASSERT_TRUE(store->remove_file(path).is_ok());
    }
    LoadReport report;
    EXPECT_EQ(loaded(disk, 3, &report), 2U);
    ASSERT_EQ(report.skipped.size(), 2U);
    EXPECT_NE(report.skipped[0].find(names[3]), std::string::npos);
    EXPECT_NE(report.skipped[0].find(path), std::string::npos) << report.skipped[0];
    if (!truncated) {
      EXPECT_NE(report.skipped[0].find("on which " + names[3] + " builds"), std::string::npos)
          << report.skipped[0];
    }
  }
}

// Files of a retired generation stay as long as something builds on them, and no longer.
TEST(Chain, RetentionStripsAndLaterRemovesWhatNothingNeeds) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto names = run_job(
      disk, 2, {{1, kWhole, kFpp}, {2, kGrowth, kFpp}, {3, kGrowth, kFpp}, {4, kGrowth, kFpp}}, 2);
  const auto store = open_memory_store(disk);
  const auto listed = list_generations(*store);
  ASSERT_TRUE(listed.is_ok());
  ASSERT_EQ(listed.value().size(), 4U);
  EXPECT_EQ(listed.value()[0].condition, GenerationCondition::kValid);
  EXPECT_EQ(listed.value()[1].condition, GenerationCondition::kValid);
  EXPECT_EQ(listed.value()[2].condition, GenerationCondition::kBase);
  EXPECT_EQ(listed.value()[3].condition, GenerationCondition::kBase);
  const auto left = disk->node(disk->find(names[0]).value()).entries;
  EXPECT_TRUE(left.contains("0001-path.total.000000"));
  EXPECT_TRUE(left.contains("section-01-program"));
  EXPECT_FALSE(left.contains("section-00-symbols"));
  EXPECT_FALSE(left.contains("0002-path.delta.000000"));
  EXPECT_EQ(loaded(disk, 2), 4U);
  // The next job starts whole; with its second generation nothing needs the first job's any more.
  const auto later = run_job(disk, 3, {{5, kWhole, kFpp}}, 2);
  EXPECT_EQ(loaded(disk, 1), 5U);
  EXPECT_TRUE(disk->find(names[3]).is_ok());
  EXPECT_TRUE(disk->find(names[0]).is_ok());
  expect_sound(disk);
  run_job(disk, 3, {{6, kWhole, kFpp}, {7, kGrowth, kFpp}}, 2);
  for (const std::string& name : names) EXPECT_FALSE(disk->find(name).is_ok()) << name;
  EXPECT_EQ(loaded(disk, 1), 7U);
  expect_sound(disk);
}

TEST(Chain, GrowthIsOnlySavedOnTheLastAcknowledgedGeneration) {
  const auto disk = std::make_shared<MemoryDisk>();
  const auto names = run_job(disk, 1, {{1, kWhole, kFpp}, {2, kWhole, kFpp}}, 2);
  const Status run = sim_run(2, [&](Comm& comm) -> Status {
    const auto store = open_memory_store(disk);
    STRATALOG_ASSIGN_OR_RETURN(const auto writer,
                               open_checkpoint_writer(comm, *store, small_blocks()));
    EXPECT_TRUE(writer->base().empty());
    const auto growth = [&](std::uint64_t now, std::uint64_t before, const std::string& base) {
      return writer
          ->save(sample::grown_request(now, before, base, kChainSize, comm.rank(), comm.size()))
          .status()
          .code();
    };
    // Another job's generation, and one that never was.
    EXPECT_EQ(growth(3, 2, names[1]), StatusCode::kInvalidArgument);
    EXPECT_EQ(growth(3, 2, ""), StatusCode::kInvalidArgument);
    EXPECT_EQ(growth(3, 0, ""), StatusCode::kOk);
    const std::string third = writer->base();
    EXPECT_EQ(growth(4, 3, third), StatusCode::kOk);
    EXPECT_EQ(growth(5, 3, third), StatusCode::kInvalidArgument);
    // One rank of another opinion.
    EXPECT_EQ(growth(5, 4, comm.rank() == 0 ? writer->base() : third),
              StatusCode::kInvalidArgument);
    EXPECT_EQ(growth(5, 4, writer->base()), StatusCode::kOk);
    const ChainFacts path = writer->chain("path", RelationVersion::kTotal);
    EXPECT_EQ(path.parts, 3U);
    EXPECT_EQ(path.generations, 3U);
    EXPECT_GT(path.whole_bytes, 0U);
    EXPECT_GT(path.growth_bytes, 0U);
    EXPECT_EQ(path.rows, sample::grown_relations(5, kChainSize)[1].tuples.size());
    const ChainFacts edge = writer->chain("edge", RelationVersion::kTotal);
    EXPECT_EQ(edge.parts, 1U);
    EXPECT_EQ(edge.growth_bytes, 0U);
    EXPECT_EQ(writer->chain("nobody", RelationVersion::kTotal).generations, 0U);
    return Status::ok();
  });
  EXPECT_TRUE(run.is_ok()) << run.to_string();
  EXPECT_EQ(loaded(disk, 3), 5U);
}

TEST(PartPlan, DecidesByTheTable) {
  const ChainRules rules;
  const ChainFacts chain{
      .parts = 2, .rows = 1000, .whole_bytes = 800, .growth_bytes = 200, .generations = 2};
  const auto plan = [&](GrowthKnowledge knowledge, std::uint64_t growth, const ChainRules& r,
                        const ChainFacts& c) {
    return plan_part(r, c, {.growth = knowledge, .rows = c.rows + growth, .growth_rows = growth});
  };
  const PartPlan grown = plan(GrowthKnowledge::kKnown, 500, rules, chain);
  EXPECT_EQ(grown.part, kGrowth);
  EXPECT_EQ(grown.choice.parts, 3U);
  EXPECT_EQ(grown.choice.growth_bytes, 700U);
  EXPECT_EQ(grown.choice.whole_bytes, 800U);
  // Four times the whole part is 3200 bytes: 3000 more rows at one byte each.
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 3000, rules, chain).part, kGrowth);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 3001, rules, chain).part, kWhole);
  EXPECT_EQ(plan(GrowthKnowledge::kNoBase, 0, rules, chain).part, kWhole);
  EXPECT_EQ(plan(GrowthKnowledge::kNotFollowed, 1, rules, chain).part, kWhole);
  ChainFacts longest = chain;
  longest.parts = 8;
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 1, rules, longest).part, kWhole);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 0, rules, longest).part, kGrowth);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 0, rules, longest).choice.parts, 8U);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 0, {.whole_every = 1}, chain).part, kWhole);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 0, {.whole_every = 2}, chain).part, kWhole);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 0, {.whole_every = 3}, chain).part, kGrowth);
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, 5, rules, {.generations = 4}).part, kWhole);
  // Where chains may be read back, they are wherever they would end by the numbers.
  const auto folding = [&](GrowthKnowledge knowledge, std::uint64_t growth, const ChainRules& r,
                           const ChainFacts& c) {
    return plan_part(r, c,
                     {.growth = knowledge,
                      .rows = c.rows + growth,
                      .growth_rows = growth,
                      .folding = Folding::kAllowed,
                      .interval_microseconds = 10});
  };
  // These 1000 bytes may take 5 microseconds, on each of two ranks half of that.
  const auto in_time = [&](std::uint64_t ranks, std::uint64_t microseconds,
                           StoredAs stored_as = StoredAs::kBlocksOrRows) {
    return plan_part(rules, longest,
                     {.growth = GrowthKnowledge::kKnown,
                      .rows = 1001,
                      .growth_rows = 1,
                      .folding = Folding::kAllowed,
                      .stored_as = stored_as,
                      .ranks = ranks,
                      .interval_microseconds = microseconds})
        .part;
  };
  EXPECT_EQ(in_time(1, 5), ImagePart::kFolded);
  EXPECT_EQ(in_time(1, 4), kWhole);
  EXPECT_EQ(in_time(2, 2), ImagePart::kFolded);
  EXPECT_EQ(in_time(2, 1), kWhole);
  // And 1001 rows in streams 50, whatever their bytes are.
  EXPECT_EQ(in_time(1, 50, StoredAs::kStreams), ImagePart::kFolded);
  EXPECT_EQ(in_time(1, 49, StoredAs::kStreams), kWhole);
  EXPECT_EQ(in_time(2, 25, StoredAs::kStreams), ImagePart::kFolded);
  EXPECT_EQ(in_time(2, 24, StoredAs::kStreams), kWhole);
  const PartPlan folded = folding(GrowthKnowledge::kKnown, 1, rules, longest);
  EXPECT_EQ(folded.part, ImagePart::kFolded);
  EXPECT_EQ(folded.choice.part, "folded");
  EXPECT_EQ(folded.choice.parts, 1U);
  EXPECT_EQ(folded.choice.growth_bytes, 0U);
  EXPECT_EQ(folding(GrowthKnowledge::kKnown, 3001, rules, chain).part, ImagePart::kFolded);
  EXPECT_EQ(folding(GrowthKnowledge::kKnown, 3000, rules, chain).part, kGrowth);
  EXPECT_EQ(folding(GrowthKnowledge::kKnown, 0, {.whole_every = 2}, chain).part,
            ImagePart::kFolded);
  EXPECT_EQ(folding(GrowthKnowledge::kKnown, 0, {.whole_every = 1}, chain).part, kWhole);
  EXPECT_EQ(folding(GrowthKnowledge::kNoBase, 0, rules, chain).part, kWhole);
  // What has finished is written whole once, where nobody waits for it.
  const auto finished = [&](std::uint32_t parts, WholeBeside beside) {
    ChainFacts c = chain;
    c.parts = parts;
    return plan_part(rules, c,
                     {.growth = GrowthKnowledge::kKnown, .rows = c.rows, .whole_beside = beside});
  };
  EXPECT_EQ(finished(4, WholeBeside::kYes).part, kWhole);
  EXPECT_EQ(finished(4, WholeBeside::kYes).choice.reason, "finished, in 4 parts");
  EXPECT_EQ(finished(3, WholeBeside::kYes).part, kGrowth);
  EXPECT_EQ(finished(8, WholeBeside::kNo).part, kGrowth);
  EXPECT_EQ(folding(GrowthKnowledge::kNotFollowed, 1, rules, chain).part, kWhole);
  EXPECT_EQ(folding(GrowthKnowledge::kKnown, 5, rules, {.generations = 4}).part, kWhole);
  // Numbers beyond 64 bits in between.
  const ChainFacts huge{.parts = 1,
                        .rows = std::uint64_t{1} << 62,
                        .whole_bytes = std::uint64_t{1} << 63,
                        .growth_bytes = 0,
                        .generations = 1};
  EXPECT_EQ(plan(GrowthKnowledge::kKnown, std::uint64_t{1} << 61, rules, huge).part, kGrowth);
}

}  // namespace
}  // namespace stratalog
