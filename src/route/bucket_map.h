// SPDX-License-Identifier: Apache-2.0
// BucketMap: which rank holds which tuple of a hash-partitioned relation. A tuple's join columns
// hash to a bucket; a bucket with too many rows is split into sub-buckets by the hash of the other
// columns (RA-checkpoint, section II.B). plan_buckets is pure: equal inputs give equal maps on
// every rank. Does not move tuples. Local.
#pragma once

#include <bit>
#include <cstddef>
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
  // Every bucket whole at home, which is where plain dealing by hash would bring its tuples: bucket
  // b on rank b / (buckets / ranks). Requires ranks >= 1 and a multiple of them of buckets.
  static BucketMap trivial(std::uint32_t buckets, int ranks);

  int ranks() const { return ranks_; }
  std::uint32_t buckets() const { return buckets_; }
  // Every bucket is whole and at home.
  bool is_trivial() const { return moved_.empty(); }

  // The bucket of a hash of join columns (hash_cells).
  std::uint32_t bucket_of(std::uint64_t hash) const { return scale_hash(hash, buckets_); }
  bool is_split(std::uint32_t bucket) const { return sub_buckets(bucket) > 1; }
  std::uint32_t sub_buckets(std::uint32_t bucket) const {
    return is_moved(bucket) ? static_cast<std::uint32_t>(parts_of(bucket).size()) : 1;
  }
  // The rank of a tuple; `sub_hash` (hash_cells of its other columns with kSubBucketSeed) matters
  // in split buckets only.
  int owner(std::uint32_t bucket, std::uint64_t sub_hash) const {
    if (!is_moved(bucket)) return home_of(bucket);
    const std::span<const int> parts = parts_of(bucket);
    return parts[scale_hash(sub_hash, static_cast<std::uint32_t>(parts.size()))];
  }
  // Where a bucket is: a list of ranks.
  class Holders {
   public:
    explicit Holders(int home) : home_(home) {}
    explicit Holders(std::span<const int> parts) : parts_(parts) {}
    std::size_t size() const { return parts_.empty() ? 1 : parts_.size(); }
    const int* begin() const { return parts_.empty() ? &home_ : parts_.data(); }
    const int* end() const { return begin() + size(); }
    int operator[](std::size_t at) const { return begin()[at]; }

   private:
    int home_ = 0;
    std::span<const int> parts_;
  };
  // All ranks that hold a part of the bucket, each once, in the order of the sub-buckets: whom a
  // tuple of the other relation must reach in the intra-bucket exchange.
  Holders ranks_of(std::uint32_t bucket) const {
    return is_moved(bucket) ? Holders(parts_of(bucket)) : Holders(home_of(bucket));
  }

  // One line a bucket that is not whole at home, for golden tests and `explain`.
  std::string to_text() const;

  friend bool operator==(const BucketMap&, const BucketMap&) = default;

 private:
  friend class BucketPlan;
  // 64 buckets: which of them are not whole at home, and how many such there are before.
  struct MovedWord {
    std::uint64_t bits = 0;
    std::uint32_t before = 0;
    friend bool operator==(const MovedWord&, const MovedWord&) = default;
  };

  int home_of(std::uint32_t bucket) const { return static_cast<int>(bucket / per_home_); }
  bool is_moved(std::uint32_t bucket) const {
    return !is_trivial() && ((moved_[bucket / 64].bits >> (bucket % 64)) & 1U) != 0;
  }
  // Of a bucket that is moved.
  std::span<const int> parts_of(std::uint32_t bucket) const {
    const MovedWord& word = moved_[bucket / 64];
    const std::uint64_t below = word.bits & ((std::uint64_t{1} << (bucket % 64)) - 1);
    const std::uint32_t at = word.before + static_cast<std::uint32_t>(std::popcount(below));
    return std::span(rank_of_part_).subspan(first_[at], first_[at + 1] - first_[at]);
  }

  int ranks_ = 1;
  std::uint32_t buckets_ = 1;
  std::uint32_t per_home_ = 1;
  std::vector<MovedWord> moved_;  // empty if trivial
  std::vector<std::uint32_t> first_;  // of each moved bucket its first part, one entry more
  std::vector<int> rank_of_part_;
};

// Two words, as they travel.
struct BucketRows {
  std::uint64_t bucket = 0;
  std::uint64_t rows = 0;
  friend auto operator<=>(const BucketRows&, const BucketRows&) = default;
};

// A map that balances the rows of the buckets over the ranks.
//
// A bucket of more than skew_percent of the mean load m = ceil(all rows / ranks) gets ceil(rows /
// m) sub-buckets on as many distinct ranks. (The papers multiply by 4 until it fits; the exact
// number sends each tuple of an intra-bucket exchange to up to 4 times fewer ranks.) Whole buckets
// stay at home as long as that keeps the rank within skew_percent of m, so that planning moves
// little; what is left goes, largest first, to the least loaded ranks. If sub-buckets come out
// even, no rank holds more than (skew_percent / 100 + 1) * m rows. O(buckets
// log buckets + ranks log ranks) time. InvalidArgument: no buckets or no multiple of the ranks, no
// ranks, a skew_percent below 100, or row counts whose sum does not fit 63 bits.
Result<BucketMap> plan_buckets(std::span<const std::uint64_t> rows_per_bucket, int ranks,
                               const BucketOptions& options = {});

// The same plan in two steps, for who does not want to know all ranks' rows of all buckets. Homes
// with more rows than the result are heavy; where none is, the map is trivial. `total`: rows of all
// homes. InvalidArgument as above.
Result<std::uint64_t> most_rows_of_home(std::uint64_t total, int ranks,
                                        const BucketOptions& options = {});
// Then the rows of each home, and those of all buckets that have some and whose homes are heavy,
// ascending by bucket.
Result<BucketMap> plan_heavy_buckets(std::uint32_t buckets,
                                     std::span<const std::uint64_t> rows_of_home,
                                     std::span<const BucketRows> heavy,
                                     const BucketOptions& options = {});

}  // namespace stratalog
