// SPDX-License-Identifier: Apache-2.0
// PivotImage: what a PivotClosure held at one moment, or the part of it that a checkpoint asks for,
// as tuple groups. It shares the packed rows with the closure, which never changes them in place,
// so an image stays what it was while the closure runs on. Local; walking is thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/row_layers.h"
#include "model/group_batch.h"
#include "model/tuple_filter.h"
#include "model/tuple_group.h"

namespace stratalog {

// (slot, pivots of one block that hold it); the views live during the call only.
using SlotVisitor = std::function<Status(SlotId slot, const SetView& pivots)>;
// Many of them at once, in runs as in GroupBatch.
struct SlotBatch {
  std::span<const SlotId> slots;
  std::span<const std::uint32_t> lengths;
  std::span<const std::uint64_t> contents;
  SetSource& pivots;  // by run
};
using SlotBatchVisitor = std::function<Status(const SlotBatch&)>;
// (slot, its pivots over all owned blocks, ascending).
using SlotRowVisitor = std::function<Status(SlotId slot, std::span<const SetView> pivots)>;

// (place of a pivot among those asked for, the slots that hold it)
using PivotVisitor = std::function<Status(std::size_t which, std::span<const SlotId> slots)>;
// (the same, a bit for each place that holds it)
using PivotBitsVisitor =
    std::function<Status(std::size_t which, std::span<const std::uint64_t> places)>;

// Where slots stand among bits.
struct SlotPlaces {
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  std::span<const std::uint32_t> of_slot;  // those behind the end stand nowhere
  std::uint32_t places = 0;  // a multiple of 64
};

// Which rows are asked for, and what of them.
struct RowChoice {
  // Asked before each visit; empty: all slots.
  std::function<bool(SlotId slot)> is_wanted;
  const CellSet* pivots = nullptr;  // null: all of them
};

// Which tuples an image shows.
enum class ImageRows : std::uint8_t {
  kTotal,
  kDelta,  // of the last round
  kGrowth,  // of the total, what the last acknowledged checkpoint does not have
};

class PivotImage {
 public:
  struct Block {
    LaneId first_lane = 0;
    std::vector<RowLayer> layers;  // disjoint
  };

  PivotImage(std::shared_ptr<const PivotSpace> space, RowWidth width, std::vector<Block> blocks)
      : space_(std::move(space)), width_(width), blocks_(std::move(blocks)) {}

  // By block, and by slot within a block; the same slot comes once for each block. Stops at the
  // visitor's first error.
  Status for_each_group(const SlotVisitor& visit) const;
  // The same in batches of at most kMostInBatch.
  static constexpr std::size_t kMostInBatch = 512;
  Status for_each_batch(const SlotBatchVisitor& visit) const;
  // By slot below `slots`, over all blocks.
  Status for_each_slot(SlotId slots, const SlotRowVisitor& visit,
                       const RowChoice& choice = {}) const;
  // Whether the slot holds the pivot, which may be none or another rank's. Looks one row up.
  bool holds(SlotId slot, Cell pivot) const;
  // The slots of each pivot that is here and has any, of each layer in turn ascending; `which` is
  // its place among `pivots`, which are distinct. Walks over the blocks that have them, block by
  // block, with a bound on what it remembers. Stops at the visitor's first error.
  Status for_each_pivot(std::span<const Cell> pivots, const PivotVisitor& visit) const;
  // The same as bits: 64 slots times 64 pivots at a time, however many of them hold each other.
  // Takes 128 bytes a place meanwhile.
  Status for_each_pivot(std::span<const Cell> pivots, const SlotPlaces& places,
                        const PivotBitsVisitor& visit) const;
  // Appends the pivots of one slot, ascending. Looks the row up in every block.
  void append_pivots(SlotId slot, std::vector<Cell>& pivots) const;
  std::uint64_t tuples() const;
  std::size_t blocks() const { return blocks_.size(); }

 private:
  // A pivot that is asked for.
  struct Asked {
    LaneId lane;
    std::size_t which;
  };
  using AskedPivots = std::span<const Asked>;
  // Those that are here, by block.
  Status for_each_asked(
      std::span<const Cell> pivots,
      const std::function<Status(const Block& block, AskedPivots asked)>& visit) const;
  // Pivots of one block.
  Status visit_pivots(const Block& block, AskedPivots asked, const PivotVisitor& visit) const;
  // The lanes of a block whose pivots are in the set.
  BitRowWords lanes_in(const Block& block, const CellSet& pivots) const;
  // The block of a pivot, and where in it; null where it is not here.
  const Block* block_of(Cell pivot, std::uint32_t& offset) const;

  std::shared_ptr<const PivotSpace> space_;
  RowWidth width_;
  std::vector<Block> blocks_;
};

}  // namespace stratalog
