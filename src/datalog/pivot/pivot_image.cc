// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/pivot_image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

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
  // Contents of rows are numbered from `first_content` on.
  LayerCursor(std::span<const RowLayer> layers, std::uint32_t words,
              std::uint64_t first_content = 1)
      : next_content_(first_content) {
    for (const RowLayer& layer : layers) {
      if (!layer->is_empty())
        cursors_.push_back({PackedRows::Cursor(*layer, words), next_content_});
      next_content_ += layer->places();
    }
    find();
  }
  bool at_end() const { return cursors_.empty(); }
  SlotId slot() const { return cursors_[first_].rows.slot(); }
  // The number after all contents of these layers.
  std::uint64_t next_content() const { return next_content_; }

  // Whether one layer alone has the next row; `slot` is then the row's. view() or read_alone()
  // steps over it.
  bool is_alone(SlotId& slot) {
    while (first_ < cursors_.size()) {
      if (cursors_[first_].rows.at_end()) {
        cursors_.erase(cursors_.begin() + static_cast<std::ptrdiff_t>(first_));
      } else {
        slot = cursors_[first_].rows.slot();
        if (slot <= others_from_) return slot < others_from_;
      }
      find();
    }
    return false;
  }
  // Of the row that is alone.
  std::uint64_t content() const {
    return cursors_[first_].first_content + cursors_[first_].rows.place();
  }
  SetView view(Cell base, std::uint64_t* row) { return cursors_[first_].rows.view(base, row); }
  void read_alone(std::uint64_t* row) { cursors_[first_].rows.read(row); }

  // Writes the next row to `row`, united over all layers, and steps over it.
  void read(std::uint64_t* row) {
    const SlotId next = slot();
    cursors_[first_].rows.read(row);
    for (std::size_t i = 0; i < cursors_.size(); ++i)
      if (i != first_ && cursors_[i].rows.slot() == next) cursors_[i].rows.unite(row);
    std::erase_if(cursors_, [](const Layer& layer) { return layer.rows.at_end(); });
    find();
  }

 private:
  // The cursor at the lowest slot, and the lowest slot of the others.
  void find() {
    first_ = 0;
    others_from_ = ~SlotId{0};
    for (std::size_t i = 1; i < cursors_.size(); ++i) {
      const SlotId here = cursors_[i].rows.slot();
      const SlotId lowest = cursors_[first_].rows.slot();
      const bool is_lower = here < lowest;
      others_from_ = std::min(others_from_, is_lower ? lowest : here);
      if (is_lower) first_ = i;
    }
  }

  struct Layer {
    PackedRows::Cursor rows;
    std::uint64_t first_content;
  };
  std::vector<Layer> cursors_;  // none at its end, but for the first after a step
  std::size_t first_ = 0;
  SlotId others_from_ = 0;
  std::uint64_t next_content_;
};

// Rows on their way to a visitor; views of bitmaps are of the copies here.
class BatchBuilder {
 public:
  explicit BatchBuilder(const SlotBatchVisitor& visit) : visit_(visit) {}

  std::uint64_t* next_row() { return rows_[size_].data(); }
  Status add(SlotId slot, const SetView& pivots, std::uint64_t content) {
    slots_[size_] = slot;
    pivots_[size_] = pivots;
    contents_[size_] = content;
    return ++size_ == PivotImage::kMostInBatch ? flush() : Status::ok();
  }
  Status flush() {
    const std::size_t size = std::exchange(size_, 0);
    if (size == 0) return Status::ok();
    return visit_({.slots = std::span(slots_).first(size),
                   .pivots = std::span(pivots_).first(size),
                   .contents = std::span(contents_).first(size)});
  }
  // One whose view does not outlive the call.
  Status pass(SlotId slot, const SetView& pivots, std::uint64_t content) {
    STRATALOG_RETURN_IF_ERROR(flush());
    return visit_({.slots = std::span(&slot, 1),
                   .pivots = std::span(&pivots, 1),
                   .contents = std::span(&content, 1)});
  }

 private:
  const SlotBatchVisitor& visit_;
  std::size_t size_ = 0;
  std::array<SlotId, PivotImage::kMostInBatch> slots_;
  std::array<SetView, PivotImage::kMostInBatch> pivots_;
  std::array<std::uint64_t, PivotImage::kMostInBatch> contents_;
  std::array<std::array<std::uint64_t, kMaxRowWords>, PivotImage::kMostInBatch> rows_;
};

}  // namespace

Status PivotImage::for_each_batch(const SlotBatchVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  RowView view(*space_, words);
  BatchBuilder batch(visit);
  std::uint64_t first_content = 1;
  for (const Block& block : blocks_) {
    const Cell base = space_->is_dense() ? space_->cell_of(block.first_lane) : 0;
    LayerCursor cursor(block.layers, words, first_content);
    first_content = cursor.next_content();
    while (!cursor.at_end()) {
      for (SlotId slot = 0; cursor.is_alone(slot);) {
        const std::uint64_t content = cursor.content();
        if (space_->is_dense()) {
          const SetView pivots = cursor.view(base, batch.next_row());
          STRATALOG_RETURN_IF_ERROR(batch.add(slot, pivots, content));
        } else {
          cursor.read_alone(view.row());
          STRATALOG_RETURN_IF_ERROR(batch.pass(slot, view.view(block.first_lane), content));
        }
      }
      if (cursor.at_end()) break;
      const SlotId slot = cursor.slot();
      cursor.read(view.row());
      STRATALOG_RETURN_IF_ERROR(batch.pass(slot, view.view(block.first_lane), 0));
    }
  }
  return batch.flush();
}

Status PivotImage::for_each_group(const SlotVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  RowView view(*space_, words);
  std::uint64_t row[kMaxRowWords];
  for (const Block& block : blocks_) {
    const Cell base = space_->is_dense() ? space_->cell_of(block.first_lane) : 0;
    for (LayerCursor cursor(block.layers, words); !cursor.at_end();) {
      // Most rows are in one layer only, and shown as they are stored.
      for (SlotId slot = 0; cursor.is_alone(slot);) {
        if (space_->is_dense()) {
          STRATALOG_RETURN_IF_ERROR(visit(slot, cursor.view(base, row)));
        } else {
          cursor.read_alone(view.row());
          STRATALOG_RETURN_IF_ERROR(visit(slot, view.view(block.first_lane)));
        }
      }
      if (cursor.at_end()) break;
      const SlotId slot = cursor.slot();
      cursor.read(view.row());
      STRATALOG_RETURN_IF_ERROR(visit(slot, view.view(block.first_lane)));
    }
  }
  return Status::ok();
}

Status PivotImage::for_each_slot(SlotId slots, const SlotRowVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  std::vector<LayerCursor> cursors;
  cursors.reserve(blocks_.size());
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
