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
#include "relation/growth_log.h"

namespace stratalog::datalog {

// Whether rounds still add to a relation.
enum class RelationState : std::uint8_t { kFinished, kRunning };

// For how long a request may be used: while nothing changes; the same, but the relations grow
// before the checkpoint is acknowledged; or beside the next rounds. The last takes copies of what
// rounds change: the last delta, and of relations that are written whole everything.
enum class ImageLife : std::uint8_t { kBorrowed, kUntilPacked, kFrozen };

struct SavedRelation {
  RelationId id = 0;
  RelationState state = RelationState::kFinished;
};

class SavedParts {
 public:
  SavedParts(EngineState& state, const CheckpointWriter& writer) : state_(state), writer_(writer) {}

  // Collective. Adds the totals of `relations` and the deltas of the running ones to the request.
  // kFrozen is a wish, granted where every rank has the memory for the copies.
  // `since_last`: seconds since the last checkpoint began, of which rank 0's count.
  Status add(std::span<const SavedRelation> relations, SaveRequest& request, ImageLife life,
             double since_last);
  ImageLife life() const { return life_; }
  // Local. Memory that only this checkpoint holds.
  std::uint64_t copied_bytes() const;
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
  PartOffer offer(const SavedRelation& saved, const Sizes& all, ImageLife life,
                  std::uint64_t interval_microseconds) const;
  // `sums`: rows and growth of each relation on all ranks, and microseconds since the last
  // checkpoint.
  std::vector<PartPlan> plan(std::span<const std::uint64_t> sums, ImageLife life) const;
  bool may_fold(const SavedRelation& saved, ImageLife life) const;
  bool is_finished_beside(const SavedRelation& saved, ImageLife life) const;
  // What this rank has copied of a running relation; nothing of what is not written whole.
  struct Copies {
    GrowthSegments total;
    GrowthSegments delta;
  };

  bool only_grows(const SavedRelation& saved) const;
  Status agree_on_copies(std::span<const PartPlan> plans);
  Status copy(std::span<const PartPlan> plans);
  std::uint64_t needed_bytes(std::span<const PartPlan> plans) const;
  void follow_from_now();
  // Which rows an image has a group for.
  enum class ShownRows : std::uint8_t { kThoseWithElements, kAll };
  RelationImage segment_image(RelationId id, RelationVersion version, GrowthSegments segments,
                              ShownRows shown = ShownRows::kThoseWithElements) const;
  // An image and, where there is one, the better way to walk it.
  struct Shown {
    RelationImage image;
    BatchWalk batches = {};
  };
  Shown total_image(RelationId id, ImagePart part, const Sizes& mine);
  Result<Shown> delta_image(RelationId id) const;
  Shown pivot_image(RelationId id, RelationVersion version, ImageRows rows) const;
  Shown growth_image(RelationId id, ShownRows shown) const;
  void add_image(RelationId id, Shown shown, SaveRequest& request) const;

  EngineState& state_;
  const CheckpointWriter& writer_;
  std::vector<SavedRelation> relations_;
  ImageLife life_ = ImageLife::kBorrowed;
  std::map<RelationId, Copies> copies_;  // where life_ is kFrozen
  std::map<PivotRelations*, std::vector<Sizes>> pivot_sizes_;  // by position
  double agree_seconds_ = 0;
  std::shared_ptr<std::uint64_t> hash_ns_ = std::make_shared<std::uint64_t>(0);
};

}  // namespace stratalog::datalog
