// SPDX-License-Identifier: Apache-2.0
// Where a new value was met first, among ranks that read the same parts in the same order. Local.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace stratalog {

// Ranks ascend within a part, and places within a rank.
struct Origin {
  std::uint32_t part = 0;
  std::uint32_t rank = 0;
  std::uint32_t place = 0;  // among the new values of the rank
  friend auto operator<=>(const Origin&, const Origin&) = default;
};

// Ends of the parts among new values of one sort.
using PartEnds = std::vector<std::uint64_t>;

inline std::uint32_t part_of(const PartEnds& ends, std::uint64_t place) {
  return static_cast<std::uint32_t>(std::upper_bound(ends.begin(), ends.end(), place) -
                                    ends.begin());
}

inline Status too_many_different(std::string_view what) {
  return Status::no_space("the facts hold more than 2^30 different " + std::string(what));
}

}  // namespace stratalog
