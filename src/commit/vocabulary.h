// SPDX-License-Identifier: Apache-2.0
// The words that checkpoint files and options share: modes, durability levels, encodings, and their
// spelling in the manifest and on the command line. Pure; local.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "encode/shard_encoding.h"
#include "policy/checkpoint_mode.h"

namespace stratalog {

enum class Durability : std::uint8_t {
  kFull,  // "full": files and directories are fsynced; an acknowledged generation survives power
          // loss
  kData,  // "data": file contents only; power loss may cost the newest generations, never tear one
  kNone,  // "none": no fsync; survives killed processes only
};

std::string_view durability_name(Durability durability);
std::optional<Durability> parse_durability(std::string_view name);

}  // namespace stratalog
