// SPDX-License-Identifier: Apache-2.0
// Sizes as the papers and the file systems count them.
#pragma once

#include <cstdint>

namespace stratalog {

constexpr std::uint64_t kMB = 1000000;
constexpr std::uint64_t kGB = 1000 * kMB;
constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;

}  // namespace stratalog
