// SPDX-License-Identifier: Apache-2.0
#include "place/stage_plan.h"

#include <algorithm>
#include <map>

namespace stratalog {
namespace {

// The lowest node that has each file of one generation.
using NodeOfFile = std::map<StagedFile, int>;

std::map<GenerationId, NodeOfFile> index_of(std::span<const StageHolding> holdings) {
  std::map<GenerationId, NodeOfFile> index;
  for (const StageHolding& holding : holdings) {
    NodeOfFile& nodes = index[holding.id];
    for (const StagedFile& file : holding.files) {
      const auto known = nodes.try_emplace(file, holding.node).first;
      known->second = std::min(known->second, holding.node);
    }
  }
  return index;
}

}  // namespace

StageSeat plan_stage_seat(std::span<const int> node_of_rank, int rank) {
  StageSeat seat;
  if (node_of_rank.empty()) {
    seat.role = rank == 0 ? StageRole::kPublishes : StageRole::kWrites;
    return seat;
  }
  const auto mine = node_of_rank.begin() + rank;
  seat.node = *mine;
  seat.nodes = 1 + *std::max_element(node_of_rank.begin(), node_of_rank.end());
  const bool is_lowest = std::find(node_of_rank.begin(), mine, *mine) == mine;
  if (!is_lowest)
    seat.role = StageRole::kWrites;
  else
    seat.role = rank == 0 ? StageRole::kPublishes : StageRole::kDrains;
  return seat;
}

std::vector<StageRecovery> plan_stage_recovery(std::span<const StagedGeneration> generations,
                                               std::span<const StageHolding> holdings) {
  const std::map<GenerationId, NodeOfFile> index = index_of(holdings);
  const NodeOfFile nothing;
  std::vector<StageRecovery> recoveries;
  for (const StagedGeneration& generation : generations) {
    const auto found = index.find(generation.id);
    const NodeOfFile& staged = found == index.end() ? nothing : found->second;
    std::vector<StagedFile> home = generation.home;
    std::sort(home.begin(), home.end());
    StageRecovery recovery{.id = generation.id, .copies = {}, .missing = {}};
    std::map<int, std::vector<StagedFile>> copies;
    for (const StagedFile& file : generation.files) {
      if (std::binary_search(home.begin(), home.end(), file)) continue;
      const auto node = staged.find(file);
      if (node == staged.end())
        recovery.missing.push_back(file.name);
      else
        copies[node->second].push_back(file);
    }
    for (auto& [node, files] : copies)
      recovery.copies.push_back({.node = node, .files = std::move(files)});
    recoveries.push_back(std::move(recovery));
  }
  return recoveries;
}

}  // namespace stratalog
