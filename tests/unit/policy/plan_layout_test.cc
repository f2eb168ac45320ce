// SPDX-License-Identifier: Apache-2.0
// The policy at the boundaries that the papers print, its corrections, its reasons, and the same
// plan for every order of asking at up to 16,384 ranks.
#include "policy/plan_layout.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "policy/byte_units.h"
#include "policy/ladder_plan.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

FileSystemFacts ext4() { return facts_of_statfs(0xEF53, 4096, 4096); }
FileSystemFacts lustre() { return facts_of_statfs(0x0BD00BD0, 4096, 4 << 20); }

// One data set of two columns with about `bytes` bytes, dealt evenly.
LayoutFacts even(int ranks, std::uint64_t bytes, FileSystemFacts fs = ext4()) {
  LayoutFacts facts;
  facts.ranks = ranks;
  facts.file_system = std::move(fs);
  DatasetFacts dataset{.columns = 2, .rows_of_rank = {}};
  const std::uint64_t rows = bytes / 16;
  const auto count = static_cast<std::uint64_t>(ranks);
  for (std::uint64_t r = 0; r < count; ++r)
    dataset.rows_of_rank.push_back(rows / count + (r < rows % count ? 1 : 0));
  facts.datasets.push_back(std::move(dataset));
  return facts;
}

LayoutPlan plan(const LayoutFacts& facts, CheckpointMode mode, const char* ladder = "all") {
  LayoutWishes wishes;
  wishes.mode = mode;
  wishes.ladder = parse_ladder(ladder).value();
  auto made = plan_layout(facts, wishes);
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return made.value();
}

std::string hint(const LayoutPlan& plan, const std::string& name) {
  for (const FileHint& h : plan.hints)
    if (h.name == name) return h.value;
  return "absent";
}

bool has_reason(const LayoutPlan& plan, const std::string& about, const std::string& part) {
  for (const Reason& reason : plan.reasons)
    if (reason.about == about && reason.text.find(part) != std::string::npos) return true;
  return false;
}

