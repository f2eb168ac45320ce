// SPDX-License-Identifier: Apache-2.0
// BucketCount: counts the rows of a dealt relation by bucket on all ranks, and plans how they
// should be dealt. Several buckets a rank, so that a rank with many middling keys can give some
// away without splitting any. A rank tells the homes of its buckets what it has of them; only where
// the largest sum of a home is too much, all ranks hear the sums, and what those of homes with too
// much are made of: nobody needs to know all buckets of thousands of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "model/tuple_group.h"
#include "route/bucket_map.h"

namespace stratalog::datalog {

class BucketCount {
 public:
  static constexpr std::uint32_t kBucketsPerRank = 8;

  // Of tuples of `arity` columns, dealt by `columns` to `ranks` ranks.
  BucketCount(std::uint32_t arity, std::vector<std::uint32_t> columns, int ranks);

  // `order`: the declared columns in the order of the group's.
  void add(std::span<const std::uint32_t> order, const TupleGroup& group);
  // Collective. Nothing if it lies evenly enough whole.
  Result<std::optional<BucketMap>> plan(Comm& comm, const BucketOptions& options) const;

 private:
  static constexpr std::uint32_t kPageBuckets = 64;
  using Page = std::array<std::uint64_t, kPageBuckets>;

  std::uint64_t& rows_of_key();
  std::vector<BucketRows> told_rows() const;
  // Collective. `mine`, in parcels for the homes; `most`: rows of a home that are not too much.
  Result<std::optional<BucketMap>> plan_by_homes(Comm& comm, std::span<const BucketRows> mine,
                                                 std::span<const Parcel> parcels,
                                                 std::uint64_t most,
                                                 const BucketOptions& options) const;

  std::vector<std::uint32_t> columns_;
  BucketMap even_;
  std::vector<std::unique_ptr<Page>> pages_;  // of buckets, where there are rows
  std::vector<Cell> declared_;
  std::vector<Cell> key_;
};

}  // namespace stratalog::datalog
