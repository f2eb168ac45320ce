// SPDX-License-Identifier: Apache-2.0
// GroupBatch: many groups at once on their way to an encoder, column by column, with what the
// relation knows of equal sets. For relations of millions of small groups, most of which have a set
// that came before: such a set is not even looked at again. Pure views, valid during the call only.
// Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "model/tuple_group.h"

namespace stratalog {

// Shows the sets of a batch one at a time, to whoever needs to see one.
class SetSource {
 public:
  SetSource() = default;
  SetSource(const SetSource&) = delete;
  SetSource& operator=(const SetSource&) = delete;
  virtual ~SetSource() = default;
  // Of group `index`, not empty. Valid until the next call.
  virtual SetView set(std::size_t index) = 0;
};

struct GroupBatch {
  // arity - 1 cells of each group, one group after the other.
  std::span<const Cell> prefixes;
  // One for each group, and so their number. Where not 0: all groups of the walk with this number
  // have the same set. Never ~0.
  std::span<const std::uint64_t> contents;
  SetSource& sets;

  std::size_t size() const { return contents.size(); }
  std::span<const Cell> prefix(std::size_t index) const {
    const std::size_t cells = prefixes.size() / contents.size();
    return prefixes.subspan(index * cells, cells);
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
