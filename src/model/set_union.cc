// SPDX-License-Identifier: Apache-2.0
#include "model/set_union.h"

#include <algorithm>

#include "model/set_walk.h"

namespace stratalog {
namespace {

// Sets are united in a bitmap of at most this many words an element, and sorted lists are merged
// where it would be larger.
constexpr std::uint64_t kUniteWords = 4;

}  // namespace

SetView array_view(std::span<const Cell> cells) {
  SetView view;
  view.values = cells;
  view.count = cells.size();
  return view;
}

SetView bitmap_view(std::uint64_t first_word, std::span<const std::uint64_t> words,
                    std::uint64_t count) {
  SetView view;
  view.kind = SetKind::kBitmap;
  view.base = static_cast<Cell>(first_word * 64);
  view.words = words;
  view.count = count;
  return view;
}

void mark_cells(std::span<const Cell> cells, std::uint64_t first_word, std::uint64_t* words) {
  for (const Cell cell : cells) words[(cell / 64) - first_word] |= std::uint64_t{1} << (cell % 64);
}

void SetUnion::add(const SetView& set) {
  if (set.kind == SetKind::kBitmap && set.base % 64 == 0) {
    copies_.emplace_back(set.words.begin(), set.words.end());
    add_lasting(bitmap_view(set.base / 64, copies_.back(), set.count));
    return;
  }
  if (set.kind == SetKind::kArray)
    cells_.insert(cells_.end(), set.values.begin(), set.values.end());
  else
    walk_set(set, [this](Cell cell) { cells_.push_back(cell); });
  end_list();
}

void SetUnion::add_lasting(const SetView& bitmap) {
  count_ += bitmap.count;
  bitmaps_.push_back(bitmap);
  widen(bitmap.base / 64, bitmap.words.size());
}

void SetUnion::end_list() {
  const std::size_t begin = ends_.empty() ? 0 : ends_.back();
  ends_.push_back(cells_.size());
  count_ += cells_.size() - begin;
  const std::uint64_t first = cells_[begin] / 64;
  widen(first, (cells_.back() / 64) - first + 1);
}

SetView SetUnion::view() {
  if (ends_.size() + bitmaps_.size() == 1)
    return bitmaps_.empty() ? array_view(cells_) : bitmaps_.front();
  const std::uint64_t words = end_word_ - first_word_;
  if (words > count_ * kUniteWords) {
    for (const SetView& bitmap : bitmaps_) {
      walk_set(bitmap, [&](Cell cell) { cells_.push_back(cell); });
      ends_.push_back(cells_.size());
    }
    merge_lists();
    return array_view(cells_);
  }
  words_.assign(words, 0);
  mark_cells(cells_, first_word_, words_.data());
  for (const SetView& bitmap : bitmaps_) {
    std::uint64_t* const to = words_.data() + ((bitmap.base / 64) - first_word_);
    for (std::size_t w = 0; w < bitmap.words.size(); ++w) to[w] |= bitmap.words[w];
  }
  const SetView all = bitmap_view(first_word_, words_, count_);
  if (suits_bitmap(words, count_, bitmap_bytes_)) return all;
  cells_.clear();
  walk_set(all, [&](Cell cell) { cells_.push_back(cell); });
  return array_view(cells_);
}

void SetUnion::clear() {
  cells_.clear();
  ends_.clear();
  bitmaps_.clear();
  copies_.clear();
  count_ = 0;
  first_word_ = ~std::uint64_t{0};
  end_word_ = 0;
}

void SetUnion::widen(std::uint64_t first, std::uint64_t words) {
  first_word_ = std::min(first_word_, first);
  end_word_ = std::max(end_word_, first + words);
}

// Neighbours by neighbours.
void SetUnion::merge_lists() {
  while (ends_.size() > 1) {
    merged_.resize(cells_.size());
    std::size_t begin = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < ends_.size(); i += 2) {
      const std::size_t middle = ends_[i];
      const std::size_t end = i + 1 < ends_.size() ? ends_[i + 1] : middle;
      std::merge(cells_.data() + begin, cells_.data() + middle, cells_.data() + middle,
                 cells_.data() + end, merged_.data() + begin);
      ends_[kept++] = end;
      begin = end;
    }
    ends_.resize(kept);
    cells_.swap(merged_);
  }
}

}  // namespace stratalog
