// SPDX-License-Identifier: Apache-2.0
// What a new generation takes over from the one that it builds on without writing it again: links,
// and the lines of files, shards and sections that lie behind them. Links are flat: a generation
// names every older generation whose files it needs, so readers never follow a link to a link.
// Pure; local (rank 0).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commit/manifest.h"

namespace stratalog {

// For each relation and section of the new generation, the position of the one in the base that it
// takes over.
struct CarryRequest {
  std::vector<std::optional<std::uint32_t>> relations;
  std::vector<std::optional<std::uint32_t>> sections;
};

struct CarriedOver {
  std::vector<ManifestLink> links;  // ascending
  std::vector<ManifestFile> files;
  std::vector<ManifestShard> shards;  // by relation, oldest first
  std::vector<std::optional<ManifestSection>> sections;  // parallel to the request
};

CarriedOver carry_over(const Manifest& base, const CarryRequest& request);

}  // namespace stratalog
