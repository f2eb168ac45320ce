// SPDX-License-Identifier: Apache-2.0
// PivotClosure: evaluates a decomposable linear recursion. Its tuples are (slot, pivot) pairs; one
// semi-naive round moves every pivot of the delta along the edges of its slot (Wolfson and Ozeri,
// "Parallel and distributed processing of rules by data-reduction"; Seib and Lausen: programs that
// keep a column need no communication). 512 pivots move in one row operation, block after block,
// each block many rounds at a time. Not collective: every rank holds the blocks it owns and never
// hears of the others; sums over ranks are the caller's. No files, no MPI. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "datalog/pivot/block_shelf.h"
#include "datalog/pivot/block_sweep.h"
#include "datalog/pivot/landmarks.h"
#include "datalog/pivot/packed_rows.h"
#include "datalog/pivot/pivot_image.h"
#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/round_skew.h"
#include "datalog/pivot/row_layers.h"
#include "datalog/pivot/slot_graph.h"
#include "model/tuple_group.h"

namespace stratalog {

// Appends the lanes that are members of a mask, in any order. Called once for each mask that an
// edge names.
using MaskMembers = std::function<Status(MaskId mask, std::vector<LaneId>& lanes)>;

enum class SkewPolicy : std::uint8_t { kAutomatic, kNever };

struct PivotClosureOptions {
  RowWidth width = RowWidth::kWords8;
  BlockOwnership ownership;
  std::uint64_t memory_limit_bytes = ~std::uint64_t{0};
  SkewPolicy skew = SkewPolicy::kAutomatic;
};

struct BlockProgress {
  std::uint32_t blocks_done = 0;
  std::uint32_t blocks = 0;  // owned
  std::uint64_t new_rows = 0;  // tuples derived in this run so far
  std::uint64_t block_rounds = 0;  // RunReport::block_rounds so far
  std::uint64_t memory_bytes = 0;  // memory_bytes() at this moment
};

class PivotClosure;

struct RunOptions {
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  std::uint64_t max_rounds = kNoLimit;
  std::function<bool()> stop;  // asked between blocks; may be empty
  // Called within blocks, every `pause_operations` row operations; may be empty. The block that is
  // being swept stands where it stood before: images, counts, freeze() and acknowledge() are as
  // sound as between two blocks. An error leaves it there.
  std::function<Status()> pause = {};
  std::uint64_t pause_operations = 1U << 18;
  std::function<void(const BlockProgress&)> progress;  // told between blocks; may be empty
  // Closures of other threads that run at the same time over the same graph (adopt()): this run
  // sweeps blocks of theirs when it has none left, and they may sweep blocks of this one. Only
  // where rounds have no limit.
  std::span<PivotClosure* const> others = {};
};

struct RunReport {
  std::uint64_t seeds = 0;  // seeds that were new when the run took them in
  std::vector<std::uint64_t> new_rows;  // [i] = tuples that round i + 1 of this run derived first
  bool is_fixpoint = false;  // no owned block has a delta left
  std::uint64_t derivations = 0;  // tuples moved along edges, duplicates included
  std::uint64_t row_operations = 0;  // rows moved along edges
  std::uint64_t block_rounds = 0;  // rounds that each block did, summed over blocks
};

// Whose memory something is that several closures hold.
enum class Holding : std::uint8_t { kOwn, kBorrowed };

class PivotClosure {
 public:
  PivotClosure(PivotSpace space, ExpandSlots expand, MaskMembers masks, PivotClosureOptions options)
      : PivotClosure(std::make_shared<const PivotSpace>(std::move(space)), std::move(expand),
                     std::move(masks), options) {}
  PivotClosure(std::shared_ptr<const PivotSpace> space, ExpandSlots expand, MaskMembers masks,
               PivotClosureOptions options);

  // Takes a graph that is known already, in place of one that knows nothing. Before any seed. Where
  // other threads hold it, too, it is closed and has no masks, so that nobody changes it. They may
  // have landmarks in common, which count as memory where they, the graph and the space are held as
  // one's own.
  void adopt(std::shared_ptr<SlotGraph> graph, std::shared_ptr<Landmarks> landmarks,
             Holding holding);

  // --- What the recursion starts from. Lanes of blocks that are not owned are ignored;
  // InvalidArgument names a cell or lane that is no pivot. Seeds wait until absorb() or run();
  // repeating one, or seeding what is known, is harmless.
  Status seed(SlotId slot, LaneId lane);
  Status seed(SlotId slot, std::span<const LaneId> lanes);
  Status seed(SlotId slot, const SetView& pivots);
  Status seed_pivot(LaneId lane, std::span<const SlotId> slots);
  // Adds the waiting seeds to total and delta; returns how many were new, which is the count of
  // round 1 in a program whose base rules make the seeds.
  Result<std::uint64_t> absorb();

