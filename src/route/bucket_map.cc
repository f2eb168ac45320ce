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

struct RankLoad {
  std::uint64_t rows = 0;
  int rank = 0;
  friend auto operator<=>(const RankLoad&, const RankLoad&) = default;
};

using LeastLoaded = std::priority_queue<RankLoad, std::vector<RankLoad>, std::greater<>>;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

Status check_options(std::size_t buckets, std::size_t ranks, const BucketOptions& options) {
  if (buckets != 0 && buckets < std::numeric_limits<std::uint32_t>::max() && ranks >= 1 &&
      buckets % ranks == 0 && options.skew_percent >= 100)
    return {};
  return Status::invalid_argument(
      fmt::format("plan_buckets needs buckets (fewer than 2^32, a multiple of the ranks), ranks "
                  "and a skew of at least 100 %, not {}, {} and {}",
                  buckets, ranks, options.skew_percent));
}

Result<std::uint64_t> checked_total(std::span<const std::uint64_t> rows) {
  constexpr std::uint64_t kMaxRows = std::numeric_limits<std::int64_t>::max();
  std::uint64_t total = 0;
  for (const std::uint64_t some : rows) {
    if (some > kMaxRows - total)
      return Status::invalid_argument("plan_buckets: the buckets hold more than 2^63 - 1 rows");
    total += some;
  }
  return total;
}

// A share that would overflow means "never split".
std::uint64_t bound_of(std::uint64_t mean, std::uint32_t skew_percent) {
  return mean / 100 >= kMost / skew_percent
             ? kMost
             : (mean / 100 * skew_percent) + (mean % 100 * skew_percent / 100);
}

}  // namespace

// Seats what can stay at home, and deals the rest.
class BucketPlan {
 public:
  BucketPlan(std::uint32_t buckets, std::span<const std::uint64_t> rows_of_home,
             std::uint64_t bound, std::uint64_t most_parts)
      : map_(BucketMap::trivial(buckets, static_cast<int>(rows_of_home.size()))),
        load_(rows_of_home.begin(), rows_of_home.end()),
        bound_(bound),
        most_parts_(most_parts) {
    for (std::uint64_t& rows : load_)
      if (rows > bound) rows = 0;  // its buckets are seated one by one
  }

  void seat(const BucketRows& bucket, std::uint64_t mean) {
    const auto b = static_cast<std::uint32_t>(bucket.bucket);
    const std::uint64_t rows = bucket.rows;
    const std::uint64_t parts = rows > bound_ ? std::min(most_parts_, ceil_divide(rows, mean)) : 1;
    std::uint64_t& home_load = load_[static_cast<std::size_t>(map_.home_of(b))];
    if (parts == 1 && rows <= bound_ && home_load <= bound_ - rows)
      home_load += rows;
    else
      pieces_.push_back({.rows_each = ceil_divide(rows, parts), .bucket = b, .parts = parts});
  }

  BucketMap deal() {
    std::ranges::sort(pieces_, [](const Piece& a, const Piece& b) {
      return a.rows_each != b.rows_each ? a.rows_each > b.rows_each : a.bucket < b.bucket;
    });
    std::vector<RankLoad> loads;
    loads.reserve(load_.size());
    for (std::size_t r = 0; r < load_.size(); ++r)
      loads.push_back({.rows = load_[r], .rank = static_cast<int>(r)});
    LeastLoaded least(std::greater<>(), std::move(loads));
    std::vector<RankLoad> taken;
    for (Piece& piece : pieces_) {
      taken.clear();
      for (std::uint64_t part = 0; part < piece.parts; ++part) {
        piece.ranks.push_back(least.top().rank);
        taken.push_back({.rows = least.top().rows + piece.rows_each, .rank = least.top().rank});
        least.pop();
      }
      for (const RankLoad& rank : taken) least.push(rank);
    }
    // The least loaded rank may be a bucket's home.
    std::erase_if(pieces_, [&](const Piece& piece) {
      return piece.parts == 1 && piece.ranks[0] == map_.home_of(piece.bucket);
    });
    write_map();
    return std::move(map_);
  }

 private:
  // A whole bucket that does not fit at home, or all parts of a split one.
  struct Piece {
    std::uint64_t rows_each = 0;
    std::uint32_t bucket = 0;
    std::uint64_t parts = 1;
    std::vector<int> ranks = {};
  };

