// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/pivot_image.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>
#include <utility>

#include "datalog/pivot/bit_matrix.h"

namespace stratalog {
namespace {

// Rows with fewer elements are shown as offsets, which also pack better; the others as bitmaps.
constexpr std::uint32_t offsets_limit(std::uint32_t words) { return 4 * words; }

// Of pivots that are asked for, in one walk over a block: 16 MiB.
constexpr std::uint64_t kRememberedSlots = std::uint64_t{1} << 22;

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
              std::uint64_t first_content = 1) {
    for (const RowLayer& layer : layers) {
      if (!layer->is_empty())
        cursors_.push_back({PackedRows::Cursor(*layer, words), first_content});
      first_content += layer->places();
    }
    find();
  }
  bool at_end() const { return cursors_.empty(); }
  SlotId slot() const { return cursors_[first_].rows.slot(); }

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
  // As many rows as one layer alone has, with their contents. None: the next row is in several
  // layers, or there is none.
  std::size_t take_alone(std::span<SlotId> slots, std::span<std::uint64_t> contents) {
    SlotId next = 0;
    if (!is_alone(next)) return 0;
    Layer& layer = cursors_[first_];
    const std::span<const SlotId> taken =
        layer.rows.take(others_from_, slots.size(), layer.first_content, contents.data());
    std::copy(taken.begin(), taken.end(), slots.begin());
    return taken.size();
  }
  // Of the row that is alone.
  SetView view(Cell base, std::uint64_t* row) { return cursors_[first_].rows.view(base, row); }
  void read_alone(std::uint64_t* row) { cursors_[first_].rows.read(row); }

  void skip() {
    const SlotId next = slot();
    for (Layer& layer : cursors_)
      if (layer.rows.slot() == next) layer.rows.skip();
    leave_ended();
  }
  // Writes the next row to `row`, united over all layers, and steps over it.
  void read(std::uint64_t* row) {
    const SlotId next = slot();
    cursors_[first_].rows.read(row);
    for (std::size_t i = 0; i < cursors_.size(); ++i)
      if (i != first_ && cursors_[i].rows.slot() == next) cursors_[i].rows.unite(row);
    leave_ended();
  }

 private:
  void leave_ended() {
    std::erase_if(cursors_, [](const Layer& layer) { return layer.rows.at_end(); });
    find();
  }
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
};

// Rows of one block on their way to a visitor, who sees their pivots only if it asks for them. The
// content of a row says in which layer it is spelled out, and where.
class BlockRows final : public SetSource {
 public:
  BlockRows(const PivotSpace& space, std::uint32_t words, const SlotBatchVisitor& visit)
      : space_(space), words_(words), visit_(visit), view_(space, words) {}

  // Contents are numbered from `first_content` on; returns the first one of the next block.
  Result<std::uint64_t> walk(const PivotImage::Block& block, std::uint64_t first_content) {
    enter(block.first_lane);
    layers_.clear();
    std::uint64_t first = first_content;
    for (const RowLayer& layer : block.layers) {
      layers_.push_back({.rows = layer.get(), .first_content = first});
      first += layer->places();
    }
    LayerCursor cursor(block.layers, words_, first_content);
    while (!cursor.at_end()) {
      while (const std::size_t taken = cursor.take_alone(std::span(slots_).subspan(size_),
                                                         std::span(contents_).subspan(size_))) {
        size_ += taken;
        if (size_ == slots_.size()) STRATALOG_RETURN_IF_ERROR(flush());
      }
      if (cursor.at_end()) break;
      STRATALOG_RETURN_IF_ERROR(flush());
      slots_[0] = cursor.slot();
      contents_[0] = 0;
      cursor.read(view_.row());
      size_ = 1;
      STRATALOG_RETURN_IF_ERROR(flush());
    }
    STRATALOG_RETURN_IF_ERROR(flush());
    return first;
  }

