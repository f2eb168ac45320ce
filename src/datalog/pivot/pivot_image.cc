// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/pivot_image.h"

#include <algorithm>
#include <bit>

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

// The rows of disjoint layers, united slot by slot.
class LayerCursor {
 public:
  LayerCursor(std::span<const RowLayer> layers, std::uint32_t words) {
    for (const RowLayer& layer : layers)
      if (!layer->is_empty()) cursors_.emplace_back(*layer, words);
    find();
  }
  bool at_end() const { return cursors_.empty(); }
  SlotId slot() const { return slot_; }
  // Whether one layer alone has the row at the cursor.
  bool is_single() const {
    return std::count_if(cursors_.begin(), cursors_.end(), [&](const PackedRows::Cursor& cursor) {
             return cursor.slot() == slot_;
           }) == 1;
  }
  // The row at the cursor, which is_single(), as it is stored (PackedRows::Cursor::view). Steps on.
  SetView view(Cell base, std::uint64_t* row) {
    const auto holder =
        std::find_if(cursors_.begin(), cursors_.end(),
                     [&](const PackedRows::Cursor& cursor) { return cursor.slot() == slot_; });
    const SetView set = holder->view(base, row);
    step();
    return set;
  }
  // Writes the row at the cursor to `row` and steps on.
  void read(std::uint64_t* row) {
    bool is_first = true;
    for (PackedRows::Cursor& cursor : cursors_) {
      if (cursor.slot() != slot_) continue;
      if (is_first)
        cursor.read(row);
      else
        cursor.unite(row);
      is_first = false;
    }
    step();
  }

 private:
  void step() {
    std::erase_if(cursors_, [](const PackedRows::Cursor& cursor) { return cursor.at_end(); });
    find();
  }
  void find() {
    slot_ = ~SlotId{0};
    for (const PackedRows::Cursor& cursor : cursors_) slot_ = std::min(slot_, cursor.slot());
  }

  std::vector<PackedRows::Cursor> cursors_;
  SlotId slot_ = 0;
};

}  // namespace

Status PivotImage::for_each_group(const SlotVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  RowView view(*space_, words);
  std::uint64_t row[kMaxRowWords];
  for (const Block& block : blocks_)
    for (LayerCursor cursor(block.layers, words); !cursor.at_end();) {
      const SlotId slot = cursor.slot();
      if (space_->is_dense() && cursor.is_single()) {
        STRATALOG_RETURN_IF_ERROR(visit(slot, cursor.view(space_->cell_of(block.first_lane), row)));
        continue;
      }
      cursor.read(view.row());
      STRATALOG_RETURN_IF_ERROR(visit(slot, view.view(block.first_lane)));
    }
  return Status::ok();
}

Status PivotImage::for_each_slot(SlotId slots, const SlotRowVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  std::vector<LayerCursor> cursors;
  for (const Block& block : blocks_) cursors.emplace_back(block.layers, words);
  std::vector<RowView> rows(blocks_.size(), RowView(*space_, words));
  std::vector<SetView> views;
  for (SlotId slot = 0; slot < slots; ++slot) {
    views.clear();
    for (std::size_t b = 0; b < cursors.size(); ++b) {
      if (cursors[b].at_end() || cursors[b].slot() != slot) continue;
      cursors[b].read(rows[b].row());
      views.push_back(rows[b].view(blocks_[b].first_lane));
    }
    if (!views.empty()) STRATALOG_RETURN_IF_ERROR(visit(slot, views));
  }
  return Status::ok();
}

std::uint64_t PivotImage::tuples() const {
  std::uint64_t tuples = 0;
  for (const Block& block : blocks_)
    for (const RowLayer& layer : block.layers) tuples += layer->tuples();
  return tuples;
}

}  // namespace stratalog
