// SPDX-License-Identifier: Apache-2.0
#include "policy/overlap.h"

#include <fmt/format.h>

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

OverlapPlan plan_overlap(const OverlapFacts& facts, std::optional<OverlapWay> wish) {
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

}  // namespace stratalog
