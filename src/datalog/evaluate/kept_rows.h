// SPDX-License-Identifier: Apache-2.0
// The rows of a batch that pass a test. Local.
#pragma once

#include <cstdint>
#include <vector>

namespace stratalog::datalog {

// Those for which it holds, ascending; without a branch for each row.
template <typename Holds>
void keep_rows(std::uint32_t rows, std::vector<std::uint32_t>& kept, const Holds& holds) {
  kept.resize(rows);
  std::uint32_t size = 0;
  for (std::uint32_t r = 0; r < rows; ++r) {
    kept[size] = r;
    size += holds(r) ? 1U : 0U;
  }
  kept.resize(size);
}

}  // namespace stratalog::datalog
