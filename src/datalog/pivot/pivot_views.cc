// SPDX-License-Identifier: Apache-2.0
// PivotClosure's result as tuple groups, and its way back from a checkpoint. Local; not
// thread-safe.
#include <fmt/format.h>

#include <algorithm>

#include "datalog/pivot/pivot_closure.h"
#include "model/set_walk.h"

namespace stratalog {

void PivotClosure::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  resting_bytes_ = 0;
  for (Block& block : blocks_) {
    const auto sorted = [](const RowLayer& layer) { return layer->is_sorted(); };
    if (std::all_of(block.total.all().begin(), block.total.all().end(), sorted) &&
        block.delta->is_sorted()) {
      block.total.settle(words_per_row(options_.width));
      block.delta->shrink_to_fit();
    } else {
      load(block);
      store(block);
    }
    resting_bytes_ += rest_of(block);
  }
}

bool PivotClosure::contains(SlotId slot, LaneId lane) {
  settle();
  if (lane >= space_->lanes()) return false;
  const Place place = place_of(lane);
  return place.block != nullptr &&
         place.block->total.contains(slot, place.offset, words_per_row(options_.width));
}

PivotImage PivotClosure::image(ImageRows rows) {
  settle();
  std::vector<PivotImage::Block> blocks;
  blocks.reserve(blocks_.size());
  for (std::size_t owned = 0; owned < blocks_.size(); ++owned) {
    const Block& block = blocks_[owned];
    PivotImage::Block shown{.first_lane = block_number(owned) * lanes_per_block(options_.width),
                            .layers = {}};
    if (rows == ImageRows::kDelta) {
      shown.layers.push_back(block.delta);
    } else {
      const auto layers = rows == ImageRows::kTotal ? block.total.all() : block.total.growth();
      shown.layers.assign(layers.begin(), layers.end());
    }
    blocks.push_back(std::move(shown));
  }
  return {space_, options_.width, std::move(blocks)};
}

void PivotClosure::freeze() {
  settle();
  for (Block& block : blocks_) block.total.freeze();
}

void PivotClosure::acknowledge() {
  for (Block& block : blocks_) block.total.acknowledge();
}

void PivotClosure::forget_growth() {
  settle();
  for (Block& block : blocks_) {
    resting_bytes_ -= rest_of(block);
    block.total.fold_all(words_per_row(options_.width));
    resting_bytes_ += rest_of(block);
  }
}

Status PivotClosure::for_each_group(RelationVersion version, const SlotVisitor& visit) {
  return image(version == RelationVersion::kTotal ? ImageRows::kTotal : ImageRows::kDelta)
      .for_each_group(visit);
}

Status PivotClosure::for_each_slot(RelationVersion version, const SlotRowVisitor& visit) {
  return image(version == RelationVersion::kTotal ? ImageRows::kTotal : ImageRows::kDelta)
      .for_each_slot(graph_->slots(), visit);
}

// Collects the lanes of one group into rows, one for each owned block that they fall in.
class PivotClosure::RowCollector {
 public:
  RowCollector(PivotClosure& closure, SlotId slot, RelationVersion version)
      : closure_(&closure),
        slot_(slot),
        version_(version),
        words_(words_per_row(closure.options_.width)) {}

  // 64 lanes from `lane` on, a multiple of 64.
  void add_word(LaneId lane, std::uint64_t word) {
    if (word == 0 || !enter_block(lane)) return;
    row_[(lane - first_lane_) / 64] |= word;
  }
  void add(LaneId lane) {
    if (!enter_block(lane)) return;
    const std::uint32_t offset = lane - first_lane_;
    row_[offset / 64] |= std::uint64_t{1} << (offset % 64);
  }
  void flush() {
    if (block_ == nullptr) return;
    PackedRows& rows = version_ == RelationVersion::kTotal ? block_->total.loose() : *block_->delta;
    rows.append(slot_, row_, words_);
    std::fill(row_, row_ + words_, 0);
    block_ = nullptr;
  }

 private:
  // False where the block is another rank's.
  bool enter_block(LaneId lane) {
    if (block_ != nullptr && lane - first_lane_ < 64 * words_) return true;
    const Place place = closure_->place_of(lane);
    if (place.block == nullptr) return false;
    flush();
    block_ = place.block;
    first_lane_ = lane - place.offset;
    return true;
  }

  PivotClosure* closure_;
  SlotId slot_;
  RelationVersion version_;
  std::uint32_t words_;
  Block* block_ = nullptr;
  LaneId first_lane_ = 0;  // of block_
  std::uint64_t row_[kMaxRowWords] = {};
};

Status PivotClosure::restore(SlotId slot, const SetView& pivots, RelationVersion version) {
  graph_->reserve_slot(slot);
  is_settled_ = false;
  RowCollector collector(*this, slot, version);
  const LaneId first = space_->is_dense() ? space_->lane_of(pivots.base) : space_->lanes();
  const bool is_word_by_word = pivots.kind == SetKind::kBitmap && first % 64 == 0 &&
                               std::uint64_t{first} + pivots.words.size() * 64 <= space_->lanes();
  if (is_word_by_word) {
    for (std::size_t w = 0; w < pivots.words.size(); ++w)
      collector.add_word(first + static_cast<LaneId>(w * 64), pivots.words[w]);
    collector.flush();
    return Status::ok();
  }
  bool is_bad = false;
  Cell bad = 0;
  walk_set(pivots, [&](Cell cell) {
    const LaneId lane = space_->lane_of(cell);
    if (lane == space_->lanes()) {
      is_bad = true;
      bad = cell;
    } else {
      collector.add(lane);
    }
  });
  collector.flush();
  if (is_bad)
    return Status::invalid_argument(
        fmt::format("cell {} restored at slot {} is no pivot", bad, slot));
  return Status::ok();
}

}  // namespace stratalog
