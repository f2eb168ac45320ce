// SPDX-License-Identifier: Apache-2.0
// ColumnSketches: of columns of relations, about how many distinct values they hold and which of
// them many rows have, for the planner. All that is counted can be united with what other ranks
// counted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "datalog/evaluate/distinct_count.h"
#include "datalog/plan/frequent_values.h"
#include "model/cell.h"

namespace stratalog::datalog {

class ColumnSketches {
 public:
  explicit ColumnSketches(std::size_t columns)
      : bitmaps_(columns * kDistinctWords), rows_(columns * kValueBuckets) {}

  // A value of a column, which so many rows have.
  void add(std::size_t column, Cell cell, std::uint64_t rows) {
    const std::uint64_t hash = value_hash(cell);
    mark_distinct(hash, std::span(bitmaps_).subspan(column * kDistinctWords, kDistinctWords));
    rows_[(column * kValueBuckets) + bucket_of_hash(hash)] += rows;
  }

  // Collective: two reductions.
  Status unite(Comm& comm) {
    STRATALOG_RETURN_IF_ERROR(comm.allreduce(bitmaps_, ReduceOp::kBitOr));
    return comm.allreduce(rows_, ReduceOp::kSum);
  }

  std::uint64_t distinct(std::size_t column) const {
    return count_distinct(std::span(bitmaps_).subspan(column * kDistinctWords, kDistinctWords));
  }
  std::vector<FrequentValue> frequent(std::size_t column) const {
    return frequent_values(std::span(rows_).subspan(column * kValueBuckets, kValueBuckets),
                           distinct(column));
  }

 private:
  std::vector<std::uint64_t> bitmaps_;
  std::vector<std::uint64_t> rows_;  // by bucket
};

}  // namespace stratalog::datalog
