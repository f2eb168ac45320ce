// SPDX-License-Identifier: Apache-2.0
// ZoneBuilder: the lowest and the highest cell of every column, block by block, while the tuples of
// a shard pass. Inline, because it sees every group. Pure; local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/cell.h"
#include "model/set_walk.h"
#include "model/tuple_group.h"

namespace stratalog {

class ZoneBuilder {
 public:
  // `column_order`: group column i is declared column column_order[i]. Its size is the arity; the
  // zones of arity 0 (sections) stay empty.
  explicit ZoneBuilder(std::span<const std::uint32_t> column_order)
      : column_order_(column_order.begin(), column_order.end()) {}

  // What follows belongs to the next block.
  void begin_block() {
    for (std::size_t c = 0; c < column_order_.size(); ++c)
      zones_.insert(zones_.end(), {~Cell{0}, 0});
  }
  // Requires a block, and a set that is not empty.
  void add(std::span<const Cell> prefix, const SetView& set) {
    Cell* const zone = zones_.data() + zones_.size() - (column_order_.size() * 2);
    const auto widen = [zone](std::uint32_t column, Cell lowest, Cell highest) {
      Cell* const ends = zone + (std::size_t{column} * 2);
      ends[0] = std::min(ends[0], lowest);
      ends[1] = std::max(ends[1], highest);
    };
    for (std::size_t i = 0; i < prefix.size(); ++i) widen(column_order_[i], prefix[i], prefix[i]);
    widen(column_order_[prefix.size()], first_of(set), last_of(set));
  }
  // The same in two parts, for many groups: their sets, as far as they are not the same ones, and
  // their prefixes, one after the other.
  void add_set(const SetView& set) { add_last(first_of(set), last_of(set)); }
  void add_last(Cell lowest, Cell highest) {  // of a set
    const std::size_t column = column_order_.back();
    Cell* const ends = zones_.data() + zones_.size() - ((column_order_.size() - column) * 2);
    ends[0] = std::min(ends[0], lowest);
    ends[1] = std::max(ends[1], highest);
  }
  void add_prefixes(std::span<const Cell> prefixes) {
    const std::size_t cells = column_order_.size() - 1;
    Cell* const zone = zones_.data() + zones_.size() - (column_order_.size() * 2);
    for (std::size_t c = 0; c < cells; ++c) {
      Cell* const ends = zone + (std::size_t{column_order_[c]} * 2);
      Cell lowest = ends[0];
      Cell highest = ends[1];
      for (std::size_t at = c; at < prefixes.size(); at += cells) {
        lowest = std::min(lowest, prefixes[at]);
        highest = std::max(highest, prefixes[at]);
      }
      ends[0] = lowest;
      ends[1] = highest;
    }
  }
  // For each block and each declared column two cells.
  const std::vector<Cell>& zones() const { return zones_; }
  std::vector<Cell> take() { return std::move(zones_); }

 private:
  std::vector<std::uint32_t> column_order_;
  std::vector<Cell> zones_;
};

}  // namespace stratalog
