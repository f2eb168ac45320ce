// SPDX-License-Identifier: Apache-2.0
// ShardEncoder: turns one rank's groups of one relation version into the bytes of a shard (header,
// sealed blocks, footer) and hands them to a sink in order. Holds one block; never the shard. What
// the bytes go into is not its business. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/block_format.h"
#include "encode/compact_codec.h"
#include "encode/pool_codec.h"
#include "encode/streams_codec.h"
#include "model/group_batch.h"
#include "model/tuple_group.h"
#include "model/zone_builder.h"

namespace stratalog {

// Receives consecutive pieces of the shard.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

struct ShardSummary {
  std::uint64_t bytes = 0;
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  std::uint64_t blocks = 0;
  std::uint64_t streams_blocks = 0;  // of `blocks`
  std::uint64_t run_pools = 0;  // of `blocks`
  Hash128 hash;
  // Of tuples: for each block and each declared column the lowest and the highest cell.
  std::vector<Cell> zones;
};

class ShardEncoder {
 public:
  // `column_order` matters for kRowsU64 only; its size is the arity (>= 1). A block is closed when
  // its payload reaches `block_bytes` (<= 1 MiB).
  ShardEncoder(const ShardHeader& header, std::span<const std::uint32_t> column_order,
               std::uint64_t block_bytes, ByteSink sink);

  Status add(const TupleGroup& group);
  // All batches that an encoder gets are of one walk. Blocks that begin with them are pools, unless
  // the encoding has none or another one is smaller.
  Status add(const GroupBatch& batch);
  // For sections (kRaw).
  Status add_raw(std::span<const std::byte> bytes);
  // Whether nothing has been added yet; such a shard need not be written at all.
  bool is_empty() const { return block_rows_ == 0 && footer_.blocks.empty(); }
  // Writes what is left. A shard without blocks is legal (empty section).
  Result<ShardSummary> finish();

 private:
  // How the block at hand is written. A trial block of kAuto is written both ways.
  enum class Way : std::uint8_t { kCompact, kPool, kRows, kStreams, kTrial, kRaw };

  Status add_group(const TupleGroup& group, std::uint64_t content);
  Status add_pooled(const GroupBatch& batch, BatchPlace& place);
  bool is_one_fragment(const SetView& set) const;
  Status add_fragment(std::span<const Cell> prefix, const SetView& fragment, std::uint64_t content);
  void add_rows(std::span<const Cell> prefix, const SetView& fragment);
  bool is_full() const;
  void begin_block();
  Status begin();
  void finish_pool();
  void judge_pool();
  void choose_after_trial();
  Status close_block();
  Status give(std::span<const std::byte> bytes);

  ShardHeader header_;
  std::vector<std::uint32_t> column_order_;
  std::uint64_t block_bytes_;
  ByteSink sink_;
  FragmentLimits limits_;
  CompactEncoder compact_;
  ZoneBuilder zones_;
  std::unique_ptr<StreamsEncoder> streams_;  // of kStreams and kAuto
  std::unique_ptr<PoolEncoder> pool_;  // stands for compact_ once there are batches
  std::unique_ptr<std::byte[]> block_;
  std::unique_ptr<std::byte[]> other_block_;  // the same tuples as streams; of kAuto
  Way way_ = Way::kRaw;
  Way chosen_ = Way::kCompact;  // by the last trial
  bool in_pool_ = false;  // the block at hand, unless it is streams
  std::size_t payload_bytes_ = 0;  // of all ways but streams; of a pool without its streams
  std::uint32_t block_groups_ = 0;  // likewise
  std::uint64_t block_rows_ = 0;
  std::uint64_t streams_blocks_ = 0;
  std::uint64_t run_pools_ = 0;
  std::vector<std::byte> header_bytes_;
  ShardFooter footer_;
  std::uint64_t bytes_ = 0;
};

}  // namespace stratalog
