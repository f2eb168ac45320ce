// SPDX-License-Identifier: Apache-2.0
// Measured times are kept in nanoseconds, so that ranks can be compared exactly, and told in
// seconds.
#pragma once

#include <cstdint>

namespace stratalog {

inline double seconds_of(std::uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

}  // namespace stratalog
