// SPDX-License-Identifier: Apache-2.0
// LearnedLayout: a writer's learner (policy/learning.h) from job to job. Before its first choice it
// takes over what the last job on the same ranks, nodes and file system had learned, if a manifest
// tells (commit/learned_record.h), and says so among the reasons.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/status.h"
#include "checkpoint/generation_sequence.h"
#include "comm/comm.h"
#include "commit/learned_record.h"
#include "policy/learning.h"

namespace stratalog {

class LearnedLayout {
 public:
  // Collective: how the next save is written, the same on every rank. Of `generations` and `on`
  // rank 0's count.
  Result<AutoChoice> choose(Comm& comm, const GenerationSequence& generations,
                            const AutoFacts& facts, const MeasuredOn& on);
  // Local: what a save cost, with numbers that are equal on all ranks.
  void learn(const LayoutOption& option, const AutoFacts& facts, double seconds) {
    learner_.learn(option, facts, seconds);
  }
  // Local: for the manifest of the next save. Nothing while nothing was measured.
  std::optional<LearnedRecord> record(const MeasuredOn& on) const;

 private:
  Status recall(Comm& comm, const GenerationSequence& generations, const MeasuredOn& on);

  LayoutLearner learner_;
  bool has_recalled_ = false;  // whatever there was
  std::optional<Reason> remembered_;  // of that, if anything
};

}  // namespace stratalog