  // --- Rounds. Advances every owned block by max_rounds rounds or to its fixpoint; absorbs waiting
  // seeds first. Cancelled (stop said so) and NoSpace (memory limit) leave blocks at different
  // rounds: calling again goes on with the same max_rounds until all have met, then reports the
  // whole run; total and delta are those of one round only after an OK. (Where max_rounds is no
  // limit, a checkpoint of them in between is sound: whoever restores it goes on with what is left
  // of the delta.) Errors of the callbacks are passed on, with the same effect. What a run reports
  // is what its thread swept, blocks of others included.
  Result<RunReport> run(const RunOptions& options);
  // Gives back what rounds need beside the graph and the result, which the next run makes anew.
  // Between rounds only.
  void release_workspace();
  bool is_between_rounds() const { return !unfinished_.is_open; }
  // Of a run that was cancelled: RunReport::new_rows so far.
  const std::vector<std::uint64_t>& unfinished_rows() const { return unfinished_.report.new_rows; }

  // --- The result so far. Waiting seeds are not part of it.
  std::uint64_t row_count() const;
  std::uint64_t delta_count() const;
  bool contains(SlotId slot, LaneId lane);
  // By block, and by slot within a block; the same slot comes once for each block. Stops at the
  // visitor's first error.
  Status for_each_group(RelationVersion version, const SlotVisitor& visit);
  // By slot, over all owned blocks.
  Status for_each_slot(RelationVersion version, const SlotRowVisitor& visit);
  // The same as an image that stays as it is while rounds go on.
  PivotImage image(ImageRows rows);
  // A checkpoint is about to be written from images: what they show is kept apart from what rounds
  // add later, until acknowledge() says that the checkpoint was committed (or another freeze()
  // follows one that failed).
  void freeze();
  void acknowledge();
  // Gives up telling growth from the rest, which costs some memory.
  void forget_growth();
  // Puts back one group of a checkpoint, written by any number of ranks with any row width, in any
  // order.
  Status restore(SlotId slot, const SetView& pivots, RelationVersion version);

  const PivotSpace& space() const { return *space_; }
  const SlotGraph& graph() const { return *graph_; }
  std::uint32_t owned_blocks() const { return static_cast<std::uint32_t>(blocks_.size()); }
  std::uint64_t memory_bytes() const;
  // The part of memory_bytes() that holds tuples at rest.
  std::uint64_t resting_bytes() const;

 private:
  struct Block {
    RowLayers total;
    std::shared_ptr<PackedRows> delta = std::make_shared<PackedRows>();
    std::vector<SlotBit> seeds;
    std::vector<MaskBit> masks;
    std::vector<std::uint32_t> delays;  // of the last run, kept because they fit the next as well
  };
  struct Place {
    Block* block;  // null where not owned
    std::uint32_t offset;
  };
  class RowCollector;
  struct Unfinished {
    bool is_open = false;
    std::uint64_t max_rounds = 0;
    RunReport report;
  };

  std::uint32_t block_number(std::size_t owned) const {
    return options_.ownership.rank + static_cast<std::uint32_t>(owned) * options_.ownership.ranks;
  }
  Place place_of(LaneId lane);
  void load(const Block& block);
  void store(Block& block);
  Status fetch_masks();
  Status discover(const RunOptions& options, std::uint64_t depth);
  Status sweep_own(const RunOptions& options);
  Status sweep_borrowed(const RunOptions& options);
  Status may_go_on(const RunOptions& options, std::size_t done) const;
  void tell(const RunOptions& options, std::size_t done) const;
  Status advance(Block& block, std::uint32_t number, const RunOptions& options);
  std::span<const std::uint32_t> choose_delays(Block& block, std::uint32_t number);
  static std::uint64_t rest_of(const Block& block);
  void settle();
  Status check_memory() const;

  std::shared_ptr<const PivotSpace> space_;
  MaskMembers mask_members_;
  PivotClosureOptions options_;
  std::shared_ptr<SlotGraph> graph_;
  std::shared_ptr<Landmarks> landmarks_ = std::make_shared<Landmarks>();
  Holding holding_ = Holding::kOwn;
  RoundSkew skew_{landmarks_};
  std::vector<std::uint32_t> delays_;  // of a block that will not run again
  std::unique_ptr<BlockSweep> sweep_;
  std::vector<Block> blocks_;  // owned ones, ascending by number
  std::vector<MaskBit> mask_bits_of_block_;
  Unfinished unfinished_;
  std::unique_ptr<BlockShelf> shelf_ = std::make_unique<BlockShelf>();  // of the open run
  std::uint64_t resting_bytes_ = 0;
  bool is_settled_ = true;
};

}  // namespace stratalog
