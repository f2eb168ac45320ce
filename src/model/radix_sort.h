// SPDX-License-Identifier: Apache-2.0
// radix_sort: stable sorting by an unsigned key, least significant digit first. For keys that hold
// dense numbers (cells, slots, lanes), of which few bits differ: then it takes a quarter of the
// time of comparisons. Pure; local.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace stratalog {

// `key_of(value)` has at most 64 bits. 11 of them at a time; digits that are equal in all keys cost
// one look only.
// `space` is scratch memory that outlives the call where many vectors are sorted.
template <typename T, typename KeyOf>
void radix_sort(std::vector<T>& values, std::vector<T>& space, KeyOf&& key_of) {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kBits;
  std::uint64_t varying = 0;
  for (const T& value : values)
    varying |= static_cast<std::uint64_t>(key_of(value)) ^ key_of(values.front());
  space.resize(values.size());
  for (unsigned shift = 0; shift < 64; shift += kBits) {
    if (((varying >> shift) & (kBuckets - 1)) == 0) continue;
    const auto digit_of = [&](const T& value) {
      return (static_cast<std::uint64_t>(key_of(value)) >> shift) & (kBuckets - 1);
    };
    std::array<std::size_t, kBuckets> starts = {};
    for (const T& value : values) ++starts[digit_of(value)];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), std::size_t{0});
    for (const T& value : values) space[starts[digit_of(value)]++] = value;
    values.swap(space);
  }
}

template <typename T, typename KeyOf>
void radix_sort(std::vector<T>& values, KeyOf&& key_of) {
  std::vector<T> space;
  radix_sort(values, space, std::forward<KeyOf>(key_of));
}

}  // namespace stratalog
