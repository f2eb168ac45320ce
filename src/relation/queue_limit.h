// SPDX-License-Identifier: Apache-2.0
// QueueLimit: how many derivations may wait before duplicates among them are forgotten. Rules with
// many derivations for each tuple would fill the memory with them; where most are new, looking for
// duplicates early is work for nothing. So it starts low, stays in proportion to what is left, and
// rises where little was found. Pure; local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "model/cell.h"
#include "model/word_buffer.h"

namespace stratalog {

// How many different prefixes of `length` cells there are for each of many tuples of `arity` cells,
// back to back, about: counts those whose hash falls into a 64th of its range. 1 where there are
// too few tuples to say.
double distinct_share(std::span<const Cell> tuples, std::uint32_t arity, std::uint32_t length);

class QueueLimit {
 public:
  // Of tuples of two cells in one queue; wider ones take more memory each.
  static constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMost = std::uint64_t{8} << 20;
  // Fewer are not worth looking at.
  static constexpr std::uint64_t kFew = std::uint64_t{1} << 16;

  QueueLimit() = default;
  // Of tuples of `arity` cells, in one of so many queues that fill side by side: together they let
  // as much wait as one alone, unless that were less than kLeast for each.
  explicit QueueLimit(std::uint32_t arity, std::uint64_t queues = 1)
      : least_(std::max(kFew, 2 * kLeast / (arity * queues))),
        most_(std::max(kLeast, 2 * kMost / (arity * queues))),
        limit_(least_) {}

  bool is_reached(std::uint64_t waiting) const { return waiting >= limit_; }
  // Of `waiting` derivations `left` were different tuples; `tuples` are there beside them, which
  // have to be gone through each time.
  void note(std::uint64_t waiting, std::uint64_t left, std::uint64_t tuples) {
    limit_ = std::clamp(std::max(3 * left, 2 * left >= waiting ? 2 * limit_ : 0) + tuples, least_,
                        most_);
  }
  // Forgets duplicates among tuples that wait and have reached the limit, if there are many.
  // Whether the others may go on waiting; else they need a place now. Beyond the most they may
  // where most of them will be rows of an index, which take more memory than tuples that wait.
  bool let_wait(WordBuffer<Cell>& tuples, std::uint32_t arity);

 private:
  std::uint64_t least_ = kLeast;
  std::uint64_t most_ = kMost;
  std::uint64_t limit_ = kLeast;
};

}  // namespace stratalog
