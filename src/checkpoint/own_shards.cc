// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/own_shards.h"

namespace stratalog {

std::vector<const ManifestShard*> shards_of_rank(const Manifest& manifest, std::uint32_t relation,
                                                 const Comm& comm) {
  const auto ranks = static_cast<std::uint32_t>(comm.size());
  const auto rank = static_cast<std::uint32_t>(comm.rank());
  std::vector<const ManifestShard*> mine;
  std::uint32_t number = 0;
  for (const ManifestShard& shard : manifest.shards) {
    if (shard.relation != relation) continue;
    const std::uint32_t owner = (manifest.ranks == ranks ? shard.rank : number++) % ranks;
    if (owner == rank) mine.push_back(&shard);
  }
  return mine;
}

}  // namespace stratalog
