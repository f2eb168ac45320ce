// SPDX-License-Identifier: Apache-2.0
// The values that many rows of a column have, as unknown, "-" or the capital: what joins by such a
// column meets is not what its distinct values promise. Values are known by the bucket of their
// hash, so that counts of all ranks can be added. Pure; local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/cell.h"
#include "model/multiset_hash.h"

namespace stratalog::datalog {

inline constexpr std::uint64_t kValueBuckets = 1U << 10;
inline constexpr std::uint32_t kPerMillion = 1'000'000;

inline std::uint64_t value_hash(Cell cell) { return splitmix64(cell); }
inline std::uint32_t bucket_of_hash(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash % kValueBuckets);
}
inline std::uint32_t value_bucket(Cell cell) { return bucket_of_hash(value_hash(cell)); }

struct FrequentValue {
  std::uint32_t bucket = 0;
  std::uint32_t per_million = 0;  // of the rows

  friend bool operator==(const FrequentValue&, const FrequentValue&) = default;
};

// Of a column, those with most rows first: each has at least one row in 64, and twice what it would
// have if all of `distinct` values had as many. `rows`: by bucket.
std::vector<FrequentValue> frequent_values(std::span<const std::uint64_t> rows,
                                           std::uint64_t distinct);

// The part of a column's rows (`there`) that a value meets which is as often as in `here`, as far
// as both say: the sum of share here times share there.
double frequent_meetings(std::span<const FrequentValue> here, std::span<const FrequentValue> there);

}  // namespace stratalog::datalog
