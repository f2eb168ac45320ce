// SPDX-License-Identifier: Apache-2.0
// BlockSweep: the working form of one block, in which it runs many semi-naive rounds while its rows
// sit in cache. Lanes never interact, so each lane may run its rounds with a delay of its own: a
// sweep is a sequence of *steps*, and at step t lane l does round t - delay(l). Well-chosen delays
// (round_skew.h) make many lanes reach a slot in the same step, and one row operation moves them
// all; counts and stops stay exact per round. No files, no MPI. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/pivot/packed_rows.h"
#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/row_layers.h"
#include "datalog/pivot/slot_graph.h"

namespace stratalog {

// One tuple of a block: slot and lane offset.
struct SlotBit {
  SlotId slot;
  std::uint32_t offset;
};

// A member of a mask, a lane of the block being swept.
struct MaskBit {
  MaskId mask;
  std::uint32_t offset;
};

struct SweepPlan {
  std::uint64_t rounds = 0;  // at least 1; each lane does at most so many
  std::span<const std::uint32_t> delays;  // by lane offset; empty = none
  // Called between steps, `pause_operations` row operations apart or more; may be empty. Its error
  // ends the run.
  std::function<Status()> pause = {};
  std::uint64_t pause_operations = 1U << 18;
};

struct SweepTally {
  std::vector<std::uint64_t>
      new_rows;  // [i] = tuples first derived in round i + 1; zeros may follow
  std::uint64_t derivations = 0;  // tuples pushed along edges, masks and duplicates included
  std::uint64_t row_operations = 0;  // rows pushed along edges
};

// Expands slots of the graph that the sweep met unexpanded, and hands the sweep the masks that came
// with them.
using ExpandMet = std::function<Status(std::vector<SlotId>& met)>;

class BlockSweep {
 public:
  static std::unique_ptr<BlockSweep> make(RowWidth width);
  virtual ~BlockSweep() = default;

  // The calls in order: load, absorb, (delta_bits), add_masks, run, store. A block that was stored
  // leaves nothing.
  // `total` are disjoint layers.
  virtual void load(std::span<const RowLayer> total, const PackedRows& delta,
                    std::uint32_t slots) = 0;
  // Adds seeds to total and delta; returns how many were new.
  virtual std::uint64_t absorb(std::span<const SlotBit> seeds) = 0;
  virtual void add_masks(std::span<const MaskBit> members, std::uint32_t mask_count) = 0;
  // The delta before run, by slot in order of arrival; at most `limit` tuples of each lane.
  virtual std::vector<SlotBit> delta_bits(std::uint32_t limit) const = 0;
  virtual Status run(const SlotGraph& graph, const SweepPlan& plan, const ExpandMet& expand,
                     SweepTally& tally) = 0;
  // `known` are layers that load() was given; `fresh` becomes the rest of the total.
  virtual void store(std::span<const RowLayer> known, PackedRows& fresh, PackedRows& delta) = 0;
  // In place of store after a failed run: the block stays as it was at rest.
  virtual void discard() = 0;
  virtual std::uint64_t memory_bytes() const = 0;
};

}  // namespace stratalog
