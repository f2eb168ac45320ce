// SPDX-License-Identifier: Apache-2.0
// BucketMap: which rank holds which tuple of a hash-partitioned relation. A tuple's join columns
// hash to a bucket; a bucket with too many rows is split into sub-buckets by the hash of the other
// columns (RA-checkpoint, section II.B). plan_buckets is pure: equal inputs give equal maps on
// every rank. Does not move tuples. Local.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "route/cell_hash.h"

namespace stratalog {

struct BucketOptions {
  // A bucket is split when its rows exceed this share of a rank's mean load. At least 100. Below
  // 200, so that two ranks, of which none can hold more than twice the mean, share a heavy bucket.
  std::uint32_t skew_percent = 150;
  // The most sub-buckets of a bucket; 0 means as many as ranks. 1 for relations without columns
  // beside the join columns.
  std::uint32_t max_sub_buckets = 0;
  // Below so many rows in all ranks nothing is split or moved: a split costs every round, imbalance
  // of little is little.
  std::uint64_t min_rows = 4096;
};

class BucketMap {
 public:
  // Bucket b whole on rank b mod ranks. Requires ranks >= 1.
  static BucketMap trivial(std::uint32_t buckets, int ranks);

  int ranks() const { return ranks_; }
  std::uint32_t buckets() const { return buckets_; }
  // Every bucket is whole and on rank bucket mod ranks.
  bool is_trivial() const { return first_.empty(); }

  // The bucket of a hash of join columns (hash_cells).
  std::uint32_t bucket_of(std::uint64_t hash) const { return scale_hash(hash, buckets_); }
  bool is_split(std::uint32_t bucket) const { return sub_buckets(bucket) > 1; }
  std::uint32_t sub_buckets(std::uint32_t bucket) const {
    return is_trivial() ? 1 : first_[bucket + 1] - first_[bucket];
  }
  // The rank of a tuple; `sub_hash` (hash_cells of its other columns with kSubBucketSeed) matters
  // in split buckets only.
  int owner(std::uint32_t bucket, std::uint64_t sub_hash) const {
    if (is_trivial()) return home_[bucket % static_cast<std::uint32_t>(ranks_)];
    const std::uint32_t begin = first_[bucket];
    return rank_of_sub_[begin + scale_hash(sub_hash, first_[bucket + 1] - begin)];
  }
  // All ranks that hold a part of the bucket, each once, in the order of the sub-buckets: whom a
  // tuple of the other relation must reach in the intra-bucket exchange.
  std::span<const int> ranks_of(std::uint32_t bucket) const {
    if (is_trivial()) return {&home_[bucket % static_cast<std::uint32_t>(ranks_)], 1};
    return std::span(rank_of_sub_).subspan(first_[bucket], sub_buckets(bucket));
  }

  // One line a bucket that is not whole at home, for golden tests and `explain`.
  std::string to_text() const;

  friend bool operator==(const BucketMap&, const BucketMap&) = default;

 private:
  friend Result<BucketMap> plan_buckets(std::span<const std::uint64_t> rows_per_bucket, int ranks,
                                        const BucketOptions& options);

  int ranks_ = 1;
  std::uint32_t buckets_ = 1;
  std::vector<int> home_;  // 0 .. ranks-1
  std::vector<std::uint32_t>
      first_;  // per bucket its first sub-bucket, buckets + 1 entries; empty if trivial
  std::vector<int> rank_of_sub_;
};

// A map that balances the rows of the buckets over the ranks.
//
// A bucket of more than skew_percent of the mean load m = ceil(all rows / ranks) gets ceil(rows /
// m) sub-buckets on as many distinct ranks. (The papers multiply by 4 until it fits; the exact
// number sends each tuple of an intra-bucket exchange to up to 4 times fewer ranks.) Whole buckets
// stay at home, rank b mod ranks, as long as that keeps the rank within skew_percent of m, so that
// replanning moves little; what is left goes, largest first, to the least loaded ranks. If
// sub-buckets come out even, no rank holds more than (skew_percent / 100 + 1) * m rows. O(buckets
// log buckets + ranks log ranks) time. InvalidArgument: no buckets, no ranks, a skew_percent below
// 100, or row counts whose sum does not fit 63 bits.
Result<BucketMap> plan_buckets(std::span<const std::uint64_t> rows_per_bucket, int ranks,
                               const BucketOptions& options = {});

}  // namespace stratalog
