// SPDX-License-Identifier: Apache-2.0
// Expansion and discovery of the slot graph. Local; not thread-safe.
#include "datalog/pivot/slot_graph.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stratalog {
namespace {

// Slots that are looked for beyond masks before a sweep asks for them.
constexpr std::uint64_t kMostBeyondMasks = std::uint64_t{1} << 15;
constexpr std::uint64_t kMostBeyondMasksPerSlot = 16;
// Slots that are asked for at once: their edges wait as a list before they are kept.
constexpr std::size_t kMostInBatch = std::size_t{1} << 16;
// Slots for each follower where looking after followers pays.
constexpr std::size_t kMostSlotsPerFollower = 32;

}  // namespace

Status SlotGraph::expand(std::vector<SlotId>& batch) {
  std::sort(batch.begin(), batch.end());
  batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
  std::erase_if(batch, [this](SlotId slot) { return is_expanded(slot); });
  if (batch.empty()) return Status::ok();
  EdgeSink sink;
  STRATALOG_RETURN_IF_ERROR(expand_(batch, sink));
  return append(batch, sink.edges_);
}

Status SlotGraph::append(std::span<const SlotId> batch, std::vector<EdgeSink::Edge>& edges) {
  const auto key = [](const EdgeSink::Edge& e) { return std::tie(e.source, e.target, e.mask); };
  const auto before = [&](const auto& a, const auto& b) { return key(a) < key(b); };
  if (!std::is_sorted(edges.begin(), edges.end(), before))
    std::sort(edges.begin(), edges.end(), before);
  edges.erase(std::unique(edges.begin(), edges.end(),
                          [&](const auto& a, const auto& b) { return key(a) == key(b); }),
              edges.end());
  if (!edges.empty() && edges.back().source >= batch.size())
    return Status::internal("an edge names a source outside its batch");
  if (targets_.size() + edges.size() >= kUnexpanded)
    return Status::not_supported("a pivot recursion with 2^32 or more edges between its keys");
  forget_followers();
  std::size_t at = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto begin = static_cast<std::uint32_t>(targets_.size());
    for (; at < edges.size() && edges[at].source == i; ++at) {
      reserve_slot(edges[at].target);
      if (edges[at].mask != kNoMask) note_mask(edges[at].mask);
      targets_.push_back(edges[at].target);
      if (mask_count() != 0) masks_.push_back(edges[at].mask);
    }
    extents_[batch[i]] = {begin, static_cast<std::uint32_t>(targets_.size())};
    ++expanded_;
  }
  return Status::ok();
}

void SlotGraph::note_mask(std::uint32_t code) {
  const MaskId mask = code / 2;
  if (mask_seen_.empty()) masks_.assign(targets_.size(), kNoMask);
  if (mask >= mask_seen_.size()) mask_seen_.resize(static_cast<std::size_t>(mask) + 1, 0);
  if (mask_seen_[mask] != 0) return;
  mask_seen_[mask] = 1;
  new_masks_.push_back(mask);
}

std::vector<MaskId> SlotGraph::take_new_masks() { return std::exchange(new_masks_, {}); }

// Most pivots pass an edge that holds the members of its mask back; but behind too many of them
// there may be what no pivot ever reaches.
bool SlotGraph::is_followed(std::uint32_t edge, std::uint64_t& most_beyond_masks) const {
  if (masks_.empty() || masks_[edge] == kNoMask) return true;
  if (masks_[edge] % 2 != static_cast<std::uint32_t>(MaskSense::kDropMembers) ||
      most_beyond_masks == 0)
    return false;
  --most_beyond_masks;
  return true;
}

Status SlotGraph::discover(const std::vector<SlotId>& starts, std::uint64_t depth,
                           const std::function<Status()>& before_batch) {
  std::vector<std::uint8_t> seen(extents_.size(), 0);
  std::vector<SlotId> layer;
  for (const SlotId slot : starts)
    if (std::exchange(seen[slot], 1) == 0) layer.push_back(slot);
  std::uint64_t most_beyond_masks = kMostBeyondMasks + kMostBeyondMasksPerSlot * extents_.size();
  std::vector<SlotId> next;
  for (; depth != 0 && !layer.empty() && !is_closed(); --depth) {
    for (std::size_t at = 0; at < layer.size(); at += kMostInBatch) {
      STRATALOG_RETURN_IF_ERROR(before_batch());
      const auto batch =
          std::span(layer).subspan(at, std::min<std::size_t>(kMostInBatch, layer.size() - at));
      next.assign(batch.begin(), batch.end());
      STRATALOG_RETURN_IF_ERROR(expand(next));
    }
    seen.resize(extents_.size(), 0);
    next.clear();
    for (const SlotId slot : layer)
      for (std::uint32_t e = extents_[slot].begin; e != extents_[slot].end; ++e)
        if (seen[targets_[e]] == 0 && is_followed(e, most_beyond_masks)) {
          seen[targets_[e]] = 1;
          next.push_back(targets_[e]);
        }
    layer.swap(next);
  }
  return Status::ok();
}

