// SPDX-License-Identifier: Apache-2.0
#include "model/multiset_hash.h"

#include "model/set_walk.h"

namespace stratalog {

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
