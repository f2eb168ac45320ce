// SPDX-License-Identifier: Apache-2.0
// TupleSample: of some tuples of a relation, how many different values pairs of its columns have:
// for the planner. What ranks have counted can be united. Local.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "comm/comm.h"
#include "datalog/evaluate/distinct_count.h"
#include "datalog/plan/column_pairs.h"
#include "datalog/plan/frequent_values.h"
#include "model/cell.h"

namespace stratalog::datalog {

// So many tuples of a relation are looked at, of all ranks together.
inline constexpr std::uint64_t kSampledTuples = 1U << 15;
// Of smaller relations no order matters.
inline constexpr std::uint64_t kLeastSampled = 256;
// One in so many of them, where the relation has `rows`.
inline std::uint64_t sampling_step(std::uint64_t rows) {
  return rows / kSampledTuples + (rows % kSampledTuples == 0 ? 0 : 1);
}

class TupleSample {
 public:
  explicit TupleSample(std::vector<ColumnPair> pairs);

  bool is_wanted() const { return !pairs_.empty(); }
  // `cell_at(column)` is the cell of a declared column.
  template <typename CellAt>
  void add(const CellAt& cell_at) {
    ++tuples_;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      hashes_[c] = value_hash(cell_at(columns_[c]));
      mark_distinct(hashes_[c], bitmap(c));
    }
    for (std::size_t p = 0; p < pairs_.size(); ++p)
      mark_distinct(hash_of_both(hashes_[firsts_[p]], hashes_[seconds_[p]]),
                    bitmap(columns_.size() + p));
  }

  // What is united with that of other ranks: bits, and the number of tuples.
  std::span<std::uint64_t> bits() { return bitmaps_; }
  std::uint64_t& tuples() { return tuples_; }

  // Of a relation of so many rows: the pairs whose columns depend on each other. Where only a part
  // was looked at, pairs that hardly ever came twice tell nothing.
  std::vector<ColumnPair> dependent_pairs(std::uint64_t rows) const;

 private:
  std::span<std::uint64_t> bitmap(std::size_t which) {
    return std::span(bitmaps_).subspan(which * kDistinctWords, kDistinctWords);
  }
  std::uint64_t count(std::size_t which) const {
    return count_distinct(std::span(bitmaps_).subspan(which * kDistinctWords, kDistinctWords));
  }

  // Of hashes that are well mixed; which is first matters.
  static std::uint64_t hash_of_both(std::uint64_t first, std::uint64_t second) {
    constexpr unsigned kUpperBits = 32;
    return ((first ^ std::rotl(second, 21)) * 0x9E3779B97F4A7C15ULL) >> kUpperBits;
  }

  std::vector<ColumnPair> pairs_;
  std::vector<std::uint32_t> columns_;  // that stand in pairs
  std::vector<std::size_t> firsts_;  // of each pair, in `columns_`
  std::vector<std::size_t> seconds_;
  std::vector<std::uint64_t> hashes_;  // of the tuple at hand
  std::vector<std::uint64_t> bitmaps_;  // of each of those columns, then of each pair
  std::uint64_t tuples_ = 0;
};

// Collective: two reductions, if there are any.
Status unite_samples(Comm& comm, std::span<TupleSample> samples);

}  // namespace stratalog::datalog
