// SPDX-License-Identifier: Apache-2.0
// The partition function: its values are part of the checkpoint format, and it must spread what
// programs really contain (dense numbers, strides, few distinct values in one column).
#include "route/cell_hash.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace stratalog {
namespace {

TEST(CellHash, ValuesAreFrozen) {
  // Recorded once. If this fails, checkpoints of older versions would be read on the wrong ranks:
  // give the function a new name instead of changing these.
  const std::array<Cell, 3> cells{1, 2, 0xffffffffU};
  EXPECT_EQ(kPartitionFunction, "stratalog-mulxor64-1");
  EXPECT_EQ(hash_cells({}), 0x593b55aab264b1f7ULL);
  EXPECT_EQ(hash_cells(std::span(cells).first(1)), 0x5b62c02c6e7b8e50ULL);
  EXPECT_EQ(hash_cells(cells), 0x9b517063cc04c4c8ULL);
  EXPECT_EQ(hash_cells(cells, kSubBucketSeed), 0x831e00bcb56001eeULL);
}

TEST(CellHash, ColumnsHashLikeTheirCopy) {
  const std::array<Cell, 4> tuple{10, 20, 30, 40};
  const std::array<std::uint32_t, 2> columns{3, 1};
  const std::array<Cell, 2> copy{40, 20};
  EXPECT_EQ(hash_columns(tuple, columns), hash_cells(copy));
  EXPECT_NE(hash_cells(copy), hash_cells(std::array<Cell, 2>{20, 40}));
}

TEST(CellHash, ScaleCoversAllPartsAndNoMore) {
  EXPECT_EQ(scale_hash(0, 7), 0U);
  EXPECT_EQ(scale_hash(~std::uint64_t{0}, 7), 6U);
  EXPECT_EQ(scale_hash(~std::uint64_t{0}, 0xffffffffU), 0xfffffffeU);
  EXPECT_EQ(scale_hash(~std::uint64_t{0}, 1), 0U);
}

// The largest deviation of a part from the mean, in standard deviations of a fair throw.
double worst_deviation(std::uint32_t parts, std::uint32_t count,
                       const std::function<std::uint64_t(std::uint32_t)>& hash_of) {
  std::vector<double> load(parts, 0);
  for (std::uint32_t i = 0; i < count; ++i) load[scale_hash(hash_of(i), parts)] += 1;
  const double mean = static_cast<double>(count) / parts;
  double worst = 0;
  for (const double rows : load) worst = std::max(worst, std::abs(rows - mean) / std::sqrt(mean));
  return worst;
}

TEST(CellHash, SpreadsDenseStridedAndRepeatedColumns) {
  for (const std::uint32_t parts : {2U, 3U, 7U, 64U, 1000U}) {
    const std::uint32_t count = 400 * parts;
    for (const std::uint32_t stride : {1U, 2U, 64U, 1000U, 65536U}) {
      if (std::uint64_t{count} * stride > 0xffffffffU) continue;  // the values would repeat
      const auto deviation = worst_deviation(parts, count, [&](std::uint32_t i) {
        return hash_cells(std::array<Cell, 1>{i * stride});
      });
      EXPECT_LT(deviation, 5.0) << parts << " parts, stride " << stride;
    }
    const auto pairs = worst_deviation(parts, count, [](std::uint32_t i) {
      return hash_cells(std::array<Cell, 2>{i % 10, i / 10});
    });
    EXPECT_LT(pairs, 5.0) << parts << " parts";
  }
}

TEST(CellHash, SubBucketsOfOneBucketAreSpread) {
  // Tuples whose hash falls into bucket 0 of 64 must still fall into all sub-buckets.
  const auto deviation = worst_deviation(16, 16 * 400, [](std::uint32_t i) {
    static std::vector<Cell> in_bucket;
    for (Cell c = in_bucket.empty() ? 0 : in_bucket.back() + 1; in_bucket.size() <= i; ++c)
      if (scale_hash(hash_cells(std::array<Cell, 1>{c}), 64) == 0) in_bucket.push_back(c);
    return hash_cells(std::array<Cell, 1>{in_bucket[i]}, kSubBucketSeed);
  });
  EXPECT_LT(deviation, 5.0);
}

}  // namespace
}  // namespace stratalog
