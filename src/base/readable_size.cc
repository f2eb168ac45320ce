// SPDX-License-Identifier: Apache-2.0
#include "base/readable_size.h"

#include <fmt/format.h>

#include <array>

namespace stratalog {

std::string readable_size(std::uint64_t size_bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(size_bytes);
  std::size_t unit = 0;
  while (size >= 1023.5 && unit + 1 < kUnits.size()) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", size_bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

}  // namespace stratalog
