// SPDX-License-Identifier: Apache-2.0
// Fragments: the bounded pieces into which the set of a group is cut before it is encoded, so that
// encoders and decoders need only fixed space however large a set is. Views into the group's own
// memory; nothing is copied. Pure; local.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/status.h"
#include "model/tuple_group.h"

namespace stratalog {

struct FragmentLimits {
  std::size_t elements = 16384;  // of an array, of offsets or of runs; >= 1
  std::size_t words = 1024;  // of a bitmap; >= 1
};

inline std::uint64_t count_bits(std::span<const std::uint64_t> words) {
  std::uint64_t sum = 0;
  for (const std::uint64_t word : words) sum += static_cast<std::uint64_t>(std::popcount(word));
  return sum;
}

// Runs are cut into whole ones and, where a single one is too long, into pieces of it.
template <typename Visit>
Status for_each_run_fragment(const SetView& set, const FragmentLimits& limits, Visit&& visit) {
  SetView piece = set;
  std::size_t begin = 0;
  piece.count = 0;
  const auto give = [&](std::size_t end) -> Status {
    piece.offsets = set.offsets.subspan(begin, end - begin);
    const Status status = piece.count == 0 ? Status() : visit(piece);
    begin = end;
    piece.count = 0;
    return status;
  };
  for (std::size_t i = 0; i < set.offsets.size(); i += 2) {
    const std::size_t length = std::size_t{set.offsets[i + 1]} + 1;
    if (piece.count + length > limits.elements) STRATALOG_RETURN_IF_ERROR(give(i));
    if (length > limits.elements) {
      for (std::size_t at = 0; at < length; at += limits.elements) {
        const std::size_t taken = std::min(limits.elements, length - at);
        const std::uint16_t run[2] = {static_cast<std::uint16_t>(set.offsets[i] + at),
                                      static_cast<std::uint16_t>(taken - 1)};
        SetView one = set;
        one.offsets = run;
        one.count = taken;
        STRATALOG_RETURN_IF_ERROR(visit(one));
      }
      begin = i + 2;
      continue;
    }
    piece.count += length;
  }
  return give(set.offsets.size());
}

// Calls visit(SetView) -> Status for pieces of `set` in ascending order, none empty; stops at the
// first error.
template <typename Visit>
Status for_each_fragment(const SetView& set, const FragmentLimits& limits, Visit&& visit) {
  SetView piece = set;
  switch (set.kind) {
    case SetKind::kArray:
      if (set.values.size() <= limits.elements) return set.values.empty() ? Status() : visit(set);
      for (std::size_t at = 0; at < set.values.size(); at += limits.elements) {
        piece.values = set.values.subspan(at, std::min(limits.elements, set.values.size() - at));
        piece.count = piece.values.size();
        STRATALOG_RETURN_IF_ERROR(visit(piece));
      }
      break;
    case SetKind::kOffsets:
      if (set.offsets.size() <= limits.elements) return set.offsets.empty() ? Status() : visit(set);
      for (std::size_t at = 0; at < set.offsets.size(); at += limits.elements) {
        piece.offsets = set.offsets.subspan(at, std::min(limits.elements, set.offsets.size() - at));
        piece.count = piece.offsets.size();
        STRATALOG_RETURN_IF_ERROR(visit(piece));
      }
      break;
    case SetKind::kRuns:
      if (set.count <= limits.elements) return set.count == 0 ? Status() : visit(set);
      return for_each_run_fragment(set, limits, visit);
    case SetKind::kBitmap:
      if (set.words.size() <= limits.words) return set.count == 0 ? Status() : visit(set);
      for (std::size_t at = 0; at < set.words.size(); at += limits.words) {
        piece.words = set.words.subspan(at, std::min(limits.words, set.words.size() - at));
        piece.base = static_cast<Cell>(set.base + (at * 64));
        piece.count = count_bits(piece.words);
        if (piece.count != 0) STRATALOG_RETURN_IF_ERROR(visit(piece));
      }
      break;
  }
  return Status::ok();
}

}  // namespace stratalog
