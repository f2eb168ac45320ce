// SPDX-License-Identifier: Apache-2.0
#include "commit/vocabulary.h"

namespace stratalog {

std::string_view mode_name(CheckpointMode mode) {
  switch (mode) {
    case CheckpointMode::kFilePerProcess:
      return "fpp";
    case CheckpointMode::kShared:
      return "shared";
    case CheckpointMode::kHdf5:
      return "hdf5";
  }
  return "unknown";
}

std::optional<CheckpointMode> parse_mode(std::string_view name) {
  for (const CheckpointMode m :
       {CheckpointMode::kFilePerProcess, CheckpointMode::kShared, CheckpointMode::kHdf5})
    if (mode_name(m) == name) return m;
  return std::nullopt;
}

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
