// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/made_relations.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stratalog::datalog {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Replaces what `node` has of made relations, which may be made out of others.
void look_through(const Proof& proof, const std::vector<bool>& is_made, ProofNode& node) {
  std::vector<std::uint32_t> waiting(node.premises.rbegin(), node.premises.rend());
  node.premises.clear();
  while (!waiting.empty()) {
    const std::uint32_t next = waiting.back();
    waiting.pop_back();
    if (!is_made[next]) {
      node.premises.push_back(next);
      continue;
    }
    const ProofNode& made = proof.nodes[next];
    node.conditions.insert(node.conditions.end(), made.conditions.begin(), made.conditions.end());
    waiting.insert(waiting.end(), made.premises.rbegin(), made.premises.rend());
  }
}

// A premise was lower than what it gives, and is so still.
void count_heights(Proof& proof) {
  std::vector<std::uint32_t> order(proof.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t one, std::uint32_t other) {
    return proof.nodes[one].height < proof.nodes[other].height;
  });
  for (const std::uint32_t n : order) {
    ProofNode& node = proof.nodes[n];
    node.height = is_leaf(node.kind) ? 0 : 1;
    for (const std::uint32_t premise : node.premises)
      node.height = std::max(node.height, proof.nodes[premise].height + 1);
  }
}

}  // namespace

Proof without_made_relations(Proof proof, const std::vector<bool>& is_made) {
  if (std::none_of(is_made.begin(), is_made.end(), [](bool made) { return made; })) return proof;
  Proof left{.nodes = {}, .is_lowest = proof.is_lowest};
  std::vector<std::uint32_t> number(proof.nodes.size(), kNone);
  std::vector<std::uint32_t> order = {0};
  number[0] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ProofNode node = proof.nodes[order[i]];
    look_through(proof, is_made, node);
    for (std::uint32_t& premise : node.premises) {
      if (number[premise] == kNone) {
        number[premise] = static_cast<std::uint32_t>(order.size());
        order.push_back(premise);
      }
      premise = number[premise];
    }
    left.nodes.push_back(std::move(node));
  }
  count_heights(left);
  return left;
}

}  // namespace stratalog::datalog
