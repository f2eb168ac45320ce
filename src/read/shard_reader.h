// SPDX-License-Identifier: Apache-2.0
// Reads shards back: follows extents, verifies header and footer against the manifest and every
// block against the footer, then decodes. One block of memory. Nothing is handed out before its
// block is verified. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "commit/manifest.h"
#include "commit/protocol_steps.h"
#include "model/tuple_filter.h"
#include "model/tuple_group.h"
#include "place/read_ranges.h"
#include "write/store.h"

namespace stratalog {

struct ReadCounts {
  std::uint64_t blocks = 0;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;
};

// What went wrong: reading or the visitor. At most one is not OK.
struct ReadOutcome {
  Status read;  // I/O error or Corruption, with file and offset
  Status visitor;  // as the visitor returned it

  bool is_ok() const { return read.is_ok() && visitor.is_ok(); }
};

// Reads the blocks of `shard` that begin at shard offsets in [begin, end); [0, shard.bytes()) is
// all of it, and then the number of rows is checked as well. In row files, pieces take the place of
// blocks. Blocks whose zones cannot hold what `wanted` (null: everything) wants are not read; the
// groups of the others are handed out as they are.
ReadOutcome read_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                       std::uint64_t begin, std::uint64_t end, const ProtocolSteps& steps,
                       const GroupVisitor& visit, ReadCounts& counts,
                       const TupleFilter* wanted = nullptr);

using ShardVisitor = std::function<Status(const ManifestShard& shard, const TupleGroup& group)>;

// Reads ranges (at least one) of shards of blocks that lie in one file, front to back in one stream
// of reads; blocks are handed out as they get complete (place/turn_order.h). Memory: the footers of
// all of these shards, four blocks and those that wait for their rest (32 MiB at most).
ReadOutcome read_in_turns(Store& store, const Manifest& manifest,
                          std::span<const ShardRange> ranges, const ProtocolSteps& steps,
                          const ShardVisitor& visit, ReadCounts& counts);

// A hint: read_shard will soon be called with these. Asks the device for the first `head` bytes of
// them, and for the footer, which is read before.
void prefetch_shard(Store& store, const Manifest& manifest, const ManifestShard& shard,
                    std::uint64_t begin, std::uint64_t end, std::uint64_t head);

// The content of a section.
Result<std::vector<std::byte>> read_section(Store& store, const Manifest& manifest,
                                            std::size_t index, const ProtocolSteps& steps);

}  // namespace stratalog
