// SPDX-License-Identifier: Apache-2.0
#include "relation/packed_tuples.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "model/radix_sort.h"

namespace stratalog {

template <typename Key>
std::optional<PackedTuples<Key>> PackedTuples<Key>::pack(std::span<const Cell> tuples,
                                                         std::uint32_t arity) {
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
    Key key = 0;
    for (std::uint32_t c = 0; c < arity; ++c) {
      const Column& column = packed.columns_[c];
      key |= static_cast<Key>(tuples[at + c] - column.lowest) << column.shift;
    }
    packed.keys_.push_back(key);
  }
  return packed;
}

template <typename Key>
void PackedTuples<Key>::sort() {
  if (!std::ranges::is_sorted(keys_)) {
    std::vector<Key> space;
    radix_sort(keys_, space, [](Key key) { return static_cast<std::uint64_t>(key); });
    if constexpr (sizeof(Key) > sizeof(std::uint64_t))
      radix_sort(keys_, space, [](Key key) { return static_cast<std::uint64_t>(key >> 64); });
  }
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
}

template class PackedTuples<std::uint64_t>;
template class PackedTuples<WideKey>;

}  // namespace stratalog
