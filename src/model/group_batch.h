// SPDX-License-Identifier: Apache-2.0
// GroupBatch: many groups at once on their way to an encoder, with what the relation knows of equal
// sets. For relations of millions of small groups, where a call for each would cost more than what
// is done with it. Pure views, valid during the call only. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.h"
#include "model/tuple_group.h"

namespace stratalog {

struct GroupBatch {
  std::span<const TupleGroup> groups;
  // One for each group. Where not 0: all groups of the walk with this number have the same set.
  std::span<const std::uint64_t> contents;
};

using BatchVisitor = std::function<Status(const GroupBatch&)>;
// What RelationImage::for_each_group does, batch by batch.
using BatchWalk = std::function<Status(const BatchVisitor&)>;

// Where a table of 2^bits places keeps what it knows of a content.
inline std::size_t place_of_content(std::uint64_t content, unsigned bits) {
  return (content * 0x9E3779B97F4A7C15ULL) >> (64 - bits);
}

}  // namespace stratalog
