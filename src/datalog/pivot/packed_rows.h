// SPDX-License-Identifier: Apache-2.0
// PackedRows: the rows of one block at rest. A row is the set of lanes (offsets in the block) that
// a slot holds, stored as offsets, runs or a bitmap, whichever is smallest, or as a reference to an
// equal row before it (recent_rows.h); empty rows cost nothing. Rows come in ascending slot order
// once `is_sorted()`; appended pieces may repeat a slot, which means their union. No I/O. Local.
#pragma once

#include <cstdint>
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
    // Writes the row at the cursor to `words[0 .. width)` and steps on.
    void read(std::uint64_t* words) { unpack<false>(words); }
    // The same, united with what `words` holds.
    void unite(std::uint64_t* words) { unpack<true>(words); }

   private:
    friend class PackedRows;
    struct Spelled {
      const std::uint16_t* payload;
      std::uint32_t tag;
      std::uint32_t count;
    };
    Spelled step();
    template <bool kUnite>
    void unpack(std::uint64_t* words);
    const PackedRows* rows_;
    std::uint32_t width_;
    std::uint64_t row_ = 0;
    std::uint64_t at_ = 0;
  };

  // Whether `slot` holds the lane at `offset`. Requires is_sorted().
  bool contains(SlotId slot, std::uint32_t offset, std::uint32_t width) const;

 private:
  static constexpr std::uint64_t kSkipRows = 64;
  void begin_row(SlotId slot);

  std::vector<SlotId> slots_;
  std::vector<std::uint16_t> stream_;
  std::vector<std::uint64_t> skips_;  // stream position of every kSkipRows-th row
  std::uint64_t tuples_ = 0;
  bool sorted_ = true;
};

}  // namespace stratalog
