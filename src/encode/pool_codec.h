// SPDX-License-Identifier: Apache-2.0
// The "run_pool" encoding: many groups, few sets, most of them that of the group before. In a block
// each set stands once: spelled out in the forms of the compact encoding, or, as a row of bits over
// a table of cells, by what has changed since the row before. Bit-packed streams say which prefix
// each group has, column by column, and which set each run of groups. The older "pool" knows
// neither runs nor rows; it is read still. A block's payload stands alone. Layout:
// docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "encode/byte_order.h"
#include "encode/compact_codec.h"
#include "encode/packed_stream.h"
#include "encode/recent_sets.h"
#include "model/group_batch.h"
#include "model/tuple_group.h"
#include "model/zone_builder.h"

namespace stratalog {

enum class PoolForm : std::uint8_t { kGroups, kRuns };

// What a run says of its set. Of kGroups: zero, or the number of the set without kBackFrom.
enum class RunSet : std::uint8_t {
  kSpelled = 0,  // the next one that is spelled out
  kChanges = 1,  // the next row: the row before, but for these bits
  kRow = 2,  // the next row: these bits
  kTable = 3,  // the next set that is spelled out is the table from now on; then as kRow
};
// Above: one of those so many sets back, rows only of the same table.
inline constexpr std::uint32_t kBackFrom = 3;
inline constexpr std::size_t kPoolReach = 4096;
// A block is closed at so many groups or tuples, for readers that hold all of it; what is added at
// once may exceed that.
inline constexpr std::uint64_t kMostPoolGroups = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kMostPoolRows = std::uint64_t{1} << 22;
// What no block has.
inline constexpr std::uint64_t kPoolGroupLimit = kMostPoolGroups + kPackedValues;
inline constexpr std::uint64_t kPoolRowLimit = kMostPoolRows + kMaxDecodedElements;

// Fixed numbers of the head, and the bytes of each stream behind them.
constexpr std::size_t pool_streams(std::size_t prefix_cells, PoolForm form) {
  return prefix_cells + (form == PoolForm::kRuns ? 4 : 1);
}
constexpr std::size_t pool_head_bytes(std::size_t prefix_cells, PoolForm form = PoolForm::kRuns) {
  return (form == PoolForm::kRuns ? 20 : 8) + (pool_streams(prefix_cells, form) * 4);
}
// Room that a block may need beyond the bytes at which it is closed: what is added at once, and an
// open unit for each stream.
constexpr std::size_t pool_slack_bytes(std::size_t arity) {
  return kMaxCompactFragmentBytes + pool_head_bytes(arity) + ((arity + 3) * 3 * (1032 + 8));
}

// The next group of a batch.
struct BatchPlace {
  std::size_t run = 0;
  std::uint32_t in_run = 0;  // groups of the run before it
  std::size_t group = 0;
};

class PoolEncoder {
 public:
  // At least one.
  explicit PoolEncoder(std::size_t prefix_cells);

  void begin_block();
  // Appends one non-empty fragment within kCompactLimits, with its content or 0; its set at `sets`,
  // which has kMaxCompactFragmentBytes of room. Returns the end of that.
  std::byte* add(std::span<const Cell> prefix, const SetView& set, std::uint64_t content,
                 std::byte* sets);
  // How much a block may still take.
  struct Room {
    std::uint64_t groups = 0;  // at least one
    std::uint64_t rows = 0;  // reached, and perhaps passed by one set
    std::uint64_t bytes = 0;  // of sets, likewise
  };
  struct Added {
    std::byte* end;  // of the sets
    std::size_t groups = 0;
    std::uint64_t rows = 0;
  };
  // Appends groups from `place` on, which it moves: at most kPackedValues runs, as far as there is
  // room, or up to a set that is not one fragment. New sets enter the zone.
  Added add(const GroupBatch& batch, BatchPlace& place, const Room& room, ZoneBuilder& zones,
            std::byte* sets);

  std::uint64_t groups() const { return groups_; }
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
  Known& place_of(std::uint64_t content);
  bool reaches(const Known& known, std::uint64_t content) const;
  Known remember(const Known& set);
  Known add_set(const SetView& set, std::uint64_t content, std::byte*& sets);
  [[gnu::noinline]] Known add_row(const BitRow& row, std::uint64_t content, ZoneBuilder& zones,
                                  std::byte*& sets);
  void put_run(const Known& set, std::uint32_t groups);
  void close_run();

  CompactEncoder sets_{0};
  std::uint32_t spelled_ = 0;  // sets and tables
  std::uint32_t pooled_ = 0;  // sets and rows
  std::uint64_t groups_ = 0;
  std::vector<StreamPacker> columns_;
  StreamPacker run_sets_{UnitForm::kPlain};
  StreamPacker lengths_{UnitForm::kPlain};
  StreamPacker row_sizes_{UnitForm::kPlain};
  StreamPacker row_bits_{UnitForm::kPlain};
  std::vector<Known> known_;  // direct-mapped by content
  // The run at hand; none: of no groups.
  std::uint32_t run_groups_ = 0;
  std::uint32_t run_number_ = 0;  // of its set
  std::uint32_t run_set_ = 0;
  std::optional<RunSet> next_;  // how the last set of the pool came, until it has a run
  std::uint64_t table_ = 0;
  static constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};
  BitRowWords last_row_{};  // of the table
  std::uint32_t last_number_ = kNoNumber;  // in the pool
};

class PoolDecoder {
 public:
  explicit PoolDecoder(std::size_t prefix_cells);

  // Decodes a payload of exactly `groups` groups with `rows` tuples, which it checks like
  // CompactDecoder. Errors of the visitor come back unchanged.
  Status decode(std::span<const std::byte> payload, PoolForm form, std::uint64_t groups,
                std::uint64_t rows, const GroupVisitor& visit);

 private:
  // A set of the pool: spelled out, or a row of a table.
  struct Pooled {
    SpelledSet spelled;
    std::uint64_t table = 0;  // 0: spelled out
    BitRowWords row{};
  };
  Status open_streams(std::span<const std::byte> payload, PoolForm form, std::uint64_t groups);
  bool read_spelled(SpelledSet& what, SetView& set);
  bool read_table();
  bool read_row(const BitRowWords& before, Pooled& next);
  bool read_next(RunSet what, SetView& set);
  bool read_known(std::uint64_t back, SetView& set);
  bool give(const Pooled& pooled, SetView& set);

  std::vector<Cell> prefix_;
  std::vector<StreamUnpacker> columns_;
  StreamUnpacker run_sets_;
  StreamUnpacker lengths_;
  StreamUnpacker row_sizes_;
  StreamUnpacker row_bits_;
  std::uint64_t runs_ = 0;
  RecentSets<Pooled, kPoolReach> pool_;
  std::uint64_t read_sets_ = 0;  // spelled out, tables included
  std::span<const std::byte> spelled_;  // all of them
  ByteReader in_{std::span<const std::byte>()};
  std::uint64_t table_ = 0;  // its number in the block
  std::vector<Cell> table_cells_;
  BitRowWords last_row_{};
  std::array<Cell, kMaxBitRowCells> cells_;
  SetReader reader_;
};

}  // namespace stratalog
