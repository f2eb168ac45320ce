// SPDX-License-Identifier: Apache-2.0
// SaveStepList: what the steps of all kinds of files of a checkpoint have in common (save_steps.h):
// the plan, the list, files with their stripes, and how ranks write together. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "checkpoint/save_layout.h"
#include "forecast/machine.h"
#include "forecast/save_steps.h"
#include "place/write_edges.h"

namespace stratalog {

inline std::uint64_t round_up_to(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

class SaveStepList {
 public:
  // All of them outlive this object, except the plan.
  SaveStepList(const SaveQuestion& question, const Machine& machine, LayoutPlan plan);

  const SaveQuestion& question() const { return question_; }
  const SaveLayout& layout() const { return layout_; }
  const LayoutPlan& plan() const { return layout_.plan; }
  const Machine& machine() const { return machine_; }
  SaveForecast& out() { return out_; }
  CheckpointMode mode() const { return layout_.plan.mode; }
  int ranks() const { return question_.facts.ranks; }

  Step& add(Phase phase, StepKind kind, std::uint64_t bytes, std::uint64_t count);
  void agree(Phase phase, std::uint64_t count = 1) { add(phase, StepKind::kAgree, 0, count); }
  void sync(Phase phase);
  // Before the first file, and back before the manifest.
  void set_stripes();
  std::uint32_t add_file();
  // Files of one batch, one for each group of ranks; index is the group.
  std::vector<std::uint32_t> open_group_files();
  std::uint64_t encoded(std::uint64_t row_bytes) const {
    return row_bytes * question_.facts.encoded_milli / 1000;
  }
  // A collective write of one piece of each rank that has something.
  void write_together(const std::vector<Transfer>& pieces);

  // What lies from `offset` on in a file, begins[r] bytes further what rank r has: calls
  // visit(shipped, kept) for each rank that has bytes, with what another rank writes of them.
  template <typename Visit>
  void split_at_edges(std::uint32_t file, std::uint64_t offset,
                      const std::vector<std::uint64_t>& begins, Visit&& visit) const {
    for (std::size_t r = 0; r + 1 < begins.size(); ++r) {
      const std::uint64_t bytes = begins[r + 1] - begins[r];
      if (bytes == 0) continue;
      const auto rank = static_cast<int>(r);
      const WriteEdge edge = plan_write_edge(
          begins, rank, {.offset = offset, .alignment = layout_.plan.edge_alignment});
      const std::uint64_t at = offset + begins[r];
      visit(Transfer{.file = file, .rank = edge.writer, .offset = at, .bytes = edge.shipped_bytes},
            Transfer{.file = file,
                     .rank = rank,
                     .offset = at + edge.shipped_bytes,
                     .bytes = bytes - edge.shipped_bytes});
    }
  }

 private:
  // Whether files are created by ordinary calls, and not by MPI-IO with hints.
  bool one_rank_creates() const;

  const SaveQuestion& question_;
  SaveLayout layout_;
  const Machine& machine_;
  SaveForecast out_;
};

// For each kind of files that ranks share: steps from the first file to the last one's end.
Status add_shared_files(SaveStepList& list);
Status add_stream_files(SaveStepList& list);
void add_row_files(SaveStepList& list);

}  // namespace stratalog
