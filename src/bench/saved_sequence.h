// SPDX-License-Identifier: Apache-2.0
// SavedSequence: what a benchmark saves, checkpoint after checkpoint: relations that stay as they
// are, or, as in an inference, a path that grows (all of it and what the last round added) beside
// edges that never change. Written whole every time, as the papers do, or in chains of what is new,
// by the rule that runs use (checkpoint/part_plan.h). Collective where marked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "bench/held_relation.h"
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"

namespace stratalog {

enum class SequenceParts : std::uint8_t {
  kWhole,  // "whole": everything at every checkpoint
  kGrowth,  // "growth": what is new, and everything where plan_part ends a chain
};

class SavedSequence {
 public:
  SavedSequence() = default;
  // Relations that stay as they are.
  explicit SavedSequence(std::vector<HeldRelation> relations);
  // `path` is how it is at the last checkpoint, `sizes` as in grow(); `edges` never change.
  SavedSequence(HeldRelation path, HeldRelation edges, std::vector<std::uint64_t> sizes);

  bool grows() const { return !sizes_.empty(); }
  // Of a sequence that grows.
  std::size_t checkpoints() const { return sizes_.size(); }
  // Local. Makes what is saved at checkpoint `at`, from 0 on. O(rows).
  void go_to(std::size_t at);

  // This rank's part of all that is saved, as rows of 64-bit numbers: what the papers write.
  std::uint64_t row_bytes() const;
  std::uint64_t rows() const;

  // Collective. Images of this checkpoint; they refer to this object until the next go_to().
  // `writer` has written the checkpoints before. kGrowth needs a sequence that grows.
  Result<SaveRequest> request(Comm& comm, const CheckpointWriter& writer,
                              SequenceParts parts) const;

 private:
  struct Saved {
    HeldRelation relation;
    MultisetHash hash;
  };
  static Saved hashed(HeldRelation relation);
  Status add_parts(Comm& comm, const CheckpointWriter& writer, SaveRequest& request) const;

  std::vector<std::uint64_t> sizes_;
  std::vector<HeldRelation> last_;  // the path at the last checkpoint, where it grows
  // What is saved: where it grows, path, its last round, edges.
  std::vector<Saved> saved_;
  std::vector<Saved> new_;  // of path and edges: what is new since the checkpoint before
};

}  // namespace stratalog
