// SPDX-License-Identifier: Apache-2.0
// Which shards of a stored relation a rank writes anew when a generation, or a chain in it, is
// written as one. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/comm.h"
#include "commit/manifest.h"

namespace stratalog {

// The rank's own, oldest first, or its share of them where the number of ranks is another than that
// of the writers. They point into the manifest.
std::vector<const ManifestShard*> shards_of_rank(const Manifest& manifest, std::uint32_t relation,
                                                 const Comm& comm);

}  // namespace stratalog
