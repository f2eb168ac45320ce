// SPDX-License-Identifier: Apache-2.0
// The search for landmarks and the choice among delays.
#include "datalog/pivot/round_skew.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

constexpr std::size_t kLandmarksWanted = 6;
constexpr std::size_t kLandmarksTried = 6;  // as delays of their own
constexpr std::size_t kLandmarksVoting = 8;
constexpr std::size_t kLandmarksDrawn = 24;  // for one block, at most
constexpr std::uint32_t kSlotsOfLane = 4;
constexpr std::uint32_t kLongestWalk = 512;
constexpr std::int32_t kLargestDelay = 1 << 20;
// Where lanes follow fewer edges than this each, moving them one by one costs no more than the
// search for delays.
constexpr std::size_t kFewEdges = 32;
constexpr std::size_t kLanesTried = 16;

// A random walk from a random slot of the lanes; returns a random slot of it.
SlotId walk(const SlotGraph& graph, std::span<const SlotId> starts, std::uint64_t seed) {
  const auto draw = [&](std::uint64_t below) { return splitmix64(seed++) % below; };
  std::vector<SlotId> path = {starts[draw(starts.size())]};
  while (path.size() < kLongestWalk) {
    const SlotGraph::Extent extent = graph.extents()[path.back()];
    if (!extent.is_expanded() || extent.begin == extent.end) break;
    path.push_back(graph.targets()[extent.begin + draw(extent.end - extent.begin)]);
  }
  return path[draw(path.size())];
}

std::size_t farthest(std::span<const std::vector<std::uint16_t>> surveyed) {
  std::uint16_t far = 0;
  for (const auto& distances : surveyed)
    for (const std::uint16_t distance : distances)
      if (distance != kNoWay) far = std::max(far, distance);
  return far;
}

}  // namespace

void RoundSkew::refresh(const SlotGraph& graph) {
  std::shared_ptr<const Landmarks::Sides> sides = landmarks_->sides_of(graph);
  if (sides == sides_) return;
  sides_ = std::move(sides);
  reserve_ = kVisitsPerEdge * graph.edges();
  distance_.assign(graph.slots(), kNoWay);
}

RoundSkew::Lanes RoundSkew::collect(std::span<const SlotBit> delta, std::uint32_t lanes) {
  std::vector<std::uint32_t> taken(std::size_t{lanes} + 1, 0);
  for (const SlotBit& bit : delta)
    taken[bit.offset] = std::min(taken[bit.offset] + 1, kSlotsOfLane);
  Lanes result;
  std::vector<std::uint32_t> place(lanes, 0);
  std::uint32_t at = 0;
  for (std::uint32_t offset = 0; offset < lanes; ++offset) {
    if (taken[offset] == 0) continue;
    result.offsets.push_back(offset);
    result.first.push_back(at);
    place[offset] = at;
    at += taken[offset];
  }
  result.first.push_back(at);
  result.slots.resize(at);
  for (const SlotBit& bit : delta)
    if (taken[bit.offset] != 0) {
      --taken[bit.offset];
      result.slots[place[bit.offset]++] = bit.slot;
    }
  return result;
}

// Whether lanes spread over the block follow kFewEdges edges each on the average, to their end.
// What is not expanded has no known end.
bool RoundSkew::is_little_work(const SlotGraph& graph, const Lanes& lanes) {
  const std::size_t tried = std::min(kLanesTried, lanes.offsets.size());
  std::size_t edges = 0;
  std::unordered_set<SlotId> reached;
  std::vector<SlotId> queue;
  for (std::size_t t = 0; t < tried; ++t) {
    const std::size_t lane = t * lanes.offsets.size() / tried;
    reached.clear();
    queue.clear();
    const auto reach = [&](SlotId slot) {
      if (reached.insert(slot).second) queue.push_back(slot);
    };
    for (std::uint32_t s = lanes.first[lane]; s != lanes.first[lane + 1]; ++s)
      reach(lanes.slots[s]);
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const SlotGraph::Extent extent = graph.extents()[queue[i]];
      edges += extent.end - extent.begin;
      if (!extent.is_expanded() || edges > tried * kFewEdges) return false;
      for (std::uint32_t e = extent.begin; e != extent.end; ++e) reach(graph.targets()[e]);
    }
  }
  return true;
}

