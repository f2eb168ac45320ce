// SPDX-License-Identifier: Apache-2.0
// SetUnion: disjoint sets of cells as one view, a sorted array or a bitmap, whichever the elements
// suit. Used over and over for one set after the other, so that its memory is asked for once. Pure;
// local.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/tuple_group.h"

namespace stratalog {

SetView array_view(std::span<const Cell> cells);
// Of words that begin with cell first_word * 64.
SetView bitmap_view(std::uint64_t first_word, std::span<const std::uint64_t> words,
                    std::uint64_t count);
// As many bytes an element may a bitmap take: hardly more than a packed list, so that neither
// packing nor reading it looks at elements; and no more than cells do.
inline constexpr std::uint64_t kPackedBytes = 2;
inline constexpr std::uint64_t kCellBytes = sizeof(Cell);
constexpr bool suits_bitmap(std::uint64_t words, std::uint64_t count,
                            std::uint64_t most_bytes = kPackedBytes) {
  return words * 8 <= count * most_bytes;
}
void mark_cells(std::span<const Cell> cells, std::uint64_t first_word, std::uint64_t* words);

class SetUnion {
 public:
  // The view is a bitmap where it takes at most so many bytes an element.
  explicit SetUnion(std::uint64_t bitmap_bytes) : bitmap_bytes_(bitmap_bytes) {}

  // The view need not last.
  void add(const SetView& set);
  // Of a bitmap from a multiple of 64 on, which lasts until clear().
  void add_lasting(const SetView& bitmap);
  // The same for a list without a view: appended to cells(), ascending and not empty, then
  // end_list().
  std::vector<Cell>& cells() { return cells_; }
  void end_list();

  // Of one set at least; valid until clear(). Called once.
  SetView view();
  void clear();

 private:
  void widen(std::uint64_t first, std::uint64_t words);
  void merge_lists();

  std::uint64_t bitmap_bytes_;
  std::vector<Cell> cells_;  // lists, one behind the other
  std::vector<std::size_t> ends_;  // of the lists
  std::vector<SetView> bitmaps_;
  std::deque<std::vector<std::uint64_t>> copies_;  // of bitmaps that do not last
  std::vector<Cell> merged_;
  std::vector<std::uint64_t> words_;
  std::uint64_t count_ = 0;
  std::uint64_t first_word_ = ~std::uint64_t{0};  // of all parts
  std::uint64_t end_word_ = 0;
};

}  // namespace stratalog
