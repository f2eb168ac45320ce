// SPDX-License-Identifier: Apache-2.0
// The "pool" encoding: many groups, few sets. The sets of a block, each spelled out once in the
// forms of the compact encoding, and in bit-packed streams the prefixes, column by column, and for
// each group which set it has. A block's payload stands alone. Layout: docs/formats/checkpoint.md.
// Pure; local.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/compact_codec.h"
#include "encode/packed_stream.h"
#include "model/group_batch.h"
#include "model/tuple_group.h"
#include "model/zone_builder.h"

namespace stratalog {

// A group has the next set of the pool, or one of so many that came before.
inline constexpr std::size_t kPoolReach = 4096;
// A block is closed at so many groups or tuples, for readers that hold all of it; what is added at
// once may exceed that.
inline constexpr std::uint64_t kMostPoolGroups = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMostPoolRows = std::uint64_t{1} << 22;
// What no block has.
inline constexpr std::uint64_t kPoolGroupLimit = kMostPoolGroups + kPackedValues;
inline constexpr std::uint64_t kPoolRowLimit = kMostPoolRows + kMaxDecodedElements;

// Numbers of sets and of their bytes, and the bytes of each stream.
constexpr std::size_t pool_head_bytes(std::size_t prefix_cells) {
  return 8 + ((prefix_cells + 1) * 4);
}
// Room that a block may need beyond the bytes at which it is closed: what is added at once, and an
// open unit for each stream.
constexpr std::size_t pool_slack_bytes(std::size_t arity) {
  return kMaxCompactFragmentBytes + pool_head_bytes(arity) + (arity * 3 * (1032 + 8));
}

class PoolEncoder {
 public:
  // At least one.
  explicit PoolEncoder(std::size_t prefix_cells);

  void begin_block();
  // Appends one non-empty fragment within kCompactLimits, with its content or 0; its set at `sets`,
  // which has kMaxCompactFragmentBytes of room. Returns the end of that.
  std::byte* add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content,
                 std::byte* sets);
  struct Added {
    std::byte* end;  // of the sets
    std::size_t groups = 0;
    std::uint64_t rows = 0;
  };
  // Appends groups from `first` on: at most kPackedValues, until there are `rows` rows or the sets
  // take `bytes` bytes, or up to one whose set is not one fragment. New sets enter the zone.
  Added add(const GroupBatch& batch, std::size_t first, std::uint64_t rows, std::uint64_t bytes,
            ZoneBuilder& zones, std::byte* sets);

  std::uint64_t groups() const { return refs_.values(); }
  // About what the streams take so far.
  std::size_t stream_bytes() const;
  // Appends the streams to the sets, which end at `end`; writes the head in front of them. Returns
  // the end of the payload.
  std::byte* finish(std::byte* payload, std::byte* end);

 private:
  struct Known {
    std::uint64_t content = ~std::uint64_t{0};
    std::uint32_t number = 0;  // in the pool
    std::uint32_t count = 0;  // of its elements
  };
  struct KnownRun {
    std::size_t groups = 0;
    std::uint64_t rows = 0;
  };
  Known& place_of(std::uint64_t content);
  std::byte* add_set(const SetView& set, std::uint64_t content, std::byte* sets);
  [[gnu::noinline]] KnownRun take_known(std::span<const std::uint64_t> contents, std::uint64_t rows,
                                        std::uint32_t* refs) const;

  CompactEncoder sets_{0};
  std::uint32_t pooled_ = 0;  // sets in the block
  std::vector<StreamPacker> columns_;
  StreamPacker refs_{UnitForm::kPlain};
  std::vector<Known> known_;  // direct-mapped by content
};

class PoolDecoder {
 public:
  explicit PoolDecoder(std::size_t prefix_cells);

  // Decodes a payload of exactly `groups` groups with `rows` tuples, which it checks like
  // CompactDecoder. Errors of the visitor come back unchanged.
  Status decode(std::span<const std::byte> payload, std::uint64_t groups, std::uint64_t rows,
                const GroupVisitor& visit);

 private:
  std::vector<Cell> prefix_;
  std::vector<StreamUnpacker> columns_;
  StreamUnpacker refs_;
  std::vector<SpelledSet> pool_;  // the last kPoolReach: number modulo kPoolReach
  SetReader reader_;
};

}  // namespace stratalog
