// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/bucket_count.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/integer_division.h"
#include "base/memory_end.h"
#include "model/set_walk.h"
#include "route/cell_hash.h"

namespace stratalog::datalog {
namespace {

constexpr const char* kNoMemory = "not enough memory to plan how a relation is dealt";
// The rows of a home that had none.
constexpr std::uint64_t kNoRows = ~std::uint64_t{0};

// What arrived, ascending by bucket, each once.
std::vector<BucketRows> added_up(std::span<const std::byte> bytes) {
  std::vector<BucketRows> told(bytes.size() / sizeof(BucketRows));
  if (!told.empty()) std::memcpy(told.data(), bytes.data(), bytes.size());
  std::ranges::sort(told);
  std::vector<BucketRows> sums;
  for (const BucketRows& some : told) {
    if (sums.empty() || sums.back().bucket != some.bucket)
      sums.push_back(some);
    else
      sums.back().rows += some.rows;
  }
  return sums;
}

}  // namespace

BucketCount::BucketCount(std::uint32_t arity, std::vector<std::uint32_t> columns, int ranks)
    : columns_(std::move(columns)),
      even_(BucketMap::trivial(kBucketsPerRank * static_cast<std::uint32_t>(ranks), ranks)),
      pages_(ceil_divide(even_.buckets(), kPageBuckets)),
      declared_(arity),
      key_(columns_.size()) {}

std::uint64_t& BucketCount::rows_of_key() {
  for (std::size_t k = 0; k < key_.size(); ++k) key_[k] = declared_[columns_[k]];
  const std::uint32_t bucket = even_.bucket_of(hash_cells(key_));
  auto& page = pages_[bucket / kPageBuckets];
  if (!page) page = std::make_unique<Page>();
  return (*page)[bucket % kPageBuckets];
}

void BucketCount::add(std::span<const std::uint32_t> order, const TupleGroup& group) {
  for (std::size_t i = 0; i < group.prefix.size(); ++i) declared_[order[i]] = group.prefix[i];
  const std::uint32_t last = order.back();
  if (std::find(columns_.begin(), columns_.end(), last) == columns_.end()) {
    rows_of_key() += group.set.count;
    return;
  }
  walk_set(group.set, [&](Cell cell) {
    declared_[last] = cell;
    ++rows_of_key();
  });
}

// Ascending by bucket, hence by home.
std::vector<BucketRows> BucketCount::told_rows() const {
  std::vector<BucketRows> told;
  for (std::uint32_t at = 0; at < pages_.size(); ++at) {
    if (!pages_[at]) continue;
    for (std::uint32_t b = 0; b < kPageBuckets; ++b)
      if (const std::uint64_t rows = (*pages_[at])[b]; rows != 0)
        told.push_back({.bucket = (at * kPageBuckets) + b, .rows = rows});
  }
  return told;
}

// Many ranks have many buckets: want of memory on one of them is told to the others in what they
// ask each other for anyway.
Result<std::optional<BucketMap>> BucketCount::plan(Comm& comm, const BucketOptions& options) const {
  std::vector<BucketRows> mine;
  std::vector<Parcel> parcels;
  const Status packed = or_no_space(kNoMemory, [&]() -> Status {
    mine = told_rows();
    for (const BucketRows& some : mine) {
      const int home = even_.owner(static_cast<std::uint32_t>(some.bucket), 0);
      if (parcels.empty() || parcels.back().rank != home) parcels.push_back({.rank = home});
      parcels.back().bytes += sizeof(BucketRows);
    }
    return {};
  });
  std::uint64_t sums[] = {0, packed.is_ok() ? 0U : 1U};
  for (const BucketRows& some : mine) sums[0] += some.rows;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(sums, ReduceOp::kSum));
  if (sums[1] != 0) return agree(comm, packed);
  STRATALOG_ASSIGN_OR_RETURN(const std::uint64_t most,
                             most_rows_of_home(sums[0], comm.size(), options));
  if (sums[0] <= most) return std::optional<BucketMap>();
  return plan_by_homes(comm, mine, parcels, most, options);
}

Result<std::optional<BucketMap>> BucketCount::plan_by_homes(Comm& comm,
                                                            std::span<const BucketRows> mine,
                                                            std::span<const Parcel> parcels,
                                                            std::uint64_t most,
                                                            const BucketOptions& options) const {
  STRATALOG_ASSIGN_OR_RETURN(const ReceivedParcels told,
                             comm.exchange_parcels(std::as_bytes(mine), parcels));
  std::vector<BucketRows> at_home;
  const Status added = or_no_space(kNoMemory, [&]() -> Status {
    at_home = added_up(told.data);
    return {};
  });
  std::uint64_t rows = 0;
  for (const BucketRows& some : at_home) rows += some.rows;
  std::uint64_t most_of_all = added.is_ok() ? rows : kNoRows;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(std::span(&most_of_all, 1), ReduceOp::kMax));
  if (most_of_all == kNoRows) return agree(comm, added);
  if (most_of_all <= most) return std::optional<BucketMap>();

  STRATALOG_ASSIGN_OR_RETURN(const Received of_homes,
                             comm.allgather(std::as_bytes(std::span(&rows, 1))));
  std::span<const BucketRows> mine_heavy;
  if (rows > most) mine_heavy = at_home;
  STRATALOG_ASSIGN_OR_RETURN(const Received heavy, comm.allgather(std::as_bytes(mine_heavy)));
  std::optional<BucketMap> planned;
  STRATALOG_RETURN_IF_ERROR(
      agree(comm, or_no_space(kNoMemory, [&]() -> Status {
              std::vector<std::uint64_t> rows_of_home(of_homes.counts.size());
              std::memcpy(rows_of_home.data(), of_homes.data.data(), of_homes.data.size());
              STRATALOG_ASSIGN_OR_RETURN(
                  BucketMap map,
                  plan_heavy_buckets(even_.buckets(), rows_of_home, added_up(heavy.data), options));
              if (!map.is_trivial()) planned = std::move(map);
              return {};
            })));
  return planned;
}

}  // namespace stratalog::datalog