TEST(Policy, DirectRowsOfOneKernelGoIntoSeveralFiles) {
  const FileSystemFacts memory{.kind = FileSystemKind::kMemory, .name = "tmpfs"};
  EXPECT_EQ(plan_direct_files(memory, 2, 32 * kMB - 1), 1U);
  EXPECT_EQ(plan_direct_files(memory, 2, 32 * kMB), 2U);
  EXPECT_EQ(plan_direct_files(ext4(), 1, kGB), 1U);
  EXPECT_EQ(plan_direct_files(ext4(), 7, 0), 1U);
  EXPECT_EQ(plan_direct_files(ext4(), 7, 64 * kMB), 4U);
  EXPECT_EQ(plan_direct_files(ext4(), 16384, 100 * kGB), 8U);
  EXPECT_EQ(plan_direct_files(lustre(), 16384, 100 * kGB), 1U);
  EXPECT_EQ(plan_direct_files({}, 4, 100 * kGB), 1U);

  const LayoutPlan several = plan(even(4, kGB), CheckpointMode::kHdf5Direct);
  EXPECT_EQ(several.files, 4U);
  EXPECT_EQ(several.file_of_rank, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(has_reason(several, "files", "one writer at a time"));
  EXPECT_EQ(plan(even(4, kGB, lustre()), CheckpointMode::kHdf5Direct).files, 1U);
  // The papers' modes write one file, and so does who asks for one.
  EXPECT_EQ(plan(even(4, kGB), CheckpointMode::kHdf5Opt).files, 1U);
  EXPECT_EQ(plan(even(4, kGB), CheckpointMode::kHdf5Streams).files, 1U);
  LayoutWishes one{.mode = CheckpointMode::kHdf5Direct, .files = 1};
  EXPECT_EQ(plan_layout(even(4, kGB), one).value().files, 1U);
  // A giant leaves no bytes for the others' files.
  LayoutFacts skewed = even(4, 0);
  skewed.datasets[0].rows_of_rank = {1, kGB / 16, 1, 1};
  const LayoutPlan giant = plan(skewed, CheckpointMode::kHdf5Direct);
  EXPECT_LE(giant.files, 3U);
  EXPECT_EQ(giant.file_of_rank.size(), 4U);
}

TEST(Policy, TinyOutputsAreGathered) {
  const auto below = plan(even(64, 10 * kMB - 16), CheckpointMode::kHdf5Opt);
  EXPECT_EQ(below.creation, FileCreation::kRankZeroOnly);
  EXPECT_EQ(below.datasets[0].layout, DataLayout::kContiguous);
  EXPECT_TRUE(below.hints.empty());
  EXPECT_TRUE(has_reason(below, "O1", "less than 10 MB"));
  const auto at = plan(even(64, 10 * kMB), CheckpointMode::kHdf5Opt);
  EXPECT_EQ(at.creation, FileCreation::kByRankZero);
  EXPECT_EQ(plan(even(64, kMB), CheckpointMode::kHdf5Opt, "O2,O4").creation,
            FileCreation::kByRankZero);
  EXPECT_EQ(plan(even(64, kMB), CheckpointMode::kHdf5Opt, "O4").creation,
            FileCreation::kCollective);
}

TEST(Policy, LayoutBySizeAndSkew) {
  const auto layout = [](LayoutFacts facts, const char* ladder = "all") {
    facts.file_system = lustre();
    return plan(facts, CheckpointMode::kHdf5Opt, ladder).datasets[0];
  };
  EXPECT_EQ(layout(even(8, 10 * kMB)).layout, DataLayout::kChunked);
  EXPECT_EQ(layout(even(8, 10 * kGB)).layout, DataLayout::kChunked);
  EXPECT_EQ(layout(even(8, 10 * kGB + 16)).layout, DataLayout::kContiguous);
  EXPECT_EQ(layout(even(8, kGB)).chunk_rows, 65536U);
  EXPECT_EQ(layout(even(8, 16 * kMB)).chunk_rows, 32768U);  // 1,000,000 rows are not more
  EXPECT_EQ(layout(even(8, 16 * kMB + 16)).chunk_rows, 65536U);
  EXPECT_EQ(layout(even(8, kGB)).deflate_level, 1U);
  // 99,999 rows of 20 columns: 16 MB.
  LayoutFacts wide = even(1, 16);
  wide.datasets[0] = {.columns = 20, .rows_of_rank = {99999}};
  EXPECT_EQ(layout(wide).chunk_rows, 8192U);
  wide.datasets[0].rows_of_rank = {100000};
  EXPECT_EQ(layout(wide).chunk_rows, 32768U);
  // Uneven: contiguous, in phases.
  LayoutFacts skewed = even(4, kGB);
  skewed.datasets[0].rows_of_rank[1] = skewed.datasets[0].rows_of_rank[0] / 11;
  EXPECT_EQ(layout(skewed).layout, DataLayout::kContiguous);
  EXPECT_EQ(layout(skewed).phases, 4U);
  EXPECT_EQ(layout(skewed).phase_of_rank.size(), 4U);
  // An empty rank is no skew, except as printed.
  LayoutFacts hole = even(16, kGB);
  hole.datasets[0].rows_of_rank[3] = 0;
  EXPECT_EQ(layout(hole).layout, DataLayout::kChunked);
  EXPECT_EQ(layout(hole).phases, 1U);
  EXPECT_EQ(layout(hole, "all,printed:empty-ranks").layout, DataLayout::kContiguous);
  EXPECT_EQ(layout(hole, "all,printed:empty-ranks").phases, 8U);
}

// A local disk takes rows faster than deflate gives them.
TEST(Policy, NothingIsDeflatedOnItsWayToALocalDisk) {
  const auto made = plan(even(8, kGB), CheckpointMode::kHdf5Opt);
  EXPECT_EQ(made.datasets[0].layout, DataLayout::kContiguous);
  EXPECT_TRUE(has_reason(made, "O4", "ext4"));
  EXPECT_EQ(plan(even(8, kGB), CheckpointMode::kHdf5Opt, "all,printed:deflate-local")
                .datasets[0]
                .deflate_level,
            1U);
  LayoutWishes wishes;
  wishes.mode = CheckpointMode::kHdf5Opt;
  wishes.ladder = LadderChoice::all();
  wishes.deflate_level = 3;
  EXPECT_EQ(plan_layout(even(8, kGB), wishes).value().datasets[0].deflate_level, 3U);
}

// A level that is asked for is taken where the ladder alone would not deflate, and none where it
// would.
TEST(Policy, TheDeflateLevelThatIsAskedFor) {
  const auto layout = [](LayoutFacts facts, std::uint32_t level) {
    facts.file_system = lustre();
    const LayoutWishes wishes{.mode = CheckpointMode::kHdf5Opt, .deflate_level = level};
    return plan_layout(facts, wishes).value().datasets[0];
  };
  EXPECT_EQ(layout(even(8, kGB), 0).layout, DataLayout::kContiguous);
  EXPECT_EQ(layout(even(8, 20 * kGB), 6).deflate_level, 6U);
  LayoutFacts skewed = even(4, kGB);
  skewed.datasets[0].rows_of_rank[1] = 1;
  EXPECT_EQ(layout(skewed, 9).deflate_level, 9U);
  EXPECT_EQ(layout(even(8, kMB), 6).layout, DataLayout::kContiguous);  // tiny: rank 0 writes
}

TEST(Policy, SpaceEarlyButNotForChunks) {
  const auto space = [](const char* ladder, std::uint64_t bytes) {
    return plan(even(8, bytes, lustre()), CheckpointMode::kHdf5Opt, ladder).datasets[0].space;
  };
  EXPECT_EQ(space("all", 20 * kGB), SpaceTime::kEarly);
  EXPECT_EQ(space("all", kGB), SpaceTime::kIncremental);
  EXPECT_EQ(space("all,printed:early-deflate", kGB), SpaceTime::kEarly);
  EXPECT_EQ(space("O3", kGB), SpaceTime::kEarly);  // without O4 it is contiguous
  EXPECT_EQ(space("O2,O4", kGB), SpaceTime::kDefault);
  EXPECT_EQ(space("O1", kMB), SpaceTime::kEarly);  // rank 0 writes at offsets
}

TEST(Policy, HintsBySizeTier) {
  const auto hints = [](int ranks, std::uint64_t bytes, const char* ladder = "all") {
    return plan(even(ranks, bytes, lustre()), CheckpointMode::kHdf5Opt, ladder);
  };
  EXPECT_EQ(hint(hints(100, kGB - 16), "cb_nodes"), "25");
  EXPECT_EQ(hint(hints(2048, kGB - 16), "cb_nodes"), "64");
  EXPECT_EQ(hint(hints(100, kGB), "cb_nodes"), "12");
  // Files above 1 GiB get 48 stripes on Lustre, and no fewer aggregators unless as printed.
  EXPECT_EQ(hint(hints(2048, 10 * kGB), "cb_nodes"), "48");
  EXPECT_EQ(hint(hints(2048, 11 * kGB), "cb_nodes"), "48");
  EXPECT_EQ(hint(hints(24, 11 * kGB), "cb_nodes"), "24");
  EXPECT_EQ(hint(hints(2048, 10 * kGB, "all,printed:cb-nodes"), "cb_nodes"), "32");
  EXPECT_EQ(hint(hints(2048, 11 * kGB, "all,printed:cb-nodes"), "cb_nodes"), "16");
  EXPECT_TRUE(has_reason(hints(2048, 11 * kGB), "O5", "for 48 stripes"));
  // What the folder has already counts where no stripes are asked for.
  LayoutFacts wide = even(100, kGB, lustre());
  wide.file_system.stripe_count = 60;
  EXPECT_EQ(hint(plan(wide, CheckpointMode::kHdf5Opt), "cb_nodes"), "60");
  EXPECT_EQ(hint(hints(3, kGB), "cb_nodes"), "1");
  EXPECT_EQ(hint(hints(3, kGB, "printed:cb-nodes"), "cb_nodes"), "0");
  EXPECT_EQ(hint(hints(3, kGB), "romio_no_indep_rw"), "absent");
  EXPECT_EQ(hint(hints(3, kGB, "printed:no-indep-rw"), "romio_no_indep_rw"), "true");
  EXPECT_EQ(hint(hints(3, kGB), "cb_config_list"), "*:*");
  EXPECT_EQ(hint(hints(3, kGB, "O4"), "romio_cb_write"), "absent");
  // 4 GiB over 8 ranks is 512 MiB; over 512 the clamp wins; the output caps both.
  EXPECT_EQ(hint(hints(8, 10 * kGB), "cb_buffer_size"), std::to_string(512 * kMiB));
  EXPECT_EQ(hint(hints(512, 100 * kMB, "printed:O5"), "cb_buffer_size"), std::to_string(32 * kMiB));
  EXPECT_EQ(hint(hints(512, 100 * kMB), "cb_buffer_size"), std::to_string(2 * kMiB));
  EXPECT_EQ(hint(hints(8, 11 * kGB), "cb_buffer_size"), std::to_string(512 * kMiB));
  EXPECT_EQ(hint(hints(32, 11 * kGB), "cb_buffer_size"), std::to_string(256 * kMiB));
}

// One kernel serves all ranks of a local disk: rows that travel to aggregators first only cost
// time.
TEST(Policy, NoCollectiveBufferingOnALocalDisk) {
  for (const CheckpointMode mode : {CheckpointMode::kHdf5Opt, CheckpointMode::kSharedOpt}) {
    const auto made = plan(even(8, 100 * kMB), mode);
    EXPECT_EQ(hint(made, "romio_cb_write"), "disable");
    EXPECT_EQ(hint(made, "cb_nodes"), "absent");
    EXPECT_EQ(made.round_bytes, 2 * kMiB);
    EXPECT_TRUE(has_reason(made, "O5", "ext4"));
    const auto printed = plan(even(8, 100 * kMB), mode, "all,printed:hints-local");
    EXPECT_EQ(hint(printed, "romio_cb_write"), "enable");
    EXPECT_EQ(hint(printed, "cb_nodes"), "2");
    EXPECT_EQ(printed.round_bytes, 0U);
    const auto remote = plan(even(8, 100 * kMB, lustre()), mode);
    EXPECT_EQ(hint(remote, "romio_cb_write"), "enable");
    EXPECT_EQ(remote.round_bytes, 0U);
    LayoutWishes wishes;
    wishes.mode = mode;
    wishes.ladder = LadderChoice::all();
    wishes.aggregators = 3;
    EXPECT_EQ(hint(plan_layout(even(8, 100 * kMB), wishes).value(), "cb_nodes"), "3");
  }
}

TEST(Policy, RanksWriteEachForItselfOnlyContiguousDataOfALocalDisk) {
  const auto transfer = [](const char* ladder, FileSystemFacts fs,
                           std::optional<std::uint32_t> deflate = {}) {
    LayoutWishes wishes;
    wishes.mode = CheckpointMode::kHdf5Opt;
    wishes.ladder = parse_ladder(ladder).value();
    wishes.deflate_level = deflate;
    return plan_layout(even(8, 100 * kMB, std::move(fs)), wishes).value().datasets[0].transfer;
  };
  EXPECT_EQ(transfer("all", ext4()), RowTransfer::kIndependent);
  EXPECT_EQ(transfer("all", ext4(), 1), RowTransfer::kCollective);  // chunks that ranks share
  EXPECT_EQ(transfer("O1,O2,O3,O4,O6,O7", ext4()), RowTransfer::kCollective);
  EXPECT_EQ(transfer("all,printed:hints-local", ext4()), RowTransfer::kCollective);
  EXPECT_EQ(transfer("all", lustre()), RowTransfer::kCollective);
  LayoutFacts skewed = even(4, kGB);
  skewed.datasets[0].rows_of_rank[1] = skewed.datasets[0].rows_of_rank[0] / 11;
  EXPECT_EQ(plan(skewed, CheckpointMode::kHdf5Opt).datasets[0].phases, 1U);
  EXPECT_EQ(plan(skewed, CheckpointMode::kHdf5Opt, "O2,O3,O4,O7").datasets[0].phases, 4U);
}

TEST(Policy, BuffersNeverHoldMuchMoreThanTheOutput) {
  for (const int ranks : {1, 2, 4, 32, 512, 4096, 16384})
    for (const std::uint64_t bytes : {20 * kMB, 500 * kMB, 5 * kGB, 500 * kGB}) {
      const auto made = plan(even(ranks, bytes, lustre()), CheckpointMode::kSharedOpt);
      const std::uint64_t nodes = std::stoull(hint(made, "cb_nodes"));
      const std::uint64_t buffer = std::stoull(hint(made, "cb_buffer_size"));
      EXPECT_GE(nodes, 1U);
      EXPECT_LE(nodes, static_cast<std::uint64_t>(ranks));
      EXPECT_LE(nodes * buffer, bytes + nodes * kMiB);
    }
}

TEST(Policy, AlignmentOnlyWhereItIsWorthIt) {
  LayoutFacts five = even(4, 48 * kMB);
  five.datasets.assign(5, even(4, 9600000).datasets[0]);
  EXPECT_EQ(plan(five, CheckpointMode::kHdf5Opt).tuning.alignment, 0U);
  EXPECT_EQ(plan(five, CheckpointMode::kHdf5Opt, "all,printed:align-all").tuning.alignment,
            16 * kMiB);
  EXPECT_EQ(plan(even(4, 500 * kMB), CheckpointMode::kHdf5Opt).tuning.alignment, 16 * kMiB);
  EXPECT_EQ(plan(even(4, 5 * kGB), CheckpointMode::kHdf5Opt).tuning.alignment, 32 * kMiB);
  EXPECT_EQ(plan(even(4, 50 * kGB), CheckpointMode::kHdf5Opt).tuning.alignment, 64 * kMiB);
  EXPECT_EQ(plan(even(4, kMB), CheckpointMode::kHdf5Opt, "O6").tuning.alignment, 16384U);
  for (const char* ladder : {"all", "none"}) {
    const LayoutWishes wishes{.mode = CheckpointMode::kHdf5Opt,
                              .ladder = parse_ladder(ladder).value(),
                              .alignment = 64 * kKiB};
    const auto asked = plan_layout(five, wishes).value().tuning;
    EXPECT_EQ(asked.alignment, 64 * kKiB);
    EXPECT_EQ(asked.align_from, 64 * kKiB);
  }
}

TEST(Policy, BuffersAndCaches) {
  const auto tuning = [](std::uint64_t bytes, const char* ladder) {
    return plan(even(4, bytes), CheckpointMode::kHdf5Opt, ladder).tuning;
  };
  EXPECT_EQ(tuning(kGB, "all").metadata_cache_bytes, kGB / 64);
  EXPECT_EQ(tuning(20 * kMB, "all").metadata_cache_bytes, 4 * kMiB);
  EXPECT_EQ(tuning(500 * kGB, "all").metadata_cache_bytes, 256 * kMiB);
  EXPECT_EQ(tuning(kGB, "all").sieve_bytes + tuning(kGB, "all").cache_call_bytes +
                tuning(kGB, "all").transfer_bytes,
            0U);
  EXPECT_EQ(tuning(kGB, "printed").sieve_bytes, 32 * kMiB);
  EXPECT_EQ(tuning(kGB, "printed").cache_call_bytes, kGB / 64);
  EXPECT_EQ(tuning(kGB, "printed").metadata_cache_bytes, 0U);
  EXPECT_EQ(tuning(kGB, "printed").transfer_bytes, 64 * kMiB);
  EXPECT_EQ(tuning(101 * kGB, "printed").transfer_bytes, 256 * kMiB);
}

TEST(Policy, AlignmentAndStripingComeFromTheFileSystem) {
  EXPECT_EQ(plan(even(4, kGB), CheckpointMode::kHdf5Direct).edge_alignment, 1U);
  EXPECT_EQ(plan(even(4, kGB), CheckpointMode::kHdf5Direct).tuning.alignment, 4096U);
  const auto direct = plan(even(4, 5 * kGB, lustre()), CheckpointMode::kHdf5Direct);
  EXPECT_EQ(direct.edge_alignment, 4 * kMiB);
  EXPECT_EQ(direct.tuning.alignment, 4 * kMiB);
  EXPECT_EQ(direct.striping.stripe_count, 48U);
  EXPECT_EQ(direct.striping.stripe_bytes, 8 * kMiB);
  const auto nfs =
      plan(even(4, kGB, facts_of_statfs(0x6969, 1 << 20, 1 << 20)), CheckpointMode::kHdf5Direct);
  EXPECT_EQ(nfs.edge_alignment, kMiB);
  EXPECT_EQ(plan(even(4, 5 * kGB), CheckpointMode::kSharedOpt).striping.stripe_count, 0U);
  EXPECT_EQ(plan(even(4, kGB / 2, lustre()), CheckpointMode::kSharedOpt).striping.stripe_count, 0U);
  EXPECT_EQ(plan(even(4, kGB, lustre()), CheckpointMode::kSharedOpt).extent_alignment, 4 * kMiB);
  EXPECT_EQ(plan(even(4, kGB), CheckpointMode::kShared).extent_alignment, 4096U);
}

TEST(Policy, WishesWinOrAreRefused) {
  LayoutWishes wishes;
  wishes.mode = CheckpointMode::kSharedOpt;
  wishes.aggregators = 3;
  wishes.alignment = 65536;
  wishes.files = 2;
  wishes.relations_per_file = 5;
  const auto made = plan_layout(even(8, kGB), wishes);
  ASSERT_TRUE(made.is_ok());
  EXPECT_EQ(hint(made.value(), "cb_nodes"), "3");
  EXPECT_EQ(made.value().extent_alignment, 65536U);
  EXPECT_EQ(made.value().files, 2U);
  EXPECT_EQ(made.value().relations_per_file, 5U);
  EXPECT_EQ(made.value().file_of_rank, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
  const auto refused = [&](const LayoutWishes& bad) {
    return plan_layout(even(8, kGB), bad).status().code();
  };
  wishes.alignment = 5000;
  EXPECT_EQ(refused(wishes), StatusCode::kInvalidArgument);
  wishes.alignment = 0;
  wishes.mode = CheckpointMode::kFilePerProcess;
  EXPECT_EQ(refused(wishes), StatusCode::kInvalidArgument);
  for (const CheckpointMode learned : {CheckpointMode::kAuto, CheckpointMode::kHdf5Auto}) {
    wishes.mode = learned;
    EXPECT_EQ(refused(wishes), StatusCode::kInvalidArgument);
  }
}

TEST(Policy, ManyRanksAndNothing) {
  for (const int ranks : {1, 7, 16384})
    for (const CheckpointMode mode : all_modes()) {
      if (is_learned(mode)) continue;
      LayoutFacts nothing;
      nothing.ranks = ranks;
      EXPECT_TRUE(plan_layout(nothing, {.mode = mode}).is_ok());
      LayoutFacts sparse = even(ranks, 16);
      EXPECT_TRUE(plan_layout(sparse, {.mode = mode}).is_ok());
      const auto big = plan(even(ranks, 75 * kGB), mode);
      EXPECT_FALSE(big.reasons.empty());
      if (stores_rows(mode)) {
        EXPECT_EQ(big.datasets.size(), 1U);
      }
    }
}

TEST(Policy, EveryStepSaysWhy) {
  const auto made = plan(even(8, kGB), CheckpointMode::kHdf5Opt);
  for (const StepRow& row : ladder_steps())
    EXPECT_TRUE(has_reason(made, std::string(row.name), "")) << row.name;
  EXPECT_TRUE(has_reason(made, "O4", "HDF5-OPT 3.3"));
  EXPECT_TRUE(has_reason(plan(even(8, kGB), CheckpointMode::kHdf5Opt, "none"), "O7", "off"));
}

// docs/checkpoint_layouts.md shows the whole table.
TEST(Policy, TheTableInTheDocumentationIsThisOne) {
  std::ifstream file(std::string(STRATALOG_SOURCE_DIR) + "/docs/checkpoint_layouts.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const Threshold& t : thresholds()) {
    const std::string value = t.unit == "bytes" ? bytes_text(t.value) : std::to_string(t.value);
    std::string row = "| " + std::string(t.name) + " | " + value;
    if (t.unit == "rows" || t.unit == "ms" || t.unit == "%") row += " " + std::string(t.unit);
    row += " | " + std::string(t.source) + " |";
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace stratalog