  // A row of several layers comes alone, and is in the view.
  SetView set(std::size_t index) override {
    const std::uint64_t content = contents_[index];
    if (content == 0) return view_.view(first_lane_);
    const auto [rows, place] = place_of(content);
    if (space_.is_dense())
      return rows->view_at(place, space_.cell_of(first_lane_), words_, bitmap_.data());
    rows->read_at(place, words_, view_.row());
    return view_.view(first_lane_);
  }
  BitRow row(std::size_t index) override {
    const std::uint64_t content = contents_[index];
    std::uint64_t* row = view_.row();
    if (content != 0) {
      // Asked for by more than one, each for the whole batch.
      row = read_[index].data();
      if (!is_read_[index]) {
        const auto [rows, place] = place_of(content);
        rows->read_at(place, words_, row);
        is_read_[index] = true;
      }
    }
    return {.words = {row, words_}, .cells = cells_, .table = std::uint64_t{first_lane_} + 1};
  }

 private:
  struct Layer {
    const PackedRows* rows;
    std::uint64_t first_content;
  };
  struct Spot {
    const PackedRows* rows;
    std::uint64_t place;
  };

  void enter(LaneId first_lane) {
    first_lane_ = first_lane;
    const std::uint32_t lanes = std::min(64 * words_, space_.lanes() - first_lane);
    cells_.clear();
    for (std::uint32_t i = 0; i < lanes; ++i) cells_.push_back(space_.cell_of(first_lane + i));
  }

  Spot place_of(std::uint64_t content) const {
    std::size_t at = layers_.size() - 1;
    while (layers_[at].first_content > content) --at;
    return {.rows = layers_[at].rows, .place = content - layers_[at].first_content};
  }

  Status flush() {
    const std::size_t size = std::exchange(size_, 0);
    if (size == 0) return Status::ok();
    // Neighbours with one content become a run; contents_ is overwritten behind what was read.
    is_read_.reset();
    std::size_t runs = 0;
    for (std::size_t i = 0; i < size;) {
      const std::uint64_t content = contents_[i];
      std::size_t end = i + 1;
      while (end < size && contents_[end] == content) ++end;
      contents_[runs] = content;
      lengths_[runs++] = static_cast<std::uint32_t>(end - i);
      i = end;
    }
    return visit_({.slots = std::span(slots_).first(size),
                   .lengths = std::span(lengths_).first(runs),
                   .contents = std::span(contents_).first(runs),
                   .pivots = *this});
  }

  const PivotSpace& space_;
  std::uint32_t words_;
  const SlotBatchVisitor& visit_;
  RowView view_;
  std::array<std::uint64_t, kMaxRowWords> bitmap_;
  std::vector<Cell> cells_;  // of the block's lanes
  LaneId first_lane_ = 0;
  std::vector<Layer> layers_;
  std::size_t size_ = 0;
  std::array<SlotId, PivotImage::kMostInBatch> slots_;
  std::array<std::uint64_t, PivotImage::kMostInBatch> contents_;
  std::array<std::uint32_t, PivotImage::kMostInBatch> lengths_;
  std::array<BitRowWords, PivotImage::kMostInBatch> read_;  // by run, as far as asked for
  std::bitset<PivotImage::kMostInBatch> is_read_;
};

}  // namespace

