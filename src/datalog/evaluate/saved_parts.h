// SPDX-License-Identifier: Apache-2.0
// SavedParts: what of each relation a checkpoint writes. Relations only grow, so a checkpoint holds
// the growth since the last acknowledged one wherever that is told apart: in pivot strata by frozen
// layers of rows, in strata run by rounds by a growth log; the rest, and what the table of
// thresholds says, is written whole. Hashes are computed while the groups are walked for writing.
// Collective where marked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/pivot/pivot_image.h"

namespace stratalog::datalog {

// Whether rounds still add to a relation.
enum class RelationState : std::uint8_t { kFinished, kRunning };

struct SavedRelation {
  RelationId id = 0;
  RelationState state = RelationState::kFinished;
};

class SavedParts {
 public:
  SavedParts(EngineState& state, const CheckpointWriter& writer) : state_(state), writer_(writer) {}

  // Collective. Adds the totals of `relations` and the deltas of the running ones to the request.
  Status add(std::span<const SavedRelation> relations, SaveRequest& request);
  // Local. The checkpoint was acknowledged: growth counts from its state on.
  void acknowledge() const;
  // Local. Estimated seconds that hashing took inside the walks.
  double hash_seconds() const { return static_cast<double>(*hash_ns_) / 1e9; }
  // Local. What it took add() to hear of the other ranks.
  double agree_seconds() const { return agree_seconds_; }

 private:
  // This rank's numbers, then those of all ranks together.
  struct Sizes {
    std::uint64_t rows = 0;
    std::uint64_t growth = 0;
  };

  Result<Sizes> measure(RelationId id);
  Status add_up(const Status& counted, std::vector<std::uint64_t>& sums);
  PartOffer offer(RelationId id, const Sizes& all) const;
  RelationImage total_image(RelationId id, ImagePart part, const Sizes& mine);
  RelationImage pivot_image(RelationId id, RelationVersion version, ImageRows rows) const;
  RelationImage growth_image(RelationId id) const;
  void add_image(RelationImage image, SaveRequest& request) const;

  EngineState& state_;
  const CheckpointWriter& writer_;
  std::vector<SavedRelation> relations_;
  std::map<PivotRelations*, std::vector<Sizes>> pivot_sizes_;  // by position
  double agree_seconds_ = 0;
  std::shared_ptr<std::uint64_t> hash_ns_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace stratalog::datalog
