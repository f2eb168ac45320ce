// SPDX-License-Identifier: Apache-2.0
#include "forecast/save_steps.h"

#include <algorithm>
#include <utility>

#include "forecast/save_step_list.h"
#include "place/shared_layout.h"
#include "policy/plan_layout.h"
#include "policy/thresholds.h"

namespace stratalog {
namespace {

// Rank 0 collects what the manifest says of shards, writes and renames it.
void add_commit(SaveStepList& list) {
  list.agree(Phase::kCommit);
  list.add(Phase::kCommit, StepKind::kExchange, list.out().shards.size() * kShardLineBytes,
           static_cast<std::uint64_t>(list.ranks()));
  list.add(Phase::kCommit, StepKind::kCreate, 0, 2);
  const std::uint32_t manifest = list.add_file();
  list.out().steps.files[manifest] = {};
  list.add(Phase::kCommit, StepKind::kWrite, 0, 0)
      .transfers.push_back({.file = manifest,
                            .rank = 0,
                            .offset = 0,
                            .bytes = list.out().shards.size() * kShardLineBytes});
  list.sync(Phase::kCommit);
  list.sync(Phase::kCommit);
  list.agree(Phase::kCommit, 2);
}
// A file for each rank and batch of relations; nobody waits for anybody.
void add_own_files(SaveStepList& list) {
  std::vector<std::uint64_t> packed(static_cast<std::size_t>(list.ranks()), 0);
  std::vector<Transfer> writes;
  std::uint64_t files = 0;
  for (const SaveLayout::Batch& batch : list.layout().batches())
    for (int r = 0; r < list.ranks(); ++r) {
      std::uint64_t at = 0;
      for (std::size_t d = batch.begin; d < batch.end; ++d) {
        const DatasetFacts& about = list.question().facts.datasets[d];
        const std::uint64_t bytes =
            about.rows_of_rank[static_cast<std::size_t>(r)] * about.row_bytes();
        if (bytes == 0) continue;
        if (at == 0) {
          list.out().steps.files.push_back({});
          ++files;
        }
        packed[static_cast<std::size_t>(r)] += bytes;
        writes.push_back({.file = static_cast<std::uint32_t>(list.out().steps.files.size() - 1),
                          .rank = r,
                          .offset = round_up_to(at, kExtentAlignment),
                          .bytes = list.encoded(bytes)});
        at = writes.back().offset + writes.back().bytes;
        list.out().shards.push_back({writes.back()});
      }
    }
  list.add(Phase::kMetadata, StepKind::kCreate, 0, files);
  list.add(Phase::kPack, StepKind::kPack, *std::max_element(packed.begin(), packed.end()), 0);
  list.add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(writes);
  list.sync(Phase::kSync);
}

Result<SaveForecast> list_steps(SaveStepList& list) {
  // Everybody tells its row counts, and the directory is made.
  if (list.mode() != CheckpointMode::kFilePerProcess)
    list.add(Phase::kMetadata, StepKind::kExchange,
             list.question().facts.datasets.size() * 8 * static_cast<std::uint64_t>(list.ranks()),
             1);
  list.add(Phase::kCommit, StepKind::kCreate, 0, 1);
  list.agree(Phase::kCommit, 2);
  switch (format_of(list.mode())) {
    case CheckpointMode::kFilePerProcess:
      add_own_files(list);
      break;
    case CheckpointMode::kShared:
      STRATALOG_RETURN_IF_ERROR(add_shared_files(list));
      break;
    case CheckpointMode::kHdf5Streams:
      list.set_stripes();
      STRATALOG_RETURN_IF_ERROR(add_stream_files(list));
      list.set_stripes();
      break;
    default:
      list.set_stripes();
      add_row_files(list);
      list.set_stripes();
      break;
  }
  add_commit(list);
  return std::move(list.out());
}

}  // namespace

Result<SaveForecast> forecast_save(const SaveQuestion& question, const Machine& machine) {
  STRATALOG_RETURN_IF_ERROR(check_machine(machine));
  if (question.stage_bytes == 0) return Status::invalid_argument("a stage of no bytes");
  STRATALOG_ASSIGN_OR_RETURN(LayoutPlan plan, plan_layout(question.facts, question.wishes));
  SaveStepList list(question, machine, std::move(plan));
  return list_steps(list);
}

Steps bare_save(const SaveQuestion& question, BareFiles files) {
  Steps steps{.ranks = question.facts.ranks, .files = {}, .steps = {}, .row_bytes = 0};
  Step create{.phase = Phase::kMetadata, .kind = StepKind::kCreate, .transfers = {}};
  Step open{.phase = Phase::kMetadata, .kind = StepKind::kOpen, .transfers = {}};
  Step write{.phase = Phase::kWrite, .kind = StepKind::kWrite, .transfers = {}};
  for (const DatasetFacts& dataset : question.facts.datasets) {
    const std::uint64_t bytes = dataset.rows() * dataset.row_bytes();
    FileStripes stripes;
    // As the policy stripes files.
    if (files == BareFiles::kShared && bytes > value_of(Limit::kStripedOutput))
      stripes = {.count = static_cast<std::uint32_t>(value_of(Limit::kStripeCount)),
                 .bytes = value_of(Limit::kStripeBytes)};
    std::uint64_t at = 0;
    for (int r = 0; r < steps.ranks; ++r) {
      const std::uint64_t mine =
          dataset.rows_of_rank[static_cast<std::size_t>(r)] * dataset.row_bytes();
      if (mine == 0) continue;
      const bool is_new = files == BareFiles::kOwn || at == 0;
      if (is_new) steps.files.push_back(stripes);
      ++(is_new ? create : open).count;
      write.transfers.push_back({.file = static_cast<std::uint32_t>(steps.files.size() - 1),
                                 .rank = r,
                                 .offset = files == BareFiles::kOwn ? 0 : at,
                                 .bytes = mine});
      at += mine;
    }
    steps.row_bytes += at;
  }
  steps.steps = {std::move(create), std::move(open), std::move(write)};
  if (question.sync == SyncFiles::kYes)
    steps.steps.push_back({.phase = Phase::kSync, .kind = StepKind::kSync, .transfers = {}});
  return steps;
}

FileSystemFacts file_system_of(const Machine& machine) {
  return {.kind = FileSystemKind::kLustre,
          .name = "lustre",
          .block_bytes = 4096,
          .stripe_bytes = static_cast<std::uint64_t>(machine.default_stripe_bytes),
          .stripe_count = static_cast<std::uint32_t>(machine.default_stripes)};
}

}  // namespace stratalog
