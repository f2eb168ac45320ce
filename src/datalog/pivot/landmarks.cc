// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/landmarks.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stratalog {
namespace {

constexpr std::size_t kLandmarksKept = 16;

std::vector<std::int32_t> find_potential(const SlotGraph& graph, const ReverseEdges& reverse) {
  const std::uint32_t slots = graph.slots();
  constexpr std::int32_t kUnset = std::numeric_limits<std::int32_t>::min();
  std::vector<std::int32_t> potential(slots, kUnset);
  std::vector<SlotId> queue;
  const auto reach = [&](SlotId slot, std::int32_t value) {
    if (potential[slot] != kUnset) return;
    potential[slot] = value;
    queue.push_back(slot);
  };
  for (SlotId root = 0; root < slots; ++root) {
    queue.clear();
    reach(root, 0);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const SlotId slot = queue[i];
      const std::int32_t value = potential[slot];
      const SlotGraph::Extent extent = graph.extents()[slot];
      for (std::uint32_t e = extent.begin; e != extent.end; ++e)
        reach(graph.targets()[e], value + 1);
      for (std::uint32_t e = reverse.begin[slot]; e != reverse.begin[slot + 1]; ++e)
        reach(reverse.sources[e], value - 1);
    }
  }
  return potential;
}

}  // namespace

std::shared_ptr<const Landmarks::Sides> Landmarks::sides_of(const SlotGraph& graph) {
  // Under the lock: whoever comes meanwhile needs the same.
  const std::lock_guard guard(mutex_);
  if (sides_ && sides_->potential.size() == graph.slots() &&
      graph.edges() - sides_->edges <= sides_->edges / 8)
    return sides_;
  landmarks_.clear();
  allowance_ = std::max<std::uint64_t>(allowance_, kVisitsPerEdge * graph.edges());
  auto sides = std::make_shared<Sides>();
  sides->edges = graph.edges();
  sides->reverse = graph.reverse_edges();
  sides->potential = find_potential(graph, sides->reverse);
  sides_ = std::move(sides);
  return sides_;
}

Landmarks::Kept Landmarks::kept() {
  const std::lock_guard guard(mutex_);
  ++clock_;
  Kept kept;
  for (const Landmark& landmark : landmarks_) kept.push_back(landmark.distances);
  return kept;
}

void Landmarks::note_use(const LandmarkDistances& landmark) {
  const std::lock_guard guard(mutex_);
  for (Landmark& known : landmarks_)
    if (known.distances.get() == &landmark) known.last_used = clock_;
}

void Landmarks::keep(LandmarkDistances distances) {
  auto kept = std::make_shared<const LandmarkDistances>(std::move(distances));
  const std::lock_guard guard(mutex_);
  if (landmarks_.size() < kLandmarksKept) landmarks_.emplace_back();
  Landmark& landmark = *std::ranges::min_element(landmarks_, {}, &Landmark::last_used);
  landmark.distances = std::move(kept);
  landmark.last_used = clock_;
}

bool Landmarks::may_search() const {
  const std::lock_guard guard(mutex_);
  return allowance_ != 0;
}

void Landmarks::note_work(std::uint64_t row_operations) {
  const std::lock_guard guard(mutex_);
  allowance_ += row_operations / 8;
}

std::uint64_t Landmarks::note_search(std::uint64_t visits) {
  const std::lock_guard guard(mutex_);
  const std::uint64_t allowed = std::min(allowance_, visits);
  allowance_ -= allowed;
  return visits - allowed;
}

std::uint64_t Landmarks::memory_bytes() const {
  const std::lock_guard guard(mutex_);
  std::uint64_t bytes = 0;
  if (sides_)
    bytes += sides_->reverse.begin.capacity() * sizeof(std::uint32_t) +
             sides_->reverse.sources.capacity() * sizeof(SlotId) +
             sides_->potential.capacity() * sizeof(std::int32_t);
  for (const Landmark& landmark : landmarks_)
    bytes += landmark.distances->capacity() * sizeof(std::uint16_t);
  return bytes;
}

}  // namespace stratalog
