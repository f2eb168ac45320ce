// SPDX-License-Identifier: Apache-2.0
#include "model/multiset_hash.h"

#include <bit>

#include "model/set_walk.h"

namespace stratalog {

void GroupHasher::move_window(Cell base) {
  const std::uint32_t last = column_order_.back();
  for (std::uint32_t i = 0; i < kWindow; ++i) window_[i] = column_factors(base + i, last);
  window_base_ = base;
  has_window_ = true;
}

MultisetHash GroupHasher::hash(const TupleGroup& group) {
  const SetView& set = group.set;
  const bool fits = (set.kind == SetKind::kBitmap && set.words.size() * 64 <= kWindow) ||
                    (set.kind == SetKind::kOffsets && set.offsets.back() < kWindow);
  if (!fits) return hash_group(group, column_order_);
  if (!has_window_ || window_base_ != set.base) move_window(set.base);
  MultisetHash sum;
  const auto add = [&](std::uint32_t offset) {
    sum.low += window_[offset].low;
    sum.high += window_[offset].high;
  };
  if (set.kind == SetKind::kOffsets) {
    for (const std::uint16_t offset : set.offsets) add(offset);
  } else {
    for (std::size_t w = 0; w < set.words.size(); ++w)
      for (std::uint64_t word = set.words[w]; word != 0; word &= word - 1)
        add(static_cast<std::uint32_t>((w * 64) +
                                       static_cast<std::uint64_t>(std::countr_zero(word))));
  }
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < group.prefix.size(); ++i) {
    const ColumnFactors f = column_factors(group.prefix[i], column_order_[i]);
    product.low *= f.low;
    product.high *= f.high;
  }
  return {.low = product.low * sum.low, .high = product.high * sum.high};
}

MultisetHash hash_group(const TupleGroup& group, std::span<const std::uint32_t> column_order) {
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < group.prefix.size(); ++i) {
    const ColumnFactors f = column_factors(group.prefix[i], column_order[i]);
    product.low *= f.low;
    product.high *= f.high;
  }
  const std::uint32_t last = column_order[column_order.size() - 1];
  MultisetHash sum;
  walk_set(group.set, [&](Cell cell) {
    const ColumnFactors f = column_factors(cell, last);
    sum.low += f.low;
    sum.high += f.high;
  });
  return {.low = product.low * sum.low, .high = product.high * sum.high};
}

MultisetHash hash_tuple(std::span<const Cell> tuple) {
  MultisetHash product{.low = 1, .high = 1};
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    const ColumnFactors f = column_factors(tuple[i], static_cast<std::uint32_t>(i));
    product.low *= f.low;
    product.high *= f.high;
  }
  return product;
}

}  // namespace stratalog
