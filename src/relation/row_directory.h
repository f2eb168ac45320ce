// SPDX-License-Identifier: Apache-2.0
// RowDirectory: the rows of an index under a prefix shorter than theirs. Of rows that were made in
// order it needs the first of each prefix only, as the others follow it: it is looked for in the
// buckets of the rows, or found by rank where prefixes are one cell, or hashed. Prefixes whose rows
// are not side by side have a list. The cells are the index's. Local; not thread-safe while rows
// are added.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/cell.h"
#include "relation/hash_slots.h"
#include "relation/place_iterator.h"
#include "relation/prefix_map.h"
#include "relation/ranked_cells.h"
#include "relation/row_sets.h"

namespace stratalog {

// Numbers of rows, ascending: side by side, or a list.
class FoundRows {
 public:
  FoundRows() = default;
  FoundRows(RowId first, std::size_t size) : first_(first), size_(size) {}
  explicit FoundRows(std::span<const RowId> list) : list_(list.data()), size_(list.size()) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  RowId operator[](std::size_t at) const {
    return list_ == nullptr ? first_ + static_cast<RowId>(at) : list_[at];
  }
  PlaceIterator<FoundRows> begin() const { return {*this, 0}; }
  PlaceIterator<FoundRows> end() const { return {*this, size_}; }

 private:
  const RowId* list_ = nullptr;
  RowId first_ = 0;
  std::size_t size_ = 0;
};

class RowDirectory {
 public:
  explicit RowDirectory(std::uint32_t length) : length_(length) {}

  // Cells of the prefixes.
  std::uint32_t length() const { return length_; }

  // `rows` are those of the index, at least one, ascending. Requires that there were none.
  void assign_ascending(const PrefixMap& rows);
  // The last row that came. Throws NoRoom beyond 2^31 rows.
  void add(const PrefixMap& rows);
  // What is returned is valid until rows are added.
  FoundRows find(const Cell* prefix, const PrefixMap& rows) const;
  void prefetch(const Cell* prefix, const PrefixMap& rows) const {
    if (ranked_.reaches(*prefix)) return ranked_.prefetch(*prefix);
    rows.buckets().prefetch(prefix, length_);
    if (slots_.size() > 0) slots_.prefetch(hash_of_key(prefix, length_));
  }
  // And then what find() will look at behind that.
  void prefetch_found(const Cell* prefix, const PrefixMap& rows) const;

  std::uint64_t heap_bytes() const;

 private:
  // What a slot says: a row twice, or the number of a list twice plus one.
  static bool is_list(std::uint32_t number) { return number % 2 != 0; }

  struct List {
    RowId first = 0;  // of `rows`: spares a look at them
    std::vector<RowId> rows;
  };

  // Of numbers, for the slots.
  struct Keys {
    const RowDirectory* directory;
    const PrefixMap* rows;
    const Cell* key(std::uint32_t number) const {
      return rows->key(directory->first_row(number)).data();
    }
    std::uint64_t hash(std::uint32_t number) const {
      return hash_of_key(key(number), directory->length_);
    }
    void prefetch(std::uint32_t number) const {
      if (!is_list(number)) prefetch_for_reading(key(number));
    }
  };

  RowId first_row(std::uint32_t number) const {
    return is_list(number) ? lists_[number / 2].first : number / 2;
  }
  bool begins_with(RowId row, const Cell* prefix, const PrefixMap& rows) const {
    const Cell* const mine = rows.key(row).data();
    Cell different = 0;  // prefixes are short: a branch for each cell would cost more
    for (std::uint32_t i = 0; i < length_; ++i) different |= mine[i] ^ prefix[i];
    return different == 0;
  }
  FoundRows rows_from(RowId first, const PrefixMap& rows) const;
  // Of a prefix that is found by rank and has no list; else none.
  FoundRows rows_of_rank(const Cell* prefix) const;
  // Of those that were made in order; none where there are no buckets.
  FoundRows rows_of_bucket(const Cell* prefix, const PrefixMap& rows) const;

  std::uint32_t length_;
  RowId ascending_ = 0;  // so many rows were made in order
  // Of a prefix of one cell: its rank, of which the first row, and one entry more. The highest bit
  // says that it has a list as well, which the slots tell.
  RankedCells ranked_;
  std::vector<RowId> firsts_;
  HashSlots slots_;
  std::vector<List> lists_;
  std::uint64_t listed_rows_ = 0;
};

}  // namespace stratalog
