// SPDX-License-Identifier: Apache-2.0
#include "commit/vocabulary.h"

namespace stratalog {

std::string_view durability_name(Durability durability) {
  switch (durability) {
    case Durability::kFull:
      return "full";
    case Durability::kData:
      return "data";
    case Durability::kNone:
      return "none";
  }
  return "unknown";
}

std::optional<Durability> parse_durability(std::string_view name) {
  for (const Durability d : {Durability::kFull, Durability::kData, Durability::kNone})
    if (durability_name(d) == name) return d;
  return std::nullopt;
}

}  // namespace stratalog
