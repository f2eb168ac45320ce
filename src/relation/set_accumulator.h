// SPDX-License-Identifier: Apache-2.0
// SetAccumulator: the scratch bitmap in which many sets and single cells are united and from which
// what is new against an existing set is taken out, ascending. It is the "sparse accumulator" of
// sparse matrix products, over bits. One per rank; the address space is reserved, only touched
// pages cost memory. Local; not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/cell.h"
#include "relation/int_set.h"

namespace stratalog {

class SetAccumulator {
 public:
  SetAccumulator();
  ~SetAccumulator();
  SetAccumulator(const SetAccumulator&) = delete;
  SetAccumulator& operator=(const SetAccumulator&) = delete;

  void add(Cell cell) {
    touch(cell >> kChunkBits);
    words_[cell / 64] |= std::uint64_t{1} << (cell % 64);
  }
  void add(const SetView& set);

  // Appends to `out` every accumulated cell that `present` does not hold, ascending, and empties
  // the accumulator.
  void take_new(const IntSet& present, std::vector<Cell>& out);

 private:
  static constexpr unsigned kChunkBits = 12;  // 4096 cells, 512 bytes

  void touch(std::uint32_t chunk) {
    if (touched_flag_[chunk] == 0) {
      touched_flag_[chunk] = 1;
      touched_.push_back(chunk);
    }
  }
  void subtract_bitmap(const SetView& present);

  std::uint64_t* words_ = nullptr;  // 2^32 bits of reserved address space
  std::vector<std::uint8_t> touched_flag_;
  std::vector<std::uint32_t> touched_;
};

}  // namespace stratalog
