// SPDX-License-Identifier: Apache-2.0
// Steps from the real planners: every byte of the plan is written once and read once, at up to
// 4,096 ranks; tuned and direct layouts share no stripe; what a layout costs in operations.
#include "forecast/save_steps.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/rank_share.h"
#include "forecast/price.h"
#include "policy/byte_units.h"

namespace stratalog {
namespace {

Machine cluster() {
  Machine machine;
  machine.ranks_per_node = 64;
  machine.pack_rate = 20e6;
  machine.deflate_rate = 50e6;
  machine.deflate_ratio = 4;
  machine.rank_write_rate = 65e6;
  machine.rank_read_rate = 65e6;
  machine.node_rate = 5e9;
  machine.message_seconds = 1e-6;
  machine.exchange_rate = 1e8;
  machine.servers = 56;
  machine.server_rate = 3e9;
  machine.request_bytes = 4 * kMiB;
  machine.request_seconds = 1e-4;
  machine.lock_seconds = 1e-3;
  machine.default_stripes = 1;
  machine.default_stripe_bytes = kMiB;
  machine.create_seconds = 1e-5;
  machine.open_seconds = 1e-5;
  machine.default_buffer_bytes = 16 * kMiB;
  machine.hdf5_file_reads = 4;
  machine.hdf5_dataset_reads = 2;
  return machine;
}

SaveQuestion ask(CheckpointMode mode, int ranks, const std::vector<std::uint64_t>& rows,
                 RankShare share = RankShare::kBalanced) {
  SaveQuestion question;
  question.facts.ranks = ranks;
  for (int r = 0; r < ranks; ++r) question.facts.node_of_rank.push_back(r / 64);
  question.facts.file_system = file_system_of(cluster());
  for (const std::uint64_t count : rows)
    question.facts.datasets.push_back(
        {.columns = 2, .rows_of_rank = deal_rows(count, ranks, share)});
  question.wishes.mode = mode;
  question.stage_bytes = 32 * kMiB;
  return question;
}

SaveForecast forecast(const SaveQuestion& question) {
  Result<SaveForecast> made = forecast_save(question, cluster());
  EXPECT_TRUE(made.is_ok()) << made.status().to_string();
  return std::move(made).value();
}

std::vector<Transfer> transfers_of(const Steps& steps, StepKind kind, Phase phase) {
  std::vector<Transfer> all;
  for (const Step& step : steps.steps)
    if (step.kind == kind && step.phase == phase)
      all.insert(all.end(), step.transfers.begin(), step.transfers.end());
  return all;
}

// Bytes of disjoint transfers; overlaps are failures.
std::uint64_t disjoint_bytes(std::vector<Transfer> all) {
  std::sort(all.begin(), all.end(), [](const Transfer& a, const Transfer& b) {
    return std::pair(a.file, a.offset) < std::pair(b.file, b.offset);
  });
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += all[i].bytes;
    if (i > 0 && all[i].file == all[i - 1].file) {
      EXPECT_LE(all[i - 1].offset + all[i - 1].bytes, all[i].offset);
    }
  }
  return sum;
}

constexpr CheckpointMode kModes[] = {CheckpointMode::kFilePerProcess, CheckpointMode::kShared,
                                     CheckpointMode::kSharedOpt,      CheckpointMode::kHdf5,
                                     CheckpointMode::kHdf5Opt,        CheckpointMode::kHdf5Direct,
                                     CheckpointMode::kHdf5Streams};

TEST(SaveSteps, EveryByteIsWrittenOnceAndReadOnce) {
  for (const CheckpointMode mode : kModes)
    for (const int ranks : {1, 3, 64, 1000})
      for (const RankShare share : all_shares()) {
        SCOPED_TRACE(::testing::Message()
                     << mode_name(mode) << ", " << ranks << " ranks, " << share_name(share));
        SaveQuestion question = ask(mode, ranks, {30'000'000, 1'000'003}, share);
        // Deflated bytes are estimates.
        question.wishes.ladder = parse_ladder("O1,O2,O3,O5,O6,O7").value();
        const SaveForecast saved = forecast(question);
        const std::uint64_t bytes = saved.steps.row_bytes;
        ASSERT_EQ(bytes, 31'000'003ULL * 16);
        const std::uint64_t written =
            disjoint_bytes(transfers_of(saved.steps, StepKind::kWrite, Phase::kWrite));
        EXPECT_GE(written, bytes);
        // shared-opt writes what lies between ranks, too.
        if (mode != CheckpointMode::kSharedOpt) {
          EXPECT_EQ(written, bytes);
        }
        for (const int readers : {ranks, 1, 7})
          for (const ReadParts parts : {ReadParts::kAsWritten, ReadParts::kBalanced}) {
            const Steps restart = forecast_restart(saved, readers, parts);
            EXPECT_EQ(disjoint_bytes(transfers_of(restart, StepKind::kRead, Phase::kRead)), bytes);
          }
      }
}

TEST(SaveSteps, FourThousandRanksInEveryMode) {
  double fpp = 0;
  for (const CheckpointMode mode : kModes) {
    const SaveForecast saved = forecast(ask(mode, 4096, {5'000'000'000, 10'000'000}));
    const Price priced = price(saved.steps, cluster());
    EXPECT_GT(priced.total(), 0) << mode_name(mode);
    EXPECT_EQ(saved.shards.size(), 8192U);
    if (mode == CheckpointMode::kFilePerProcess) fpp = priced.total();
    // More ranks than that share 48 stripes.
    if (mode != CheckpointMode::kFilePerProcess) {
      EXPECT_GT(priced.total(), fpp) << mode_name(mode);
    }
  }
}

TEST(SaveSteps, OnlyBareSharedFilesShareStripes) {
  // 1 MiB and a bit for each rank: neighbours meet inside stripes.
  for (const CheckpointMode mode : kModes) {
    const SaveForecast saved = forecast(ask(mode, 512, {512ULL * 70'001}));
    EXPECT_EQ(price(saved.steps, cluster()).lock_moves, 0U) << mode_name(mode);
  }
  const SaveQuestion question = ask(CheckpointMode::kShared, 512, {512ULL * 70'001});
  EXPECT_EQ(price(bare_save(question, BareFiles::kShared), cluster()).lock_moves, 511U);
  EXPECT_EQ(price(bare_save(question, BareFiles::kOwn), cluster()).lock_moves, 0U);
}

TEST(SaveSteps, OperationsAreThoseOfTheLayout) {
  const auto of = [&](CheckpointMode mode) {
    return price(forecast(ask(mode, 256, {30'000'000, 30'000'000})).steps, cluster());
  };
  // The directory, the manifest and its rename are three creations in every mode.
  EXPECT_EQ(of(CheckpointMode::kFilePerProcess).creates, 3U + 512U);
  EXPECT_EQ(of(CheckpointMode::kFilePerProcess).opens, 0U);
  EXPECT_EQ(of(CheckpointMode::kShared).creates, 3U + 2U);
  EXPECT_EQ(of(CheckpointMode::kShared).opens, 2U * 255U);
  EXPECT_EQ(of(CheckpointMode::kHdf5).creates, 3U + 1U);
  EXPECT_EQ(of(CheckpointMode::kHdf5Direct).opens, 255U);
  EXPECT_EQ(of(CheckpointMode::kHdf5Opt).opens, 256U);
}

TEST(SaveSteps, HintsOfThePlanSetTheAggregators) {
  const auto of = [&](CheckpointMode mode, std::uint64_t rows) {
    return forecast(ask(mode, 2048, {rows})).aggregators;
  };
  EXPECT_EQ(of(CheckpointMode::kShared, 100'000'000), 48U);  // a stripe each
  EXPECT_EQ(of(CheckpointMode::kShared, 10'000'000), 1U);  // below 1 GiB: the default, one stripe
  EXPECT_EQ(of(CheckpointMode::kSharedOpt, 100'000'000), 48U);  // no fewer than stripes
  EXPECT_EQ(of(CheckpointMode::kSharedOpt, 1'000'000'000), 48U);
  SaveQuestion printed = ask(CheckpointMode::kSharedOpt, 2048, {100'000'000});
  printed.wishes.ladder = parse_ladder("all,printed:cb-nodes").value();
  EXPECT_EQ(forecast(printed).aggregators, 32U);  // 1.6 GB: min(N/8, 32)
  printed = ask(CheckpointMode::kSharedOpt, 2048, {1'000'000'000});
  printed.wishes.ladder = parse_ladder("all,printed:cb-nodes").value();
  EXPECT_EQ(forecast(printed).aggregators, 16U);  // 16 GB
  EXPECT_EQ(of(CheckpointMode::kHdf5Direct, 100'000'000), 0U);
}

// One rank creates the files of hdf5-direct and, with O2, of hdf5-opt: their stripes are lfs's.
TEST(SaveSteps, StripesNeedLfsWhereOneRankCreates) {
  Machine machine = cluster();
  machine.lfs_seconds = 100;
  const auto of = [&](CheckpointMode mode, LfsProgram lfs, std::uint64_t rows = 200'000'000) {
    SaveQuestion question = ask(mode, 256, {rows});
    question.lfs = lfs;
    return forecast(question);
  };
  const auto seconds = [&](const SaveForecast& saved) {
    return price(saved.steps, machine).total();
  };
  for (const CheckpointMode mode : {CheckpointMode::kHdf5Direct, CheckpointMode::kHdf5Opt}) {
    const SaveForecast with = of(mode, LfsProgram::kThere);
    const SaveForecast without = of(mode, LfsProgram::kMissing);
    EXPECT_EQ(with.steps.files.front().count, 48U);
    EXPECT_EQ(without.steps.files.front().count, 0U);
    EXPECT_GT(seconds(with), 200);  // set before, and taken back after
    EXPECT_LT(seconds(without), 100);
  }
  for (const CheckpointMode mode :
       {CheckpointMode::kShared, CheckpointMode::kSharedOpt, CheckpointMode::kHdf5}) {
    const SaveForecast without = of(mode, LfsProgram::kMissing);
    EXPECT_EQ(without.steps.files.front().count, 48U) << mode_name(mode);  // hints
    EXPECT_EQ(seconds(without), seconds(of(mode, LfsProgram::kThere))) << mode_name(mode);
  }
  // Nothing to set below 1 GiB, nor for a file per process.
  EXPECT_LT(seconds(of(CheckpointMode::kHdf5Direct, LfsProgram::kThere, 1'000'000)), 100);
  EXPECT_LT(seconds(of(CheckpointMode::kFilePerProcess, LfsProgram::kThere)), 100);
}

TEST(SaveSteps, DeflateTakesTimeAndSavesBytes) {
  SaveQuestion question = ask(CheckpointMode::kHdf5Opt, 64, {200'000'000});
  const Price all = price(forecast(question).steps, cluster());
  question.wishes.ladder = parse_ladder("O1,O2,O3,O5,O6,O7").value();
  const Price without = price(forecast(question).steps, cluster());
  const auto encode = static_cast<std::size_t>(Phase::kEncode);
  EXPECT_GT(all.seconds[encode], 0);
  EXPECT_EQ(without.seconds[encode], 0);
  EXPECT_NEAR(static_cast<double>(without.moved_bytes) / static_cast<double>(all.moved_bytes), 4,
              0.1);
}

TEST(SaveSteps, TuplesMoveOnlyWhereReadersAreNotWriters) {
  const SaveForecast saved = forecast(ask(CheckpointMode::kFilePerProcess, 64, {20'000'000}));
  const auto route = static_cast<std::size_t>(Phase::kRoute);
  const auto moved = [&](int readers, ReadParts parts) {
    return price(forecast_restart(saved, readers, parts), cluster()).seconds[route];
  };
  EXPECT_EQ(moved(64, ReadParts::kAsWritten), 0);
  EXPECT_GT(moved(64, ReadParts::kBalanced), 0);
  EXPECT_GT(moved(32, ReadParts::kAsWritten), 0);
}

TEST(SaveSteps, StreamsTakeTimeToDeflateAndSaveBytes) {
  SaveQuestion question = ask(CheckpointMode::kHdf5Streams, 64, {200'000'000});
  question.facts.encoded_milli = 25;
  const SaveForecast streams = forecast(question);
  EXPECT_EQ(disjoint_bytes(transfers_of(streams.steps, StepKind::kWrite, Phase::kWrite)),
            streams.steps.row_bytes / 40);
  const Price priced = price(streams.steps, cluster());
  const Price direct =
      price(forecast(ask(CheckpointMode::kHdf5Direct, 64, {200'000'000})).steps, cluster());
  // Tuples are walked twice; what goes through deflate is a quarter of the rows.
  const auto pack = static_cast<std::size_t>(Phase::kPack);
  EXPECT_NEAR(priced.seconds[pack] / direct.seconds[pack], 2, 0.01);
  const auto encode = static_cast<std::size_t>(Phase::kEncode);
  EXPECT_NEAR(priced.seconds[encode], 200e6 * 16 / 64 / 4 / cluster().deflate_rate, 0.01);
  const auto write = static_cast<std::size_t>(Phase::kWrite);
  EXPECT_LT(priced.seconds[write], direct.seconds[write] / 5);
}

TEST(SaveSteps, WishesThatCannotBeAreRefused) {
  SaveQuestion question = ask(CheckpointMode::kFilePerProcess, 4, {100});
  question.wishes.files = 2;
  EXPECT_EQ(forecast_save(question, cluster()).status().code(), StatusCode::kInvalidArgument);
  question = ask(CheckpointMode::kShared, 4, {100});
  question.stage_bytes = 0;
  EXPECT_EQ(forecast_save(question, cluster()).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace stratalog
