// SPDX-License-Identifier: Apache-2.0
// A relation of pairs that is large, and quick to make: keys with a run of 60,000 values each.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "model/multiset_hash.h"
#include "model/tuple_group.h"

namespace stratalog {

inline constexpr std::uint64_t kRunRows = 60000;

// The keys first, first + step, ... below `end`.
inline RelationImage image_of_runs(std::string name, Cell first, Cell step, Cell end) {
  static constexpr std::uint16_t kRun[2] = {0, kRunRows - 1};
  const auto walk = [first, step, end](const GroupVisitor& visit) {
    for (Cell key = first; key < end; key += step) {
      TupleGroup group{.prefix = std::span(&key, 1), .set = {}};
      group.set.kind = SetKind::kRuns;
      group.set.offsets = kRun;
      group.set.count = kRunRows;
      STRATALOG_RETURN_IF_ERROR(visit(group));
    }
    return Status::ok();
  };
  RelationImage image;
  image.name = std::move(name);
  image.arity = 2;
  image.column_order = {0, 1};
  GroupHasher hasher(image.column_order);
  (void)walk([&](const TupleGroup& group) {
    image.rows += group.set.count;
    image.hash += hasher.hash(group);
    return Status::ok();
  });
  image.for_each_group = walk;
  return image;
}

}  // namespace stratalog
