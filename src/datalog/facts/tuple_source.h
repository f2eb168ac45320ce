// SPDX-License-Identifier: Apache-2.0
// TupleSource: where output gets a rank's tuples from, as rows of order codes: columns, or a
// relation walked group by group, which is how relations larger than memory allows for copies are
// written range by range. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/facts/value_order.h"
#include "model/tuple_group.h"

namespace stratalog::datalog {

// Rows of `width` codes back to back.
using CodeRows = std::vector<OrderCode>;

// Rows r with from <= r < to, column by column; an empty span has no bound.
struct RowRange {
  std::span<const OrderCode> from;
  std::span<const OrderCode> to;
};

struct TupleSource {
  std::uint64_t rows = 0;  // on this rank
  std::uint32_t width = 0;  // the arity, >= 1
  // Whether a range is found without looking at every tuple.
  bool skips_by_range = false;
  // Appends every `stride`-th row (>= 1), from the first on.
  std::function<Status(std::uint64_t stride, CodeRows& out)> sample;
  std::function<Status(const RowRange& range, CodeRows& out)> collect;
};

// Both borrow their arguments. Arity >= 1.
TupleSource source_of_columns(const TupleColumns& tuples, std::span<const ColumnOrder> orders);
TupleSource source_of_image(const RelationImage& image, std::span<const ColumnOrder> orders,
                            std::uint64_t rows);
// The image's tuples, counted group by group: images made for output need not say how many they
// hold.
Result<std::uint64_t> count_rows(const RelationImage& image);

}  // namespace stratalog::datalog
