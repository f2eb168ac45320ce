// SPDX-License-Identifier: Apache-2.0
#include "forecast/save_step_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "forecast/collective_write.h"

namespace stratalog {
namespace {

SaveLayout layout_of(const SaveQuestion& question, const LayoutPlan& plan) {
  SaveLayout layout{.facts = question.facts, .plan = plan, .images = {}};
  layout.images.resize(question.facts.datasets.size());
  std::iota(layout.images.begin(), layout.images.end(), std::size_t{0});
  return layout;
}

}  // namespace

SaveStepList::SaveStepList(const SaveQuestion& question, const Machine& machine, LayoutPlan plan)
    : question_(question), layout_(layout_of(question, plan)), machine_(machine) {
  out_.plan = std::move(plan);
  out_.steps.ranks = question.facts.ranks;
  for (const DatasetFacts& dataset : question.facts.datasets)
    out_.steps.row_bytes += dataset.rows() * dataset.row_bytes();
}

Step& SaveStepList::add(Phase phase, StepKind kind, std::uint64_t bytes, std::uint64_t count) {
  Step step;
  step.phase = phase;
  step.kind = kind;
  step.bytes = bytes;
  step.count = count;
  out_.steps.steps.push_back(std::move(step));
  return out_.steps.steps.back();
}

void SaveStepList::sync(Phase phase) {
  if (question_.sync == SyncFiles::kYes) add(phase, StepKind::kSync, 0, 1);
}

bool SaveStepList::one_rank_creates() const {
  return stores_streams(mode()) ||
         (stores_rows(mode()) && layout_.plan.creation != FileCreation::kCollective);
}

void SaveStepList::set_stripes() {
  if (layout_.plan.striping.stripe_count != 0 && one_rank_creates() &&
      question_.lfs == LfsProgram::kThere)
    add(Phase::kMetadata, StepKind::kSetStripes, 0, 1);
}

std::uint32_t SaveStepList::add_file() {
  const StripingPlan& striping = layout_.plan.striping;
  const bool is_set = question_.lfs == LfsProgram::kThere || !one_rank_creates();
  out_.steps.files.push_back(
      is_set ? FileStripes{.count = striping.stripe_count, .bytes = striping.stripe_bytes}
             : FileStripes{});
  return static_cast<std::uint32_t>(out_.steps.files.size() - 1);
}

std::vector<std::uint32_t> SaveStepList::open_group_files() {
  std::vector<std::uint32_t> files;
  files.reserve(layout_.plan.files);
  for (std::uint32_t g = 0; g < layout_.plan.files; ++g) files.push_back(add_file());
  return files;
}

void SaveStepList::write_together(const std::vector<Transfer>& pieces) {
  CollectiveWrite write = plan_collective_write(pieces, out_.steps.files, layout_, machine_);
  add(Phase::kWrite, StepKind::kExchange, write.busiest_bytes, write.messages);
  add(Phase::kWrite, StepKind::kWrite, 0, 0).transfers = std::move(write.transfers);
  out_.aggregators = std::max(out_.aggregators, write.aggregators);
}
}  // namespace stratalog
