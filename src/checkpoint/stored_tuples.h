// SPDX-License-Identifier: Apache-2.0
// Some tuples of a stored relation, without reading the others: blocks whose zones in the manifest
// cannot hold any of them are passed over. Every block that is read is verified first. Local.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "model/tuple_filter.h"
#include "write/store.h"

namespace stratalog {

struct ReadExtent {
  std::uint64_t blocks = 0;  // of the relation
  std::uint64_t blocks_read = 0;
};

// As for_each_stored_group, but hands out only what the filter wants of relation `index`. `extent`
// is set, not added to.
Status for_each_wanted_group(Store& store, const std::string& generation, std::size_t index,
                             const TupleFilter& filter, const GroupVisitor& visit,
                             ReadExtent& extent);

}  // namespace stratalog
