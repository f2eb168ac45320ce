// SPDX-License-Identifier: Apache-2.0
// Division of counts and sizes that rounds up; cannot overflow.
#pragma once

#include <cstdint>

namespace stratalog {

// How many boxes of size `b` > 0 hold `a` things.
constexpr std::uint64_t ceil_divide(std::uint64_t a, std::uint64_t b) {
  return (a / b) + static_cast<std::uint64_t>(a % b != 0);
}

}  // namespace stratalog
