// SPDX-License-Identifier: Apache-2.0
// BlockStream: a shard of tuples or a section, opened for reading block by block: its header and
// footer are verified against the manifest, and where its blocks begin is known. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "encode/block_format.h"
#include "read/extent_stream.h"
#include "write/store.h"

namespace stratalog {

// What identifies a stream of blocks: a shard of tuples or a section.
struct StreamFacts {
  std::uint64_t file_id = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  Hash128 hash;
};

// A stream of blocks whose header and footer are verified.
struct BlockStream {
  StreamFacts facts;
  ExtentStream stream;
  ShardFooter footer;
  Nonce nonce;
  std::vector<std::uint64_t> begins = {};  // of each block
};

Result<BlockStream> open_blocks(ExtentStream stream, const StreamFacts& facts, const Nonce& nonce);
// A shard of blocks that lies in `file`.
Result<BlockStream> open_shard(const Manifest& manifest, const ManifestShard& shard,
                               const std::shared_ptr<File>& file);

}  // namespace stratalog
