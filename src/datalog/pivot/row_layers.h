// SPDX-License-Identifier: Apache-2.0
// RowLayers: all tuples of one block at rest, as disjoint layers of packed rows. Rows only grow, so
// once a checkpoint has been told to write what a block holds, its layers are frozen: later sweeps
// add a layer of what is new on top and leave them alone. That tells growth from what was saved
// before without a second copy, and lets a checkpoint be written while the block runs on. Without
// checkpoints there is one layer. Local; not thread-safe, but frozen layers never change.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datalog/pivot/packed_rows.h"

namespace stratalog {

using RowLayer = std::shared_ptr<const PackedRows>;

// The union of disjoint sorted layers as one.
PackedRows unite_layers(std::span<const RowLayer> layers, std::uint32_t words);

class RowLayers {
 public:
  std::span<const RowLayer> all() const { return layers_; }
  // What is new since the last acknowledged checkpoint.
  std::span<const RowLayer> growth() const { return all().subspan(saved_); }
  // What a sweep must leave as it is.
  std::span<const RowLayer> frozen() const { return all().first(frozen_); }

  std::uint64_t tuples() const;
  bool contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const;
  std::uint64_t memory_bytes() const;

  // `fresh` is everything but the frozen layers; it replaces what stood there.
  void put(PackedRows fresh);
  // A layer to append to while a checkpoint is restored; put() or settle() ends that.
  PackedRows& loose();
  // Gives back what appending reserved, and stores equal rows once. Requires that all layers are
  // sorted.
  void settle(std::uint32_t words);

  void freeze() { frozen_ = layers_.size(); }
  // The checkpoint that was told to write what freeze() froze has been acknowledged.
  void acknowledge() { saved_ = frozen_; }
  // Makes few layers of many. Nothing handed out before is touched.
  void fold_saved(std::uint32_t words);
  // One layer, and nothing counts as saved any more.
  void fold_all(std::uint32_t words);

 private:
  // Loading unites all layers, so there must not be many.
  static constexpr std::size_t kMostSaved = 4;
  // So many pile up only if one checkpoint after the other fails: then growth is given up.
  static constexpr std::size_t kMostLayers = 16;

  std::vector<RowLayer> layers_;  // oldest first
  std::size_t saved_ = 0;  // the first saved_ layers are in the last acknowledged checkpoint
  std::size_t frozen_ = 0;  // the first frozen_ layers never change; at least saved_
  std::shared_ptr<PackedRows> loose_;  // layers_.back() while it is appended to
};

}  // namespace stratalog
