// SPDX-License-Identifier: Apache-2.0
// PartChoice: why a relation was written whole or only its growth, with the numbers of the
// decision, as the manifest tells it. For people and tools; readers of tuples do not need it. Plain
// data.
#pragma once

#include <cstdint>
#include <string>

namespace stratalog {

struct PartChoice {
  std::string part;  // "whole", "growth"; empty: not told
  std::string reason;
  std::uint64_t parts = 0;  // generations that hold a part of the relation
  std::uint64_t whole_bytes = 0;  // of the whole part
  std::uint64_t growth_bytes = 0;  // of the parts that were added since
};

}  // namespace stratalog
