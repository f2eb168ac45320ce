// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/frequent_values.h"

#include <algorithm>
#include <numeric>

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kLeastPerMillion = kPerMillion / 64;
// Times as many rows as a value has if all have as many.
constexpr std::uint64_t kBeyondEven = 2;

}  // namespace

std::vector<FrequentValue> frequent_values(std::span<const std::uint64_t> rows,
                                           std::uint64_t distinct) {
  const std::uint64_t all = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
  const std::uint64_t even = kPerMillion / std::max<std::uint64_t>(distinct, 1);
  std::vector<FrequentValue> frequent;
  for (std::uint32_t bucket = 0; bucket < rows.size(); ++bucket) {
    if (rows[bucket] == 0) continue;
    const auto share = static_cast<std::uint64_t>(static_cast<double>(rows[bucket]) /
                                                  static_cast<double>(all) * kPerMillion);
    if (share >= kLeastPerMillion && share >= kBeyondEven * even)
      frequent.push_back({.bucket = bucket, .per_million = static_cast<std::uint32_t>(share)});
  }
  std::stable_sort(
      frequent.begin(), frequent.end(),
      [](const FrequentValue& a, const FrequentValue& b) { return a.per_million > b.per_million; });
  return frequent;
}

double frequent_meetings(std::span<const FrequentValue> here,
                         std::span<const FrequentValue> there) {
  double meetings = 0;
  for (const FrequentValue& one : here)
    for (const FrequentValue& other : there)
      if (one.bucket == other.bucket)
        meetings += static_cast<double>(one.per_million) * static_cast<double>(other.per_million);
  return meetings / (double{kPerMillion} * kPerMillion);
}

}  // namespace stratalog::datalog
