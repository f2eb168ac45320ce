// SPDX-License-Identifier: Apache-2.0
// plan_buckets: decide what to split, seat what can stay at home, deal the rest. Integer arithmetic
// throughout; ties go to the lower bucket and the lower rank.
#include "route/bucket_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>

#include "base/integer_division.h"

namespace stratalog {
namespace {

// A whole bucket that does not fit at home, or all sub-buckets of a split one.
struct Piece {
  std::uint64_t rows_each = 0;
  std::uint32_t bucket = 0;
};

struct RankLoad {
  std::uint64_t rows = 0;
  int rank = 0;
  friend auto operator<=>(const RankLoad&, const RankLoad&) = default;
};

using LeastLoaded = std::priority_queue<RankLoad, std::vector<RankLoad>, std::greater<>>;

Result<std::uint64_t> checked_total(std::span<const std::uint64_t> rows_per_bucket) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::uint64_t total = 0;
  for (const std::uint64_t rows : rows_per_bucket) {
    if (rows > kMax - total)
      return Status::invalid_argument("plan_buckets: the buckets hold more than 2^63 - 1 rows");
    total += rows;
  }
  return total;
}

}  // namespace

BucketMap BucketMap::trivial(std::uint32_t buckets, int ranks) {
  BucketMap map;
  map.ranks_ = ranks;
  map.buckets_ = buckets;
  map.home_.resize(static_cast<std::size_t>(ranks));
  std::iota(map.home_.begin(), map.home_.end(), 0);
  return map;
}

Result<BucketMap> plan_buckets(std::span<const std::uint64_t> rows_per_bucket, int ranks,
                               const BucketOptions& options) {
  if (rows_per_bucket.empty() || ranks < 1 || options.skew_percent < 100 ||
      rows_per_bucket.size() >= std::numeric_limits<std::uint32_t>::max())
    return Status::invalid_argument(
        fmt::format("plan_buckets needs buckets (fewer than 2^32), ranks and a skew of at "
                    "least 100 %, not {}, {} and {}",
                    rows_per_bucket.size(), ranks, options.skew_percent));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t total, checked_total(rows_per_bucket));
  const auto buckets = static_cast<std::uint32_t>(rows_per_bucket.size());
  BucketMap map = BucketMap::trivial(buckets, ranks);
  if (ranks == 1 || total < options.min_rows || total == 0) return map;

  const auto ranks_64 = static_cast<std::uint64_t>(ranks);
  const std::uint64_t mean = ceil_divide(total, ranks_64);
  // A share that would overflow means "never split".
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t bound =
      mean / 100 >= kMost / options.skew_percent
          ? kMost
          : (mean / 100 * options.skew_percent) + (mean % 100 * options.skew_percent / 100);
  const std::uint64_t most_subs = options.max_sub_buckets == 0
                                      ? ranks_64
                                      : std::min<std::uint64_t>(ranks_64, options.max_sub_buckets);

  std::vector<std::uint64_t> load(static_cast<std::size_t>(ranks), 0);
  std::vector<Piece> pieces;
  map.first_.assign(std::size_t{buckets} + 1, 0);
  for (std::uint32_t b = 0; b < buckets; ++b) {
    const std::uint64_t rows = rows_per_bucket[b];
    const std::uint64_t subs = rows > bound ? std::min(most_subs, ceil_divide(rows, mean)) : 1;
    map.first_[b + 1] = map.first_[b] + static_cast<std::uint32_t>(subs);
    std::uint64_t& home_load = load[b % static_cast<std::uint32_t>(ranks)];
    if (subs == 1 && rows <= bound && home_load <= bound - rows)
      home_load += rows;
    else
      pieces.push_back({.rows_each = ceil_divide(rows, subs), .bucket = b});
  }
  if (pieces.empty()) {
    map.first_.clear();
    return map;
  }

  map.rank_of_sub_.resize(map.first_[buckets]);
  for (std::uint32_t b = 0; b < buckets; ++b)
    map.rank_of_sub_[map.first_[b]] = map.home_[b % static_cast<std::uint32_t>(ranks)];
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
    return a.rows_each != b.rows_each ? a.rows_each > b.rows_each : a.bucket < b.bucket;
  });
  std::vector<RankLoad> loads;
  loads.reserve(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r)
    loads.push_back({.rows = load[static_cast<std::size_t>(r)], .rank = r});
  LeastLoaded least(std::greater<>(), std::move(loads));
  std::vector<RankLoad> taken;
  for (const Piece& piece : pieces) {
    taken.clear();
    for (std::uint32_t sub = map.first_[piece.bucket]; sub < map.first_[piece.bucket + 1]; ++sub) {
      map.rank_of_sub_[sub] = least.top().rank;
      taken.push_back({.rows = least.top().rows + piece.rows_each, .rank = least.top().rank});
      least.pop();
    }
    for (const RankLoad& rank : taken) least.push(rank);
  }
  return map;
}

std::string BucketMap::to_text() const {
  std::string text = fmt::format("{} buckets on {} ranks", buckets_, ranks_);
  if (is_trivial()) return text + ", all whole and at home\n";
  text += "\n";
  for (std::uint32_t b = 0; b < buckets_; ++b) {
    const auto holders = ranks_of(b);
    if (holders.size() == 1 && holders[0] == home_[b % static_cast<std::uint32_t>(ranks_)])
      continue;
    text += fmt::format("bucket {}: {} on {}\n", b,
                        holders.size() == 1 ? "whole" : fmt::format("{} parts", holders.size()),
                        fmt::join(holders, " "));
  }
  return text;
}

}  // namespace stratalog