ReverseEdges SlotGraph::reverse_edges() const {
  ReverseEdges reverse;
  reverse.begin.assign(extents_.size() + 2, 0);
  for (const SlotId target : targets_) ++reverse.begin[target + 2];
  for (std::size_t s = 2; s < reverse.begin.size(); ++s) reverse.begin[s] += reverse.begin[s - 1];
  reverse.sources.resize(targets_.size());
  for (SlotId slot = 0; slot < extents_.size(); ++slot)
    for (std::uint32_t e = extents_[slot].begin; e != extents_[slot].end; ++e)
      reverse.sources[reverse.begin[targets_[e] + 1]++] = slot;
  return reverse;
}

void SlotGraph::find_followers() {
  if (!is_closed() || !masks_.empty() || has_followers()) return;
  // Of a slot that several edges lead to, the last of them.
  std::vector<SlotId> leaders(extents_.size(), kNoLeader);
  std::vector<std::uint8_t> edges_into(extents_.size(), 0);
  for (SlotId slot = 0; slot < extents_.size(); ++slot)
    for (std::uint32_t e = extents_[slot].begin; e != extents_[slot].end; ++e) {
      leaders[targets_[e]] = slot;
      std::uint8_t& into = edges_into[targets_[e]];
      into = static_cast<std::uint8_t>(std::min(into + 1, 2));
    }
  std::size_t followers = 0;
  for (SlotId slot = 0; slot < extents_.size(); ++slot) {
    if (edges_into[slot] == 1 && extents_[slot].begin == extents_[slot].end)
      ++followers;
    else
      leaders[slot] = kNoLeader;
  }
  if (followers < extents_.size() / kMostSlotsPerFollower + 1) return;
  leaders_ = std::move(leaders);
  first_followers_.reserve(extents_.size());
  for (const Extent& extent : extents_) {
    const auto begin = targets_.begin() + extent.begin;
    const auto first =
        std::stable_partition(begin, targets_.begin() + extent.end,
                              [this](SlotId slot) { return leaders_[slot] == kNoLeader; });
    first_followers_.push_back(extent.begin + static_cast<std::uint32_t>(first - begin));
  }
}

void SlotGraph::forget_followers() {
  leaders_ = {};
  first_followers_ = {};
}

void SlotGraph::renumber(std::span<const SlotId> number) {
  forget_followers();
  std::vector<SlotId> old(number.size());  // by new number
  for (SlotId slot = 0; slot < number.size(); ++slot) old[number[slot]] = slot;
  std::vector<Extent> extents(extents_.size());
  std::vector<SlotId> targets;
  targets.reserve(targets_.size());
  std::vector<std::uint32_t> masks;
  masks.reserve(masks_.size());
  std::vector<std::uint64_t> edges;  // of a slot: new target, then mask, in one number
  for (SlotId slot = 0; slot < extents.size(); ++slot) {
    const Extent from = extents_[old[slot]];
    if (!from.is_expanded()) continue;
    edges.clear();
    for (std::uint32_t e = from.begin; e != from.end; ++e)
      edges.push_back(std::uint64_t{number[targets_[e]]} << 32U |
                      (masks_.empty() ? kNoMask : masks_[e]));
    std::sort(edges.begin(), edges.end());
    extents[slot].begin = static_cast<std::uint32_t>(targets.size());
    for (const std::uint64_t edge : edges) {
      targets.push_back(static_cast<SlotId>(edge >> 32U));
      if (!masks_.empty()) masks.push_back(static_cast<std::uint32_t>(edge));
    }
    extents[slot].end = static_cast<std::uint32_t>(targets.size());
  }
  extents_ = std::move(extents);
  targets_ = std::move(targets);
  masks_ = std::move(masks);
}

std::uint64_t SlotGraph::memory_bytes() const {
  return extents_.capacity() * sizeof(Extent) + targets_.capacity() * sizeof(SlotId) +
         masks_.capacity() * sizeof(std::uint32_t) + mask_seen_.capacity() +
         leaders_.capacity() * sizeof(SlotId) + first_followers_.capacity() * sizeof(std::uint32_t);
}

}  // namespace stratalog
