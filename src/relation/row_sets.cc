// SPDX-License-Identifier: Apache-2.0
#include "relation/row_sets.h"

namespace stratalog {

const std::array<IntSet, RowSets::kChunkRows> RowSets::kNothing{};

}  // namespace stratalog