RoundSkew::LaneDistances RoundSkew::distances_to(const LandmarkDistances& to_landmark,
                                                 const Lanes& lanes) {
  LaneDistances distances(lanes.offsets.size(), kNoWay);
  for (std::size_t i = 0; i < distances.size(); ++i)
    for (std::uint32_t s = lanes.first[i]; s != lanes.first[i + 1]; ++s)
      distances[i] = std::min(distances[i], to_landmark[lanes.slots[s]]);
  return distances;
}

// Distances to `target` in distance_, which is all kNoWay before and, but for the slots in queue_,
// after.
void RoundSkew::measure(SlotId target) {
  const ReverseEdges& reverse = sides_->reverse;
  distance_[target] = 0;
  queue_.assign(1, target);
  std::uint64_t edges = 0;
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const SlotId slot = queue_[i];
    const std::uint32_t next = distance_[slot] + 1U;
    if (next >= kNoWay) break;
    edges += reverse.begin[slot + 1] - reverse.begin[slot];
    for (std::uint32_t e = reverse.begin[slot]; e != reverse.begin[slot + 1]; ++e)
      if (distance_[reverse.sources[e]] == kNoWay) {
        distance_[reverse.sources[e]] = static_cast<std::uint16_t>(next);
        queue_.push_back(reverse.sources[e]);
      }
  }
  // A visit is like a row operation.
  reserve_ -= std::min(reserve_, landmarks_->note_search(edges + queue_.size()));
}

// The distances of the lanes to landmarks: known ones that at least half of the lanes reach, then
// new ones, until a lane reaches kLandmarksWanted on the average.
std::vector<RoundSkew::LaneDistances> RoundSkew::survey(const SlotGraph& graph, const Lanes& lanes,
                                                        std::uint64_t seed) {
  std::vector<LaneDistances> surveyed;
  std::size_t reaching = 0;
  const auto take = [&](const LandmarkDistances& to_landmark, std::size_t at_least) {
    LaneDistances distances = distances_to(to_landmark, lanes);
    const auto reached = static_cast<std::size_t>(
        std::count_if(distances.begin(), distances.end(), [](auto d) { return d != kNoWay; }));
    if (reached < at_least) return reached;
    reaching += reached;
    surveyed.push_back(std::move(distances));
    return reached;
  };
  const std::size_t half = (lanes.offsets.size() + 1) / 2;
  for (const auto& landmark : landmarks_->kept())
    if (take(*landmark, half) >= half) landmarks_->note_use(*landmark);
  const auto may_search = [&] {
    return landmarks_->may_search() || (surveyed.empty() && reserve_ != 0);
  };
  for (std::size_t drawn = 0; drawn < kLandmarksDrawn && may_search() &&
                              reaching < kLandmarksWanted * lanes.offsets.size();
       ++drawn) {
    measure(walk(graph, lanes.slots, splitmix64(splitmix64(seed) + drawn)));
    if (take(distance_, 2) >= half) landmarks_->keep(distance_);
    for (const SlotId slot : queue_) distance_[slot] = kNoWay;
  }
  std::stable_sort(surveyed.begin(), surveyed.end(), [&](const auto& a, const auto& b) {
    return std::count(a.begin(), a.end(), kNoWay) < std::count(b.begin(), b.end(), kNoWay);
  });
  return surveyed;
}

std::vector<std::int32_t> RoundSkew::by_potential(const Lanes& lanes) const {
  std::vector<std::int32_t> delays(lanes.offsets.size());
  for (std::size_t i = 0; i < delays.size(); ++i) {
    std::int32_t highest = std::numeric_limits<std::int32_t>::min();
    for (std::uint32_t s = lanes.first[i]; s != lanes.first[i + 1]; ++s)
      highest = std::max(highest, sides_->potential[lanes.slots[s]]);
    delays[i] = highest;
  }
  return delays;
}

// How many steps the lanes reach the landmarks in: a sample of the row operations to come.
std::uint64_t RoundSkew::steps_needed(std::span<const std::int32_t> delays,
                                      std::span<const LaneDistances> surveyed) {
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  std::uint64_t steps = 0;
  tally_.assign(static_cast<std::size_t>(*most - *least) + farthest(surveyed) + 1, 0);
  std::uint32_t stamp = 0;
  for (const LaneDistances& distances : surveyed) {
    ++stamp;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      if (distances[i] == kNoWay) continue;
      const auto step = static_cast<std::size_t>(delays[i] - *least) + distances[i];
      if (std::exchange(tally_[step], stamp) != stamp) ++steps;
    }
  }
  return steps;
}

