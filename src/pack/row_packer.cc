// SPDX-License-Identifier: Apache-2.0
#include "pack/row_packer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "model/set_walk.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kCellLimit = 0xFFFFFFFFULL;

// Rows with a number of columns, and a place of the last cell, that the compiler knows.
template <std::size_t kArity, std::size_t kLast>
class FixedRows {
 public:
  FixedRows(std::span<const Cell> prefix, std::span<const std::uint32_t> column_order,
            std::uint64_t* to)
      : to_(to) {
    for (std::size_t i = 0; i + 1 < kArity; ++i) row_[column_order[i]] = prefix[i];
  }

  // One row for each of cell_at(0) .. cell_at(count - 1).
  template <typename CellAt>
  void put(std::size_t count, CellAt&& cell_at) {
    std::uint64_t* const to = to_;
    const std::array<std::uint64_t, kArity> row = row_;
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < kArity; ++c)
        to[(i * kArity) + c] = c == kLast ? std::uint64_t{cell_at(i)} : row[c];
    to_ = to + (count * kArity);
  }
  std::uint64_t* end() const { return to_; }

 private:
  std::array<std::uint64_t, kArity> row_ = {};
  std::uint64_t* to_;
};

template <std::size_t kArity, std::size_t kLast>
std::uint64_t* put_fixed(std::span<const Cell> prefix, const SetView& set,
                         std::span<const std::uint32_t> column_order, std::uint64_t* to) {
  FixedRows<kArity, kLast> rows(prefix, column_order, to);
  const Cell base = set.base;
  const std::uint16_t* const offsets = set.offsets.data();
  switch (set.kind) {
    case SetKind::kArray: {
      const Cell* const values = set.values.data();
      rows.put(set.values.size(), [=](std::size_t i) { return values[i]; });
      break;
    }
    case SetKind::kOffsets:
      rows.put(set.offsets.size(), [=](std::size_t i) { return base + offsets[i]; });
      break;
    case SetKind::kRuns:
      for (std::size_t r = 0; r < set.offsets.size(); r += 2) {
        const Cell first = base + offsets[r];
        rows.put(std::size_t{offsets[r + 1]} + 1,
                 [=](std::size_t i) { return first + static_cast<Cell>(i); });
      }
      break;
    case SetKind::kBitmap:
      walk_set(set, [&](Cell cell) { rows.put(1, [=](std::size_t) { return cell; }); });
      break;
  }
  return rows.end();
}

std::uint64_t* put_any(std::span<const Cell> prefix, const SetView& set,
                       std::span<const std::uint32_t> column_order, std::uint64_t* to) {
  const std::size_t arity = column_order.size();
  const std::uint32_t last = column_order[arity - 1];
  walk_set(set, [&](Cell cell) {
    for (std::size_t i = 0; i + 1 < arity; ++i) to[column_order[i]] = prefix[i];
    to[last] = cell;
    to += arity;
  });
  return to;
}

}  // namespace

std::uint64_t* put_rows(std::span<const Cell> prefix, const SetView& set,
                        std::span<const std::uint32_t> column_order, std::uint64_t* to) {
  const std::uint32_t last = column_order.back();
  switch (column_order.size()) {
    case 1:
      return put_fixed<1, 0>(prefix, set, column_order, to);
    case 2:
      return last == 0 ? put_fixed<2, 0>(prefix, set, column_order, to)
                       : put_fixed<2, 1>(prefix, set, column_order, to);
    case 3:
      if (last == 0) return put_fixed<3, 0>(prefix, set, column_order, to);
      return last == 1 ? put_fixed<3, 1>(prefix, set, column_order, to)
                       : put_fixed<3, 2>(prefix, set, column_order, to);
    default:
      return put_any(prefix, set, column_order, to);
  }
}

Status GroupCollector::add_row(const std::uint64_t* row) {
  bool same = count_ != 0 && count_ < kMaxElements;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint64_t value = row[order_[i]];
    if (value > kCellLimit)
      return Status::corruption(
          fmt::format("column {} holds {}, which is no cell", order_[i], value));
    if (i + 1 < order_.size()) same = same && prefix_[i] == value;
  }
  const auto last = static_cast<Cell>(row[order_.back()]);
  if (!same || last <= elements_[count_ - 1]) {
    STRATALOG_RETURN_IF_ERROR(flush());
    for (std::size_t i = 0; i < prefix_.size(); ++i) prefix_[i] = static_cast<Cell>(row[order_[i]]);
  }
  elements_[count_++] = last;
  return Status::ok();
}

// Rows of two columns, column kLast ascending within a group: eight at a time while they go on.
template <std::size_t kLast>
Status GroupCollector::add_pairs(const std::byte* rows, std::size_t count) {
  constexpr std::size_t kStep = 8;
  const auto number = [rows](std::size_t row, std::size_t column) {
    std::uint64_t value;
    std::memcpy(&value, rows + (((row * 2) + column) * 8), 8);
    return value;
  };
  for (std::size_t i = 0; i < count;) {
    // Begins a group or goes on with one, and judges what stopped the loop below.
    const std::uint64_t row[2] = {number(i, 0), number(i, 1)};
    STRATALOG_RETURN_IF_ERROR(add_row(row));
    const std::uint64_t key = row[1 - kLast];
    ++i;
    const std::size_t end = std::min(count, i + (kMaxElements - count_));
    Cell* to = elements_.get() + count_;
    for (; i + kStep <= end; i += kStep) {
      std::uint64_t stops = number(i + kStep - 1, kLast) > kCellLimit ? 1 : 0;
      for (std::size_t j = 0; j < kStep; ++j) {
        const std::uint64_t value = number(i + j, kLast);
        stops |= number(i + j, 1 - kLast) ^ key;
        stops |= value <= number(i + j - 1, kLast) ? 1 : 0;
        to[j] = static_cast<Cell>(value);
      }
      if (stops != 0) break;
      to += kStep;
    }
    for (; i < end; ++i) {
      const std::uint64_t value = number(i, kLast);
      if (number(i, 1 - kLast) != key || value <= number(i - 1, kLast) || value > kCellLimit) break;
      *to++ = static_cast<Cell>(value);
    }
    count_ = static_cast<std::size_t>(to - elements_.get());
  }
  return Status::ok();
}

Status GroupCollector::add_rows(std::span<const std::byte> rows) {
  const std::size_t row_bytes = order_.size() * 8;
  if (order_.size() == 2)
    return order_.back() == 0 ? add_pairs<0>(rows.data(), rows.size() / row_bytes)
                              : add_pairs<1>(rows.data(), rows.size() / row_bytes);
  std::vector<std::uint64_t> row(order_.size());
  for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
    std::memcpy(row.data(), rows.data() + at, row_bytes);
    STRATALOG_RETURN_IF_ERROR(add_row(row.data()));
  }
  return Status::ok();
}

Status GroupCollector::flush() {
  if (count_ == 0) return Status::ok();
  SetView set;
  set.values = std::span<const Cell>(elements_.get(), count_);
  set.count = count_;
  const Status status = visit_({.prefix = prefix_, .set = set});
  count_ = 0;
  return status;
}

}  // namespace stratalog
