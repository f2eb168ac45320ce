// SPDX-License-Identifier: Apache-2.0
// The words in which the pivot room speaks. A *pivot* is a value of the column that a decomposable
// recursion carries unchanged; pivots are numbered as *lanes*. A *slot* is the dense number of the
// remaining columns of a tuple. Lanes fall into *blocks* of one row width (64 to 512 bits), and
// blocks are dealt to ranks by block number modulo ranks: blocks never interact, so no tuple
// crosses ranks. Pure values; local.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/cell.h"

namespace stratalog {

using SlotId = std::uint32_t;
using LaneId = std::uint32_t;
using MaskId = std::uint32_t;

// 64-bit words in a row: the lanes of a block divided by 64. Wide rows are faster; narrow ones give
// more blocks, so that many ranks can each own some.
enum class RowWidth : std::uint8_t { kWords1 = 1, kWords2 = 2, kWords4 = 4, kWords8 = 8 };

constexpr std::uint32_t words_per_row(RowWidth width) { return static_cast<std::uint32_t>(width); }
constexpr std::uint32_t lanes_per_block(RowWidth width) { return 64 * words_per_row(width); }

// Which cells are pivots. Dense: lane l stands for cell first_cell + l. Sparse: lane l stands for
// dictionary[l]. The dictionary ascends, or its lanes are in an order that brings those together
// which move together (slot_order.h); the cells of a block ascend in any case.
class PivotSpace {
 public:
  PivotSpace() = default;
  // InvalidArgument where first_cell + lanes leaves the range of cells.
  static Result<PivotSpace> dense(Cell first_cell, std::uint32_t lanes);
  // InvalidArgument unless the cells ascend strictly.
  static Result<PivotSpace> sparse(std::vector<Cell> dictionary);
  // Lanes in the order of `cells`, but ascending within each group of `lanes_in_block`.
  // InvalidArgument where a cell comes twice.
  static Result<PivotSpace> ordered(std::vector<Cell> cells, std::uint32_t lanes_in_block);

  bool is_dense() const { return dictionary_.empty(); }
  std::uint32_t lanes() const { return lanes_; }
  // Requires lane < lanes().
  Cell cell_of(LaneId lane) const { return is_dense() ? first_cell_ + lane : dictionary_[lane]; }
  // The lane of a pivot, or lanes() where the cell is none.
  LaneId lane_of(Cell cell) const;
  // Whether cells ascend over all lanes.
  bool ascends() const { return lane_at_.empty() && by_cell_.empty(); }
  std::uint64_t memory_bytes() const {
    return (dictionary_.capacity() * sizeof(Cell)) +
           ((lane_at_.capacity() + by_cell_.capacity()) * sizeof(LaneId));
  }

 private:
  Cell first_cell_ = 0;
  std::uint32_t lanes_ = 0;
  std::vector<Cell> dictionary_;
  // Of an order that does not ascend: the lane of cell first_cell_ + i, where pivots lie close
  // together, or else the lanes by ascending cell.
  std::vector<LaneId> lane_at_;
  std::vector<LaneId> by_cell_;
};

// Which blocks this rank holds.
struct BlockOwnership {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;

  bool owns(std::uint32_t block) const { return block % ranks == rank; }
  // How many of `blocks` blocks this rank owns; they are rank, rank + ranks, rank + 2 * ranks, ...
  std::uint32_t owned_of(std::uint32_t blocks) const {
    return blocks <= rank ? 0 : (blocks - rank - 1) / ranks + 1;
  }
};

}  // namespace stratalog
