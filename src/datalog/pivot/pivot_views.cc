// SPDX-License-Identifier: Apache-2.0
// PivotClosure's result as tuple groups, and its way back from a checkpoint. Local; not
// thread-safe.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "datalog/pivot/pivot_closure.h"
#include "model/set_walk.h"

namespace stratalog {
namespace {

// Rows with fewer elements are shown as offsets, which also pack better; the others as bitmaps.
constexpr std::uint32_t offsets_limit(std::uint32_t words) { return 4 * words; }

// Turns a row into a SetView over its own buffers.
class RowView {
 public:
  RowView(const PivotSpace& space, std::uint32_t words) : space_(&space), words_(words) {}
  std::uint64_t* row() { return row_; }

  SetView view(LaneId first_lane) {
    std::uint64_t count = 0;
    for (std::uint32_t w = 0; w < words_; ++w) count += std::popcount(row_[w]);
    SetView set;
    set.count = count;
    if (!space_->is_dense()) {
      std::size_t n = 0;
      for_each_offset(
          [&](std::uint32_t offset) { cells_[n++] = space_->cell_of(first_lane + offset); });
      set.kind = SetKind::kArray;
      set.values = {cells_, n};
      return set;
    }
    set.base = space_->cell_of(first_lane);
    if (count <= offsets_limit(words_)) {
      std::size_t n = 0;
      for_each_offset([&](std::uint32_t o) { offsets_[n++] = static_cast<std::uint16_t>(o); });
      set.kind = SetKind::kOffsets;
      set.offsets = {offsets_, n};
    } else {
      set.kind = SetKind::kBitmap;
      set.words = {row_, words_};
    }
    return set;
  }

 private:
  template <typename Visit>
  void for_each_offset(Visit&& visit) const {
    for (std::uint32_t w = 0; w < words_; ++w)
      for (std::uint64_t word = row_[w]; word != 0; word &= word - 1)
        visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(word)));
  }

  const PivotSpace* space_;
  std::uint32_t words_;
  std::uint64_t row_[kMaxRowWords];
  std::uint16_t offsets_[offsets_limit(kMaxRowWords)];
  Cell cells_[64 * kMaxRowWords];
};

}  // namespace

void PivotClosure::settle() {
  if (is_settled_) return;
  is_settled_ = true;
  resting_bytes_ = 0;
  for (Block& block : blocks_) {
    if (block.total.is_sorted() && block.delta.is_sorted()) {
      block.total.shrink_to_fit();
      block.delta.shrink_to_fit();
    } else {
      sweep_->load(block.total, block.delta, graph_.slots());
      sweep_->store(block.total, block.delta);
    }
    note_rest(block, 1);
  }
}

bool PivotClosure::contains(SlotId slot, LaneId lane) {
  settle();
  if (lane >= space_.lanes()) return false;
  const Place place = place_of(lane);
  return place.block != nullptr &&
         place.block->total.contains(slot, place.offset, words_per_row(options_.width));
}

Status PivotClosure::for_each_group(RelationVersion version, const SlotVisitor& visit) {
  settle();
  const std::uint32_t words = words_per_row(options_.width);
  RowView view(space_, words);
  std::uint64_t row[kMaxRowWords];
  for (std::size_t owned = 0; owned < blocks_.size(); ++owned) {
    const LaneId first_lane = block_number(owned) * 64 * words;
    for (PackedRows::Cursor cursor(version_of(blocks_[owned], version), words); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      if (space_.is_dense()) {
        STRATALOG_RETURN_IF_ERROR(visit(slot, cursor.view(space_.cell_of(first_lane), row)));
        continue;
      }
      cursor.read(view.row());
      STRATALOG_RETURN_IF_ERROR(visit(slot, view.view(first_lane)));
    }
  }
  return Status::ok();
}

Status PivotClosure::for_each_slot(RelationVersion version, const SlotRowVisitor& visit) {
  settle();
  const std::uint32_t words = words_per_row(options_.width);
  std::vector<PackedRows::Cursor> cursors;
  for (const Block& block : blocks_) cursors.emplace_back(version_of(block, version), words);
  std::vector<RowView> rows(blocks_.size(), RowView(space_, words));
  std::vector<SetView> views;
  for (SlotId slot = 0; slot < graph_.slots(); ++slot) {
    views.clear();
    for (std::size_t owned = 0; owned < cursors.size(); ++owned) {
      if (cursors[owned].at_end() || cursors[owned].slot() != slot) continue;
      cursors[owned].read(rows[owned].row());
      views.push_back(rows[owned].view(block_number(owned) * 64 * words));
    }
    if (!views.empty()) STRATALOG_RETURN_IF_ERROR(visit(slot, views));
  }
  return Status::ok();
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
    PackedRows& rows = version_ == RelationVersion::kTotal ? block_->total : block_->delta;
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
  graph_.reserve_slot(slot);
  is_settled_ = false;
  RowCollector collector(*this, slot, version);
  const LaneId first = space_.is_dense() ? space_.lane_of(pivots.base) : space_.lanes();
  const bool is_word_by_word = pivots.kind == SetKind::kBitmap && first % 64 == 0 &&
                               std::uint64_t{first} + pivots.words.size() * 64 <= space_.lanes();
  if (is_word_by_word) {
    for (std::size_t w = 0; w < pivots.words.size(); ++w)
      collector.add_word(first + static_cast<LaneId>(w * 64), pivots.words[w]);
    collector.flush();
    return Status::ok();
  }
  bool is_bad = false;
  Cell bad = 0;
  walk_set(pivots, [&](Cell cell) {
    const LaneId lane = space_.lane_of(cell);
    if (lane == space_.lanes()) {
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
