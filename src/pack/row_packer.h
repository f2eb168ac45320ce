// SPDX-License-Identifier: Apache-2.0
// Rows from groups and groups from rows: `put_rows` writes the tuples of a fragment as rows of
// 64-bit numbers in declared column order (what HDF5 and the reference encoding hold);
// GroupCollector turns such rows back into groups. Pure; local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/tuple_group.h"

namespace stratalog {

// Writes set.count rows of column_order.size() numbers at `to`; returns the end.
std::uint64_t* put_rows(std::span<const Cell> prefix, const SetView& set,
                        std::span<const std::uint32_t> column_order, std::uint64_t* to);

// Collects consecutive rows with one prefix and ascending last cells into groups of at most 16,384
// elements.
class GroupCollector {
 public:
  GroupCollector(std::span<const std::uint32_t> column_order, const GroupVisitor& visit)
      : order_(column_order.begin(), column_order.end()),
        visit_(visit),
        prefix_(order_.empty() ? 0 : order_.size() - 1),
        elements_(std::make_unique_for_overwrite<Cell[]>(kMaxElements)) {}

  // Whole rows in declared column order, at any address. Corruption if a number is no cell.
  Status add_rows(std::span<const std::byte> rows);
  // Hands out what is left.
  Status flush();

 private:
  static constexpr std::size_t kMaxElements = 16384;

  Status add_row(const std::uint64_t* row);
  template <std::size_t kLast>
  Status add_pairs(const std::byte* rows, std::size_t count);

  std::vector<std::uint32_t> order_;
  const GroupVisitor& visit_;
  std::vector<Cell> prefix_;
  std::unique_ptr<Cell[]> elements_;
  std::size_t count_ = 0;  // of elements_
};

}  // namespace stratalog
