// SPDX-License-Identifier: Apache-2.0
#include "relation/best_cells.h"

#include <bit>
#include <optional>

namespace stratalog {

bool BestCells::less(Cell a, Cell b) const {
  const std::uint64_t left = values_->decode(a);
  const std::uint64_t right = values_->decode(b);
  switch (order_) {
    case NumberOrder::kSigned:
      return static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right);
    case NumberOrder::kUnsigned:
      return left < right;
    case NumberOrder::kFloat:
    case NumberOrder::kAllFloats:
      return std::bit_cast<double>(left) < std::bit_cast<double>(right);
  }
  return false;
}

// Of floats that `<` does not order.
bool BestCells::beats_equal(Cell a, Cell b) const {
  const std::uint64_t left = values_->decode(a);
  const std::uint64_t right = values_->decode(b);
  if (is_nan(a) || is_nan(b)) return is_nan(b) && (!is_nan(a) || left < right);
  // Zeros: the one with the sign is the less one, and the greater number.
  const bool is_equal = std::bit_cast<double>(left) == std::bit_cast<double>(right);
  return is_equal && (wanted_ == Wanted::kLeast ? left > right : left < right);
}

bool BestCells::beats(Cell a, Cell b) const {
  if (order_ == NumberOrder::kAllFloats && beats_equal(a, b)) return true;
  return wanted_ == Wanted::kLeast ? less(a, b) : less(b, a);
}

void BestCells::keep_best(std::vector<Cell>& cells, const IntSet& present) const {
  std::optional<Cell> best;
  const auto look_at = [&](Cell cell) {
    if (order_ == NumberOrder::kFloat && is_nan(cell)) return;
    if (!best || beats(cell, *best)) best = cell;
  };
  for (const Cell cell : cells) look_at(cell);
  present.walk(look_at);
  if (best) std::erase_if(cells, [&](Cell cell) { return beats(*best, cell); });
}

bool BestCells::is_nan(Cell cell) const {
  const double value = std::bit_cast<double>(values_->decode(cell));
  return value != value;
}

}  // namespace stratalog