// Improves delays: each landmark names the step in which most lanes reach it, and each lane takes
// the delay that brings it to most landmarks in their steps.
std::vector<std::int32_t> RoundSkew::vote(std::span<const std::int32_t> delays,
                                          std::span<const LaneDistances> surveyed) {
  const auto [least, most] = std::minmax_element(delays.begin(), delays.end());
  std::vector<std::int32_t> meeting(surveyed.size(), 0);
  for (std::size_t k = 0; k < surveyed.size(); ++k) {
    tally_.assign(static_cast<std::size_t>(*most - *least) + farthest(surveyed) + 1, 0);
    std::uint32_t best = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) {
      if (surveyed[k][i] == kNoWay) continue;
      const auto step = static_cast<std::size_t>(delays[i] - *least) + surveyed[k][i];
      if (++tally_[step] > best) {
        best = tally_[step];
        meeting[k] = static_cast<std::int32_t>(step) + *least;
      }
    }
  }
  std::vector<std::int32_t> voted(delays.begin(), delays.end());
  std::vector<std::int32_t> ballots;
  for (std::size_t i = 0; i < voted.size(); ++i) {
    ballots.clear();
    for (std::size_t k = 0; k < surveyed.size(); ++k)
      if (surveyed[k][i] != kNoWay) ballots.push_back(meeting[k] - surveyed[k][i]);
    std::int64_t best = 0;
    for (const std::int32_t ballot : ballots) {
      const std::int64_t votes = std::count(ballots.begin(), ballots.end(), ballot);
      if (votes > best || (votes == best && ballot == delays[i])) {
        best = votes;
        voted[i] = ballot;
      }
    }
  }
  return voted;
}

std::vector<std::uint32_t> RoundSkew::plan(const SlotGraph& graph, std::span<const SlotBit> delta,
                                           std::uint32_t lanes, std::uint64_t seed) {
  const Lanes with_delta = collect(delta, lanes);
  if (with_delta.offsets.size() < 2 || is_little_work(graph, with_delta)) return {};
  refresh(graph);
  const std::vector<LaneDistances> surveyed = survey(graph, with_delta, seed);
  if (surveyed.empty()) return {};

  const std::vector<std::int32_t> none(with_delta.offsets.size(), 0);
  const std::uint64_t steps_without = steps_needed(none, surveyed);
  std::vector<std::int32_t> best = none;
  std::uint64_t best_steps = steps_without;
  const auto consider = [&](std::vector<std::int32_t> candidate) {
    const auto [least, most] = std::minmax_element(candidate.begin(), candidate.end());
    if (*most - *least > kLargestDelay) return;
    const std::uint64_t steps = steps_needed(candidate, surveyed);
    if (steps >= best_steps) return;
    best_steps = steps;
    best = std::move(candidate);
  };
  const std::vector<std::int32_t> potential = by_potential(with_delta);
  consider(potential);
  for (const LaneDistances& distances :
       std::span(surveyed).first(std::min(surveyed.size(), kLandmarksTried))) {
    // Lanes that do not reach the landmark keep their potential, shifted to where the others are.
    std::int64_t shift = 0;
    std::int64_t near = 0;
    for (std::size_t i = 0; i < distances.size(); ++i)
      if (distances[i] != kNoWay) {
        shift += -distances[i] - potential[i];
        ++near;
      }
    if (near == 0) continue;
    std::vector<std::int32_t> candidate(distances.size());
    for (std::size_t i = 0; i < distances.size(); ++i)
      candidate[i] = distances[i] != kNoWay
                         ? -distances[i]
                         : static_cast<std::int32_t>(potential[i] + shift / near);
    consider(std::move(candidate));
  }
  const auto voters = std::span(surveyed).first(std::min(surveyed.size(), kLandmarksVoting));
  for (int pass = 0; pass < 2; ++pass) consider(vote(best, voters));
  if (best_steps * 10 >= steps_without * 9) return {};

  const std::int32_t least = *std::min_element(best.begin(), best.end());
  std::vector<std::uint32_t> delays(lanes, 0);
  for (std::size_t i = 0; i < best.size(); ++i)
    delays[with_delta.offsets[i]] = static_cast<std::uint32_t>(best[i] - least);
  return delays;
}

std::uint64_t RoundSkew::memory_bytes() const {
  return queue_.capacity() * sizeof(SlotId) + tally_.capacity() * sizeof(std::uint32_t) +
         distance_.capacity() * sizeof(std::uint16_t);
}

}  // namespace stratalog
