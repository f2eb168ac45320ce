// SPDX-License-Identifier: Apache-2.0
#include "relation/packed_tuples.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "model/radix_sort.h"

namespace stratalog {
namespace {

constexpr std::uint32_t kMostBits = 63;

}  // namespace

std::optional<PackedTuples> PackedTuples::pack(std::span<const Cell> tuples, std::uint32_t arity) {
  std::vector<Cell> highest(arity, 0);
  PackedTuples packed;
  packed.columns_.assign(arity, {.lowest = std::numeric_limits<Cell>::max()});
  for (std::size_t at = 0; at < tuples.size(); at += arity)
    for (std::uint32_t c = 0; c < arity; ++c) {
      Cell& lowest = packed.columns_[c].lowest;
      lowest = std::min(lowest, tuples[at + c]);
      highest[c] = std::max(highest[c], tuples[at + c]);
    }
  std::uint32_t bits = 0;
  for (std::uint32_t c = arity; c-- > 0;) {
    Column& column = packed.columns_[c];
    const auto wide = static_cast<std::uint32_t>(std::bit_width(highest[c] - column.lowest));
    column.mask = static_cast<std::uint32_t>((std::uint64_t{1} << wide) - 1);
    column.shift = bits;
    bits += wide;
    if (bits > kMostBits) return std::nullopt;
  }
  packed.keys_.reserve(tuples.size() / arity);
  for (std::size_t at = 0; at < tuples.size(); at += arity) {
    std::uint64_t key = 0;
    for (std::uint32_t c = 0; c < arity; ++c) {
      const Column& column = packed.columns_[c];
      key |= static_cast<std::uint64_t>(tuples[at + c] - column.lowest) << column.shift;
    }
    packed.keys_.push_back(key);
  }
  return packed;
}

void PackedTuples::sort() {
  if (!std::ranges::is_sorted(keys_)) radix_sort(keys_, [](std::uint64_t key) { return key; });
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
}

}  // namespace stratalog
