// SPDX-License-Identifier: Apache-2.0
// ids_by_key: the entries of a map in the order of their keys. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "relation/prefix_map.h"

namespace stratalog {

// All ids of the map, ascending by key, cell after cell.
std::vector<std::uint32_t> ids_by_key(const PrefixMap& keys);

}  // namespace stratalog
