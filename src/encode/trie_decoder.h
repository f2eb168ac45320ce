// SPDX-License-Identifier: Apache-2.0
// TrieDecoder: the way back from the streams of encode/trie_streams.h to groups. It trusts nothing:
// the numbers of numbers must fit each other before the first group, and every count must fit what
// is left. Inline, because every number passes here. Pure; local.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/byte_order.h"
#include "encode/trie_streams.h"
#include "model/cell.h"
#include "model/tuple_group.h"

namespace stratalog {

// Numbers in memory, for TrieDecoder.
class NumberSource {
 public:
  void set(std::span<const std::uint32_t> numbers) { left_ = numbers; }
  std::uint64_t remaining() const { return left_.size(); }
  std::uint32_t next() {
    const std::uint32_t number = left_.front();
    left_ = left_.subspan(1);
    return number;
  }
  std::span<const std::uint32_t> take(std::uint64_t most) {
    const auto taken = left_.first(std::min<std::uint64_t>(most, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const std::uint32_t> left_;
};

// `Source` has remaining(), next() (requires remaining() > 0) and take(most): a span of the next
// numbers, at least one of them and at most `most` > 0.
template <typename Source>
class TrieDecoder {
 public:
  // Sets handed out have so many elements at most.
  static constexpr std::size_t kElements = 16384;

  explicit TrieDecoder(std::size_t arity)
      : arity_(arity), levels_(arity == 1 ? 1 : arity - 1), prefix_(arity - 1, 0) {}

  // In the order of the format, to be filled before decode(): visit(source) -> bool; false ends it,
  // and is returned.
  template <typename Visit>
  bool for_each_source(Visit&& visit) {
    if (arity_ > 1 && !visit(keys_)) return false;
    for (Level& level : levels_) {
      if (arity_ > 1 && !visit(level.count)) return false;
      if (!visit(level.first) || !visit(level.gaps)) return false;
    }
    return true;
  }

  // Whether streams of such lengths can be `groups` groups with `rows` tuples.
  bool fits(std::uint64_t groups, std::uint64_t rows) const {
    std::uint64_t nodes = arity_ > 1 ? keys_.remaining() : 1;  // of the column at hand
    if (nodes == 0) return false;
    std::uint64_t groups_found = nodes;
    for (const Level& level : levels_) {
      groups_found = nodes;
      if (arity_ > 1 && level.count.remaining() != nodes) return false;
      if (level.first.remaining() != nodes) return false;
      nodes += level.gaps.remaining();
    }
    return nodes == rows && groups_found == groups;
  }

  // `key_before`: to which the first key is a difference. Requires fits(). Corruption says what
  // cannot be. Errors of the visitor come back unchanged.
  Status decode(Cell key_before, std::uint64_t groups, std::uint64_t rows,
                const GroupVisitor& visit) {
    std::fill(prefix_.begin(), prefix_.end(), Cell{0});
    if (arity_ > 1) prefix_[0] = key_before;
    for (Level& level : levels_) level.left = 0;
    std::uint64_t seen = 0;
    for (std::uint64_t g = 0; g < groups; ++g) {
      std::uint64_t count = rows;
      if (arity_ > 1) STRATALOG_RETURN_IF_ERROR(next_group(count));
      STRATALOG_RETURN_IF_ERROR(visit_elements(count, visit));
      seen += count;
    }
    if (seen != rows) return Status::corruption("the groups do not add up to the block's tuples");
    for (const Level& level : levels_)
      if (level.left != 0 || level.gaps.remaining() != 0 || level.first.remaining() != 0)
        return Status::corruption("numbers are left over");
    return Status::ok();
  }

 private:
  struct Level {
    Source count;
    Source first;
    Source gaps;
    std::uint64_t left = 0;  // children of the open node of the level above that are still to come
  };

  // Moves `prefix` to the next group and tells how many elements it has.
  Status next_group(std::uint64_t& elements) {
    std::size_t column = arity_ - 1;  // the deepest prefix column with a further node, plus 1
    while (column > 1 && levels_[column - 2].left == 0) --column;
    if (column == 1) {
      if (keys_.remaining() == 0) return Status::corruption("fewer groups than announced");
      prefix_[0] += keys_.next();
    } else {
      Level& level = levels_[column - 2];
      prefix_[column - 1] += level.gaps.next() + 1;
      --level.left;
    }
    for (std::size_t c = column; c < arity_; ++c) {
      Level& level = levels_[c - 1];
      const std::uint64_t children = level.count.next();
      if (children == 0 || children - 1 > level.gaps.remaining())
        return Status::corruption("a number of children that cannot be");
      if (c + 1 == arity_) {
        elements = children;
      } else {
        prefix_[c] = level.first.next();
        level.left = children - 1;
      }
    }
    return Status::ok();
  }

  Status visit_elements(std::uint64_t count, const GroupVisitor& visit) {
    Level& level = levels_.back();
    std::uint64_t value = level.first.next();
    elements_[0] = static_cast<Cell>(value);
    std::size_t filled = 1;
    std::uint64_t left = count - 1;
    SetView set;
    for (;;) {
      while (left != 0 && filled < elements_.size()) {
        const auto gaps = level.gaps.take(std::min<std::uint64_t>(left, elements_.size() - filled));
        for (const std::uint32_t gap : gaps) {
          value += std::uint64_t{gap} + 1;
          elements_[filled++] = static_cast<Cell>(value);
        }
        left -= gaps.size();
      }
      if (value > kCellLimit) return Status::corruption("elements beyond 32 bits");
      set.values = std::span(elements_).first(filled);
      set.count = filled;
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = prefix_, .set = set}));
      if (left == 0) return Status::ok();
      filled = 0;
    }
  }

  std::size_t arity_;
  Source keys_;
  std::vector<Level> levels_;
  std::vector<Cell> prefix_;
  std::array<Cell, kElements> elements_;
};

}  // namespace stratalog
