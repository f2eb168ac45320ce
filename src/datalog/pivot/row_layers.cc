// SPDX-License-Identifier: Apache-2.0
#include "datalog/pivot/row_layers.h"

#include <algorithm>
#include <utility>

namespace stratalog {

PackedRows unite_layers(std::span<const RowLayer> layers, std::uint32_t words) {
  std::vector<PackedRows::Cursor> cursors;
  for (const RowLayer& layer : layers) cursors.emplace_back(*layer, words);
  PackedRows united;
  RecentRows recent;
  for (;;) {
    bool found = false;
    SlotId slot = 0;
    for (const PackedRows::Cursor& cursor : cursors) {
      if (cursor.at_end() || (found && cursor.slot() >= slot)) continue;
      found = true;
      slot = cursor.slot();
    }
    if (!found) break;
    std::uint64_t row[kMaxRowWords] = {};
    for (PackedRows::Cursor& cursor : cursors)
      if (!cursor.at_end() && cursor.slot() == slot) cursor.unite(row);
    united.append(slot, row, words, recent);
  }
  united.shrink_to_fit();
  return united;
}

std::uint64_t RowLayers::tuples() const {
  std::uint64_t tuples = 0;
  for (const RowLayer& layer : layers_) tuples += layer->tuples();
  return tuples;
}

bool RowLayers::contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const {
  return std::any_of(layers_.begin(), layers_.end(),
                     [&](const RowLayer& layer) { return layer->contains(slot, offset, width); });
}

std::uint64_t RowLayers::memory_bytes() const {
  std::uint64_t bytes = layers_.capacity() * sizeof(RowLayer);
  for (const RowLayer& layer : layers_) bytes += layer->memory_bytes() + sizeof(PackedRows);
  return bytes;
}

void RowLayers::put(PackedRows fresh) {
  loose_.reset();
  layers_.resize(frozen_);
  if (!fresh.is_empty()) layers_.push_back(std::make_shared<const PackedRows>(std::move(fresh)));
}

PackedRows& RowLayers::loose() {
  if (!loose_) {
    loose_ = std::make_shared<PackedRows>();
    layers_.push_back(loose_);
  }
  return *loose_;
}

void RowLayers::settle(std::uint32_t words) {
  if (loose_)
    layers_.back() =
        std::make_shared<const PackedRows>(unite_layers(std::span(&layers_.back(), 1), words));
  loose_.reset();
}

void RowLayers::fold_saved(std::uint32_t words) {
  if (layers_.size() > kMostLayers) return fold_all(words);
  if (saved_ <= kMostSaved || frozen_ != saved_) return;
  auto folded = std::make_shared<const PackedRows>(unite_layers(all().first(saved_), words));
  layers_.erase(layers_.begin() + 1, layers_.begin() + static_cast<std::ptrdiff_t>(saved_));
  layers_.front() = std::move(folded);
  saved_ = frozen_ = 1;
}

void RowLayers::fold_all(std::uint32_t words) {
  saved_ = frozen_ = 0;
  if (layers_.size() < 2) return;
  auto folded = std::make_shared<const PackedRows>(unite_layers(layers_, words));
  layers_.clear();
  layers_.push_back(std::move(folded));
}

}  // namespace stratalog