  void write_map() {
    if (pieces_.empty()) return;
    std::ranges::sort(pieces_, {}, &Piece::bucket);
    map_.moved_.resize(ceil_divide(map_.buckets_, 64U));
    map_.first_.push_back(0);
    for (const Piece& piece : pieces_) {
      map_.moved_[piece.bucket / 64].bits |= std::uint64_t{1} << (piece.bucket % 64);
      map_.rank_of_part_.insert(map_.rank_of_part_.end(), piece.ranks.begin(), piece.ranks.end());
      map_.first_.push_back(static_cast<std::uint32_t>(map_.rank_of_part_.size()));
    }
    std::uint32_t before = 0;
    for (auto& word : map_.moved_) {
      word.before = before;
      before += static_cast<std::uint32_t>(std::popcount(word.bits));
    }
  }

  BucketMap map_;
  std::vector<std::uint64_t> load_;  // by rank
  std::uint64_t bound_;
  std::uint64_t most_parts_;
  std::vector<Piece> pieces_;
};

BucketMap BucketMap::trivial(std::uint32_t buckets, int ranks) {
  BucketMap map;
  map.ranks_ = ranks;
  map.buckets_ = buckets;
  map.per_home_ = buckets / static_cast<std::uint32_t>(ranks);
  return map;
}

Result<std::uint64_t> most_rows_of_home(std::uint64_t total, int ranks,
                                        const BucketOptions& options) {
  const auto homes = static_cast<std::uint64_t>(std::max(ranks, 0));
  STRATALOG_RETURN_IF_ERROR(check_options(homes, homes, options));
  if (homes == 1 || total < options.min_rows || total == 0) return kMost;
  return bound_of(ceil_divide(total, homes), options.skew_percent);
}

Result<BucketMap> plan_heavy_buckets(std::uint32_t buckets,
                                     std::span<const std::uint64_t> rows_of_home,
                                     std::span<const BucketRows> heavy,
                                     const BucketOptions& options) {
  STRATALOG_RETURN_IF_ERROR(check_options(buckets, rows_of_home.size(), options));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t total, checked_total(rows_of_home));
  const std::uint64_t ranks = rows_of_home.size();
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t bound,
                             most_rows_of_home(total, static_cast<int>(ranks), options));
  const std::uint64_t most_parts = options.max_sub_buckets == 0
                                       ? ranks
                                       : std::min<std::uint64_t>(ranks, options.max_sub_buckets);
  if (bound == kMost) return BucketMap::trivial(buckets, static_cast<int>(ranks));
  BucketPlan plan(buckets, rows_of_home, bound, most_parts);
  for (const BucketRows& bucket : heavy) plan.seat(bucket, ceil_divide(total, ranks));
  return plan.deal();
}

Result<BucketMap> plan_buckets(std::span<const std::uint64_t> rows_per_bucket, int ranks,
                               const BucketOptions& options) {
  const auto homes = static_cast<std::size_t>(std::max(ranks, 0));
  STRATALOG_RETURN_IF_ERROR(check_options(rows_per_bucket.size(), homes, options));
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t total, checked_total(rows_per_bucket));
  const std::size_t per_home = rows_per_bucket.size() / homes;
  std::vector<std::uint64_t> rows_of_home(homes, 0);
  for (std::size_t b = 0; b < rows_per_bucket.size(); ++b)
    rows_of_home[b / per_home] += rows_per_bucket[b];
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t most, most_rows_of_home(total, ranks, options));
  std::vector<BucketRows> heavy;
  for (std::size_t b = 0; b < rows_per_bucket.size(); ++b)
    if (rows_per_bucket[b] != 0 && rows_of_home[b / per_home] > most)
      heavy.push_back({.bucket = b, .rows = rows_per_bucket[b]});
  return plan_heavy_buckets(static_cast<std::uint32_t>(rows_per_bucket.size()), rows_of_home, heavy,
                            options);
}

std::string BucketMap::to_text() const {
  std::string text = fmt::format("{} buckets on {} ranks", buckets_, ranks_);
  if (is_trivial()) return text + ", all whole and at home\n";
  text += "\n";
  for (std::uint32_t b = 0; b < buckets_; ++b) {
    const auto holders = ranks_of(b);
    if (!is_moved(b)) continue;
    text += fmt::format("bucket {}: {} on {}\n", b,
                        holders.size() == 1 ? "whole" : fmt::format("{} parts", holders.size()),
                        fmt::join(holders.begin(), holders.end(), " "));
  }
  return text;
}

}  // namespace stratalog
