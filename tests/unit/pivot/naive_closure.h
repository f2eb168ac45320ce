// SPDX-License-Identifier: Apache-2.0
// The oracle of the pivot tests: the recursion evaluated round by round on plain sets of (slot,
// lane), and a seeded maker of small random problems. Written for obviousness. Local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "datalog/pivot/pivot_closure.h"

namespace stratalog {

struct NaiveEdge {
  SlotId target = 0;
  std::uint32_t mask = kNoMask;  // mask_code
};

struct NaiveTuple {
  SlotId slot = 0;
  LaneId lane = 0;
  friend auto operator<=>(const NaiveTuple&, const NaiveTuple&) = default;
};

struct NaiveProblem {
  std::uint32_t lanes = 0;
  std::vector<std::vector<NaiveEdge>> edges;  // by slot
  std::vector<std::vector<LaneId>> masks;  // members by mask id
  std::vector<NaiveTuple> seeds;

  ExpandSlots expander() const {
    return [this](std::span<const SlotId> batch, EdgeSink& sink) {
      for (std::uint32_t i = 0; i < batch.size(); ++i)
        for (const NaiveEdge& edge : edges[batch[i]]) {
          if (edge.mask == kNoMask)
            sink.add(i, edge.target);
          else
            sink.add(i, edge.target, edge.mask / 2, static_cast<MaskSense>(edge.mask % 2));
        }
      return Status::ok();
    };
  }
  MaskMembers members() const {
    return [this](MaskId mask, std::vector<LaneId>& out) {
      out.insert(out.end(), masks[mask].begin(), masks[mask].end());
      return Status::ok();
    };
  }
};

// total and delta after each round; index 0 is the state after absorbing the seeds.
struct NaiveRound {
  std::set<NaiveTuple> total;
  std::set<NaiveTuple> delta;
};

inline bool lets_through(const NaiveProblem& problem, const NaiveEdge& edge, LaneId lane) {
  if (edge.mask == kNoMask) return true;
  const std::vector<LaneId>& members = problem.masks[edge.mask / 2];
  const bool is_member = std::find(members.begin(), members.end(), lane) != members.end();
  return is_member == (edge.mask % 2 == static_cast<std::uint32_t>(MaskSense::kKeepMembers));
}

inline std::vector<NaiveRound> naive_rounds(const NaiveProblem& problem) {
  std::vector<NaiveRound> rounds(1);
  rounds[0].total.insert(problem.seeds.begin(), problem.seeds.end());
  rounds[0].delta = rounds[0].total;
  while (!rounds.back().delta.empty()) {
    NaiveRound next{.total = rounds.back().total, .delta = {}};
    for (const NaiveTuple& tuple : rounds.back().delta)
      for (const NaiveEdge& edge : problem.edges[tuple.slot])
        if (lets_through(problem, edge, tuple.lane) &&
            next.total.insert({edge.target, tuple.lane}).second)
          next.delta.insert({edge.target, tuple.lane});
    rounds.push_back(std::move(next));
  }
  return rounds;
}

// The shapes differ in what delays can do for them: chains, grids, trees, random graphs, cycles;
// each may have followers (SlotGraph::find_followers).
inline NaiveProblem random_problem(std::uint64_t seed, bool with_masks) {
  std::mt19937_64 draw(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(draw() % n); };
  NaiveProblem problem;
  const std::uint32_t nodes = 2 + below(160);
  problem.lanes = nodes;
  problem.edges.resize(nodes);
  const std::uint32_t shape = below(5);
  const std::uint32_t side = 1 + below(12);
  for (std::uint32_t v = 0; v < nodes; ++v) {
    if (shape == 0 || shape == 4) {
      if (v + 1 < nodes || shape == 4) problem.edges[v].push_back({(v + 1) % nodes});
    } else if (shape == 1) {
      if (v + side < nodes) problem.edges[v].push_back({v + side});
      if (v + 1 < nodes && (v + 1) % side != 0) problem.edges[v].push_back({v + 1});
    } else if (shape == 2) {
      if (v != 0) problem.edges[v].push_back({below(v)});
    } else {
      for (std::uint32_t k = below(3); k != 0; --k) problem.edges[v].push_back({below(nodes)});
    }
    if (below(20) == 0) problem.edges[v].push_back({below(nodes)});
    if (below(20) == 0 && !problem.edges[v].empty())
      problem.edges[v].push_back(problem.edges[v].front());  // a duplicate
  }
  if (with_masks) {
    problem.masks.resize(1 + below(6));
    for (auto& mask : problem.masks)
      for (LaneId lane = 0; lane < problem.lanes; ++lane)
        if (below(4) == 0) mask.push_back(lane);
    for (auto& edges : problem.edges)
      for (NaiveEdge& edge : edges)
        if (below(3) != 0)
          edge.mask = mask_code(below(problem.masks.size()), static_cast<MaskSense>(below(2)));
  }
  if (below(2) == 0) {
    for (std::uint32_t v = 0; v < nodes; ++v)
      for (const NaiveEdge& edge : problem.edges[v]) problem.seeds.push_back({edge.target, v});
  } else {
    for (std::uint32_t k = below(2 * nodes); k != 0; --k)
      problem.seeds.push_back({below(nodes), below(problem.lanes)});
  }
  if (below(3) == 0) {  // slots that one edge leads to, and none from, some of them seeded
    for (std::uint32_t k = 1 + below(80); k != 0; --k) {
      const auto slot = static_cast<SlotId>(problem.edges.size());
      problem.edges.emplace_back();
      problem.edges[below(nodes)].push_back({slot});
      if (below(3) == 0) problem.seeds.push_back({slot, below(problem.lanes)});
    }
  }
  return problem;
}

}  // namespace stratalog
