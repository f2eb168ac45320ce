// SPDX-License-Identifier: Apache-2.0
// for_each_sorted_range: a distributed sort in pieces. The rows of all ranks are cut by sampled
// splitters into passes and, in a pass, into one range per rank; every rank collects, sends, sorts
// and hands on its range. So memory stays bounded by the pass, and concatenating (pass, rank) gives
// all rows in order. Collective.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/facts/tuple_source.h"

namespace stratalog::datalog {

// This rank's next range, sorted. Called equally often on all ranks, also with no rows; may be
// collective. Its Status must already be agreed on.
using RangeConsumer = std::function<Status(std::span<const OrderCode> rows)>;

struct SortLimits {
  // Rows per rank and pass that splitters aim at; four times as many where a source cannot skip to
  // a range.
  std::uint64_t rows_per_pass = std::uint64_t{1} << 22;
};

// Collective; at least one pass. `source.width` must be equal on all ranks. Ends with the same
// Status on all.
Status for_each_sorted_range(Comm& comm, const TupleSource& source, const SortLimits& limits,
                             const RangeConsumer& consume);

// Sorts rows of `width` codes lexicographically. Local.
void sort_rows(CodeRows& rows, std::uint32_t width);

}  // namespace stratalog::datalog
