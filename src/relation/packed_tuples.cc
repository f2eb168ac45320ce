// SPDX-License-Identifier: Apache-2.0
#include "relation/packed_tuples.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

#include "model/radix_sort.h"

namespace stratalog {

ColumnRanges::ColumnRanges(std::span<const Cell> tuples, std::uint32_t arity)
    : columns_(arity, {.lowest = std::numeric_limits<Cell>::max()}) {
  std::vector<Cell> highest(arity, 0);
  for (std::size_t at = 0; at < tuples.size(); at += arity)
    for (std::uint32_t c = 0; c < arity; ++c) {
      Cell& lowest = columns_[c].lowest;
      lowest = std::min(lowest, tuples[at + c]);
      highest[c] = std::max(highest[c], tuples[at + c]);
    }
  for (std::uint32_t c = arity; c-- > 0;) {
    Column& column = columns_[c];
    const auto wide = static_cast<std::uint32_t>(std::bit_width(highest[c] - column.lowest));
    column.mask = static_cast<std::uint32_t>((std::uint64_t{1} << wide) - 1);
    column.shift = bits_;
    bits_ += wide;
  }
}

template <typename Key>
PackedTuples<Key>::PackedTuples(std::span<const Cell> tuples, const ColumnRanges& ranges)
    : ranges_(ranges) {
  assert(ranges.bits() <= kMostBits);
  const auto columns = ranges_.columns();
  keys_.reserve(tuples.size() / columns.size());
  for (std::size_t at = 0; at < tuples.size(); at += columns.size()) {
    Key key = 0;
    for (std::size_t c = 0; c < columns.size(); ++c)
      key |= static_cast<Key>(tuples[at + c] - columns[c].lowest) << columns[c].shift;
    keys_.push_back(key);
  }
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

namespace {

template <typename Key>
void keep_distinct_keys(WordBuffer<Cell>& tuples, const ColumnRanges& ranges) {
  PackedTuples<Key> packed(tuples.words(), ranges);
  packed.sort();
  tuples.clear();
  const auto arity = static_cast<std::uint32_t>(ranges.columns().size());
  Cell* to = tuples.extend(packed.keys().size() * arity);
  for (const Key key : packed.keys())
    for (std::uint32_t c = 0; c < arity; ++c) *to++ = packed.cell(key, c);
}

}  // namespace

bool keep_distinct(WordBuffer<Cell>& tuples, std::uint32_t arity) {
  if (tuples.empty()) return true;
  const ColumnRanges ranges(tuples.words(), arity);
  if (ranges.bits() > PackedTuples<WideKey>::kMostBits) return false;
  if (ranges.bits() > PackedTuples<std::uint64_t>::kMostBits)
    keep_distinct_keys<WideKey>(tuples, ranges);
  else
    keep_distinct_keys<std::uint64_t>(tuples, ranges);
  return true;
}

template class PackedTuples<std::uint64_t>;
template class PackedTuples<WideKey>;

}  // namespace stratalog
