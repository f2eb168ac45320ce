// SPDX-License-Identifier: Apache-2.0
// transpose: rows and columns of a matrix of 64 times 64 bits change places (Warren, Hacker's
// Delight, 7-3): halves, quarters and so on of all rows at a time. Pure; local.
#pragma once

#include <array>
#include <cstdint>

namespace stratalog {

// Bit c of word r becomes bit r of word c.
inline void transpose(std::array<std::uint64_t, 64>& rows) {
  std::uint64_t mask = 0x00000000FFFFFFFFU;
  for (std::uint32_t half = 32; half != 0; half /= 2, mask ^= mask << half)
    for (std::uint32_t first = 0; first < 64; first += 2 * half)
      for (std::uint32_t r = first; r < first + half; ++r) {
        const std::uint64_t exchanged = ((rows[r] >> half) ^ rows[r + half]) & mask;
        rows[r] ^= exchanged << half;
        rows[r + half] ^= exchanged;
      }
}

}  // namespace stratalog
