// SPDX-License-Identifier: Apache-2.0
#include "policy/overlap.h"

#include <fmt/format.h>

#include <vector>

#include "policy/ladder_plan.h"

namespace stratalog {
namespace {

std::string_view what_happens(OverlapWay way) {
  switch (way) {
    case OverlapWay::kNone:
      return "the evaluation waits";
    case OverlapWay::kWrite:
      return "packed at the safe point, written beside the evaluation";
    case OverlapWay::kPack:
      return "packed and written beside the evaluation";
  }
  return "";
}

OverlapPlan plan_for(OverlapWay way, const std::string& why) {
  return {.way = way,
          .reason = fmt::format("{}: {}, {}", overlap_name(way), what_happens(way), why)};
}

// In a mode that can do everything.
OverlapPlan plan_anywhere(const OverlapFacts& facts, std::optional<OverlapWay> wish) {
  if (wish) return plan_for(*wish, "as asked");
  const std::string share =
      fmt::format("{} rank{} on {} core{}", facts.ranks, facts.ranks == 1 ? "" : "s", facts.cores,
                  facts.cores == 1 ? "" : "s");
  if (facts.cores > facts.ranks) return plan_for(OverlapWay::kPack, share + " leave one free");
  // Packing at the safe point would wait for the store once the buffer is full: longer than a
  // thread that takes turns with the evaluation disturbs it.
  if (facts.last_bytes > facts.buffer_bytes && facts.last_write_seconds > facts.last_pack_seconds)
    return plan_for(
        OverlapWay::kPack,
        fmt::format(
            "{} leave none free, but a rank wrote {} last time, more slowly than it packed, "
            "and only {} may wait in memory",
            share, bytes_text(facts.last_bytes), bytes_text(facts.buffer_bytes)));
  return plan_for(OverlapWay::kWrite, share + " leave none free for packing");
}

}  // namespace

std::string_view overlap_name(OverlapWay way) {
  switch (way) {
    case OverlapWay::kNone:
      return "none";
    case OverlapWay::kWrite:
      return "write";
    case OverlapWay::kPack:
      return "pack";
  }
  return "";
}

OverlapWay most_overlap(CheckpointMode mode) {
  switch (mode) {
    case CheckpointMode::kFilePerProcess:
    case CheckpointMode::kShared:
    case CheckpointMode::kHdf5Direct:
    case CheckpointMode::kHdf5Streams:
    case CheckpointMode::kHdf5Auto:
    case CheckpointMode::kAuto:
      return OverlapWay::kPack;
    case CheckpointMode::kHdf5:
    case CheckpointMode::kSharedOpt:
    case CheckpointMode::kHdf5Opt:
      return OverlapWay::kNone;
  }
  return OverlapWay::kNone;
}

std::string modes_that_overlap(OverlapWay way) {
  std::vector<std::string_view> names;
  for (const CheckpointMode mode : all_modes())
    if (most_overlap(mode) >= way) names.push_back(mode_name(mode));
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  return text;
}

OverlapPlan limit_overlap(const OverlapPlan& plan, CheckpointMode mode) {
  if (plan.way == OverlapWay::kNone || most_overlap(mode) != OverlapWay::kNone) return plan;
  return plan_for(OverlapWay::kNone,
                  fmt::format("ranks write together in mode {}", mode_name(mode)));
}

bool packs_with_calls(CheckpointMode mode, std::uint64_t edge_alignment) {
  return mode == CheckpointMode::kShared || mode == CheckpointMode::kHdf5Streams ||
         (mode == CheckpointMode::kHdf5Direct && edge_alignment > 1);
}

OverlapPlan plan_overlap(const OverlapFacts& facts, std::optional<OverlapWay> wish,
                         CheckpointMode mode) {
  return limit_overlap(plan_anywhere(facts, wish), mode);
}

}  // namespace stratalog
