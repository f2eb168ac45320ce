// SPDX-License-Identifier: Apache-2.0
// GroupBatch: many groups at once on their way to an encoder, column by column, with what the
// relation knows of equal sets. For relations of millions of groups, most of which have the set of
// the group before: such a set is not even looked at again, and one that is new is often shown as
// bits, so that only its difference to another one need be looked at. Pure views, valid during the
// call only. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "model/bit_row.h"
#include "model/tuple_group.h"

namespace stratalog {

// Shows the sets of a batch one at a time, to whoever needs to see one.
class SetSource {
 public:
  SetSource() = default;
  SetSource(const SetSource&) = delete;
  SetSource& operator=(const SetSource&) = delete;
  virtual ~SetSource() = default;
  // Of run `index`, not empty. Valid until the next call.
  virtual SetView set(std::size_t index) = 0;
  // The same as bits, if it can be shown so.
  virtual BitRow row(std::size_t /*index*/) { return {}; }
};

// Groups in runs: those of a run follow each other and have the same set.
struct GroupBatch {
  // arity - 1 cells of each group, one group after the other.
  std::span<const Cell> prefixes;
  // Of each run: how many groups, at least one.
  std::span<const std::uint32_t> lengths;
  // One for each run. Where not 0: all runs of the walk with this number have the same set. Never
  // ~0.
  std::span<const std::uint64_t> contents;
  std::size_t prefix_cells = 1;  // at least one
  SetSource& sets;  // by run

  std::size_t runs() const { return contents.size(); }
  std::size_t groups() const { return prefixes.size() / prefix_cells; }
  std::span<const Cell> prefix(std::size_t group) const {
    return prefixes.subspan(group * prefix_cells, prefix_cells);
  }
};

using BatchVisitor = std::function<Status(const GroupBatch&)>;
// What RelationImage::for_each_group does, batch by batch.
using BatchWalk = std::function<Status(const BatchVisitor&)>;

// Where a table of 2^bits places keeps what it knows of a content.
inline std::size_t place_of_content(std::uint64_t content, unsigned bits) {
  return (content * 0x9E3779B97F4A7C15ULL) >> (64 - bits);
}

}  // namespace stratalog
