// SPDX-License-Identifier: Apache-2.0
// LaneCounter: counts, per lane, in how many of the added rows the lane is set. Counters are
// bit-sliced: plane p holds bit p of every lane's count. Rows are added two at a time by carry-save
// adders, level over level (Harley and Seal's population count, turned by ninety degrees), so that
// a row costs about one adder whatever its bits. Local.
#pragma once

#include <bit>
#include <cstdint>

#include "datalog/pivot/lane_row.h"

namespace stratalog {

template <int kWords>
class LaneCounter {
 public:
  using Row = LaneRow<kWords>;

  void add(const Row* rows, std::size_t count) {
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const Row low = join(0, rows[i], rows[i + 1]);
      const Row high = join(0, rows[i + 2], rows[i + 3]);
      add_at(2, join(1, low, high));
    }
    for (; i < count; ++i) add_at(0, rows[i]);
  }

  void add_times(const Row& row, std::uint32_t times) {
    for (; times != 0; times &= times - 1) add_at(std::countr_zero(times), row);
  }

  void clear() {
    waiting_ = 0;
    used_ = 0;
  }

  // Calls visit(offset, count) for every lane with a count, and starts again from zero.
  template <typename Visit>
  void drain(Visit&& visit) {
    for (int level = 0; level < used_; ++level)
      if ((waiting_ >> level & 1) != 0) ripple(level, waiting_row_[level]);
    for (int w = 0; w < kWords; ++w) {
      std::uint64_t any = 0;
      for (int p = 0; p < used_; ++p) any |= planes_[p].words()[w];
      for (; any != 0; any &= any - 1) {
        const int bit = std::countr_zero(any);
        std::uint64_t count = planes_[0].words()[w] >> bit & 1;
        for (int p = 1; p < used_; ++p) count |= (planes_[p].words()[w] >> bit & 1) << p;
        visit(static_cast<std::uint32_t>(w * 64 + bit), count);
      }
    }
    clear();
  }

 private:
  static constexpr int kLevels = 34;  // counts stay below 2^33

  void use(int level) {
    for (; used_ <= level; ++used_) planes_[used_] = Row();
  }

  // Adds two rows of weight 2^level; returns the carries, of weight 2^(level + 1).
  Row join(int level, const Row& a, const Row& b) {
    use(level);
    const Row sum = planes_[level] ^ a;
    const Row carry = (planes_[level] & a) | (sum & b);
    planes_[level] = sum ^ b;
    return carry;
  }

  // A row waits on its level for a second one.
  void add_at(int level, const Row& row) {
    Row carry = row;
    while ((waiting_ >> level & 1) != 0) {
      waiting_ &= ~(std::uint64_t{1} << level);
      carry = join(level, waiting_row_[level], carry);
      ++level;
    }
    use(level);
    waiting_ |= std::uint64_t{1} << level;
    waiting_row_[level] = carry;
  }

  void ripple(int level, const Row& row) {
    Row carry = row;
    for (; !carry.is_empty(); ++level) {
      use(level);
      const Row both = planes_[level] & carry;
      planes_[level] ^= carry;
      carry = both;
    }
  }

  Row planes_[kLevels];
  Row waiting_row_[kLevels];
  std::uint64_t waiting_ = 0;
  int used_ = 0;
};

}  // namespace stratalog