Status PivotImage::for_each_batch(const SlotBatchVisitor& visit) const {
  BlockRows rows(*space_, words_per_row(width_), visit);
  std::uint64_t content = 1;
  for (const Block& block : blocks_) {
    STRATALOG_ASSIGN_OR_RETURN(content, rows.walk(block, content));
  }
  return Status::ok();
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

BitRowWords PivotImage::lanes_in(const Block& block, const CellSet& pivots) const {
  BitRowWords lanes{};
  const std::uint32_t count = std::min(lanes_per_block(width_), space_->lanes() - block.first_lane);
  for (std::uint32_t i = 0; i < count; ++i)
    if (pivots.contains(space_->cell_of(block.first_lane + i)))
      lanes[i / 64] |= std::uint64_t{1} << (i % 64);
  return lanes;
}

Status PivotImage::for_each_slot(SlotId slots, const SlotRowVisitor& visit,
                                 const RowChoice& choice) const {
  const std::uint32_t words = words_per_row(width_);
  struct Walk {
    LayerCursor cursor;
    RowView row;
    LaneId first_lane;
    BitRowWords lanes;  // that are wanted
  };
  std::vector<Walk> walks;
  for (const Block& block : blocks_) {
    BitRowWords lanes{};
    if (choice.pivots != nullptr) lanes = lanes_in(block, *choice.pivots);
    if (choice.pivots == nullptr || std::ranges::any_of(lanes, [](auto word) { return word != 0; }))
      walks.push_back(
          {LayerCursor(block.layers, words), RowView(*space_, words), block.first_lane, lanes});
  }
  std::vector<SetView> views;
  for (SlotId slot = 0; slot < slots; ++slot) {
    views.clear();
    const bool is_wanted = !choice.is_wanted || choice.is_wanted(slot);
    for (Walk& walk : walks) {
      if (walk.cursor.at_end() || walk.cursor.slot() != slot) continue;
      if (!is_wanted) {
        walk.cursor.skip();
        continue;
      }
      walk.cursor.read(walk.row.row());
      if (choice.pivots != nullptr)
        for (std::uint32_t w = 0; w < words; ++w) walk.row.row()[w] &= walk.lanes[w];
      views.push_back(walk.row.view(walk.first_lane));
      if (views.back().count == 0) views.pop_back();
    }
    if (!views.empty()) STRATALOG_RETURN_IF_ERROR(visit(slot, views));
  }
  return Status::ok();
}

void PivotImage::append_pivots(SlotId slot, std::vector<Cell>& pivots) const {
  const std::uint32_t words = words_per_row(width_);
  for (const Block& block : blocks_) {
    std::uint64_t row[kMaxRowWords] = {};
    bool is_there = false;
    for (const RowLayer& layer : block.layers) is_there |= layer->unite_row(slot, words, row);
    for (std::uint32_t w = 0; is_there && w < words; ++w)
      for (std::uint64_t word = row[w]; word != 0; word &= word - 1)
        pivots.push_back(space_->cell_of(block.first_lane + (w * 64) +
                                         static_cast<std::uint32_t>(std::countr_zero(word))));
  }
}

const PivotImage::Block* PivotImage::block_of(Cell pivot, std::uint32_t& offset) const {
  const LaneId lane = space_->lane_of(pivot);
  if (lane >= space_->lanes()) return nullptr;
  const auto block = std::ranges::find_if(blocks_, [&](const Block& each) {
    return lane >= each.first_lane && lane - each.first_lane < lanes_per_block(width_);
  });
  if (block == blocks_.end()) return nullptr;
  offset = lane - block->first_lane;
  return &*block;
}

bool PivotImage::holds(SlotId slot, Cell pivot) const {
  std::uint32_t offset = 0;
  const Block* const block = block_of(pivot, offset);
  return block != nullptr && std::ranges::any_of(block->layers, [&](const RowLayer& layer) {
           return layer->contains(slot, offset, words_per_row(width_));
         });
}

Status PivotImage::for_each_asked(
    std::span<const Cell> pivots,
    const std::function<Status(const Block& block, AskedPivots asked)>& visit) const {
  std::vector<Asked> asked;
  for (std::size_t i = 0; i < pivots.size(); ++i)
    if (const LaneId lane = space_->lane_of(pivots[i]); lane < space_->lanes())
      asked.push_back({.lane = lane, .which = i});
  std::ranges::sort(asked, {}, &Asked::lane);
  auto next = asked.begin();
  for (const Block& block : blocks_) {  // ascending
    const LaneId end = block.first_lane + lanes_per_block(width_);
    next = std::ranges::lower_bound(next, asked.end(), block.first_lane, {}, &Asked::lane);
    const auto last = std::ranges::lower_bound(next, asked.end(), end, {}, &Asked::lane);
    if (next != last) STRATALOG_RETURN_IF_ERROR(visit(block, {next, last}));
    next = last;
  }
  return Status::ok();
}

Status PivotImage::for_each_pivot(std::span<const Cell> pivots, const PivotVisitor& visit) const {
  return for_each_asked(pivots, [&](const Block& block, AskedPivots asked) -> Status {
    std::uint64_t rows = 1;
    for (const RowLayer& layer : block.layers) rows += layer->rows();
    const std::size_t at_once = std::max<std::size_t>(1, kRememberedSlots / rows);
    for (; !asked.empty(); asked = asked.subspan(std::min(at_once, asked.size())))
      STRATALOG_RETURN_IF_ERROR(
          visit_pivots(block, asked.first(std::min(at_once, asked.size())), visit));
    return {};
  });
}

Status PivotImage::for_each_pivot(std::span<const Cell> pivots, const SlotPlaces& places,
                                  const PivotBitsVisitor& visit) const {
  const std::size_t words = words_per_row(width_);
  const std::size_t groups = places.places / 64;  // of places
  std::vector<std::uint64_t> rows(places.places * words);
  std::vector<std::uint64_t> columns(lanes_per_block(width_) * groups);
  return for_each_asked(pivots, [&](const Block& block, AskedPivots asked) -> Status {
    std::ranges::fill(rows, 0);
    for (const RowLayer& layer : block.layers)
      for (PackedRows::Cursor row(*layer, words_per_row(width_)); !row.at_end();) {
        const SlotId slot = row.slot();
        std::uint64_t held[kMaxRowWords];
        row.read(held);
        const bool is_known = slot < places.of_slot.size();
        const std::uint32_t at = is_known ? places.of_slot[slot] : SlotPlaces::kNowhere;
        if (at == SlotPlaces::kNowhere) continue;
        for (std::size_t w = 0; w < words; ++w) rows[(at * words) + w] |= held[w];
      }
    std::array<std::uint64_t, 64> square;
    for (std::size_t g = 0; g < groups; ++g)
      for (std::size_t w = 0; w < words; ++w) {
        for (std::size_t i = 0; i < 64; ++i) square[i] = rows[(((g * 64) + i) * words) + w];
        transpose(square);
        for (std::size_t i = 0; i < 64; ++i) columns[(((w * 64) + i) * groups) + g] = square[i];
      }
    for (const auto& [lane, which] : asked)
      STRATALOG_RETURN_IF_ERROR(
          visit(which, std::span(columns).subspan((lane - block.first_lane) * groups, groups)));
    return {};
  });
}

Status PivotImage::visit_pivots(const Block& block, AskedPivots asked,
                                const PivotVisitor& visit) const {
  const std::uint32_t words = words_per_row(width_);
  BitRowWords lanes{};
  std::array<std::uint16_t, kMaxBitRowCells> place;  // of a lane that is asked for
  std::vector<std::vector<SlotId>> slots(asked.size());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const LaneId offset = asked[i].lane - block.first_lane;
    lanes[offset / 64] |= std::uint64_t{1} << (offset % 64);
    place[offset] = static_cast<std::uint16_t>(i);
  }
  for (const RowLayer& layer : block.layers)
    for (PackedRows::Cursor row(*layer, words); !row.at_end();) {
      const SlotId slot = row.slot();
      std::uint64_t held[kMaxRowWords];
      row.read(held);
      for (std::uint32_t w = 0; w < words; ++w)
        for (std::uint64_t word = held[w] & lanes[w]; word != 0; word &= word - 1)
          slots[place[(w * 64) + static_cast<std::uint32_t>(std::countr_zero(word))]].push_back(
              slot);
    }
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (!slots[i].empty()) STRATALOG_RETURN_IF_ERROR(visit(asked[i].which, slots[i]));
  return Status::ok();
}

std::uint64_t PivotImage::tuples() const {
  std::uint64_t tuples = 0;
  for (const Block& block : blocks_)
    for (const RowLayer& layer : block.layers) tuples += layer->tuples();
  return tuples;
}

}  // namespace stratalog
