// SPDX-License-Identifier: Apache-2.0
// PackedRows: the rows of one block at rest. A row is the set of lanes (offsets in the block) that
// a slot holds, stored as offsets, runs or a bitmap, whichever is smallest, or as a reference to an
// equal row before it (recent_rows.h); empty rows cost nothing. Rows come in ascending slot order
// once `is_sorted()`; appended pieces may repeat a slot, which means their union. No I/O. Local.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "datalog/pivot/pivot_space.h"
#include "datalog/pivot/recent_rows.h"
#include "model/tuple_group.h"

namespace stratalog {

class PackedRows {
 public:
  // Appends the non-empty row `words[0 .. width)`.
  void append(SlotId slot, const std::uint64_t* words, std::uint32_t width);
  // The same, as a reference where `recent` knows an equal row. It knows rows of this object only.
  void append(SlotId slot, const std::uint64_t* words, std::uint32_t width, RecentRows& recent);
  void clear();  // keeps what it reserved
  // Gives back what appending reserved.
  void shrink_to_fit();

  std::uint64_t rows() const { return slots_.size(); }
  // Sum of row sizes: tuples, where is_sorted().
  std::uint64_t tuples() const { return tuples_; }
  bool is_empty() const { return slots_.empty(); }
  bool is_sorted() const { return sorted_; }
  std::uint64_t places() const { return stream_.size(); }
  const std::vector<SlotId>& slots() const { return slots_; }
  std::uint64_t memory_bytes() const {
    return slots_.capacity() * sizeof(SlotId) + stream_.capacity() * sizeof(std::uint16_t) +
           skips_.capacity() * sizeof(std::uint64_t);
  }

  struct Spelled;  // a row, in the .cc
  // Walks the rows in stored order.
  class Cursor {
   public:
    Cursor(const PackedRows& rows, std::uint32_t width) : rows_(&rows), width_(width) {}
    bool at_end() const { return row_ == rows_->slots_.size(); }
    SlotId slot() const { return rows_->slots_[row_]; }
    // Where the row at the cursor is spelled out, below PackedRows::places(): equal places mean
    // equal rows.
    std::uint64_t place() const;
    // The row at the cursor as it is stored: offsets or runs where they lie, a bitmap copied to
    // `words[0 .. width)`. `base` is the cell of offset 0. Steps on.
    SetView view(Cell base, std::uint64_t* words);
    // Steps over at most `most` rows of slots below `limit`; writes where each is spelled out,
    // counted from `first`, to `places`. Returns their slots.
    std::span<const SlotId> take(SlotId limit, std::size_t most, std::uint64_t first,
                                 std::uint64_t* places);
    // Writes the row at the cursor to `words[0 .. width)` and steps on.
    void read(std::uint64_t* words);
    // The same, united with what `words` holds.
    void unite(std::uint64_t* words);
    void skip();

   private:
    friend class PackedRows;
    Spelled step();
    const PackedRows* rows_;
    std::uint32_t width_;
    std::uint64_t row_ = 0;
    std::uint64_t at_ = 0;
  };

  // The row that is spelled out at `place`, as Cursor::view() and Cursor::read() have it.
  SetView view_at(std::uint64_t place, Cell base, std::uint32_t width, std::uint64_t* words) const;
  void read_at(std::uint64_t place, std::uint32_t width, std::uint64_t* words) const;

  // Unites the row of `slot` with what `words` holds; false where it has none. Requires
  // is_sorted().
  bool unite_row(SlotId slot, std::uint32_t width, std::uint64_t* words) const;
  // Whether `slot` holds the lane at `offset`. Requires is_sorted().
  bool contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const;

 private:
  static constexpr std::uint64_t kSkipRows = 64;
  Spelled spelled_at(std::uint64_t place) const;
  void begin_row(SlotId slot);

  std::vector<SlotId> slots_;
  std::vector<std::uint16_t> stream_;
  std::vector<std::uint64_t> skips_;  // stream position of every kSkipRows-th row
  std::uint64_t tuples_ = 0;
  bool sorted_ = true;
};

}  // namespace stratalog
