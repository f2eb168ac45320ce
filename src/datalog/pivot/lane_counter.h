// SPDX-License-Identifier: Apache-2.0
// LaneCounter: counts, per lane, in how many of the added rows the lane is set. Rows are added to
// bit-sliced (vertical) counters, a ripple-carry adder over whole rows, so that a row of 512 lanes
// costs about two row operations. Local.
#pragma once

#include <bit>
#include <cstdint>

#include "datalog/pivot/lane_row.h"

namespace stratalog {

template <int kWords>
class LaneCounter {
 public:
  void add(const LaneRow<kWords>& row) {
    LaneRow<kWords> carry = row;
    int plane = 0;
    do {
      if (plane == used_) planes_[used_++] = {};
      const LaneRow<kWords> both = planes_[plane] & carry;
      planes_[plane] ^= carry;
      carry = both;
      ++plane;
    } while (!carry.is_empty());
  }

  // Calls visit(offset, count) for every lane with a count, and starts again from zero.
  template <typename Visit>
  void drain(Visit&& visit) {
    for (int w = 0; w < kWords; ++w) {
      std::uint64_t any = 0;
      for (int p = 0; p < used_; ++p) any |= planes_[p].words[w];
      for (; any != 0; any &= any - 1) {
        const int bit = std::countr_zero(any);
        std::uint64_t count = 0;
        for (int p = 0; p < used_; ++p) count |= (planes_[p].words[w] >> bit & 1) << p;
        visit(static_cast<std::uint32_t>(w * 64 + bit), count);
      }
    }
    used_ = 0;
  }

 private:
  LaneRow<kWords> planes_[33];  // counts stay below 2^32, the number of slots
  int used_ = 0;
};

}  // namespace stratalog
