// SPDX-License-Identifier: Apache-2.0
// Computes MultisetHash (see tuple_group.h) of groups: f(prefix) * sum of g(element). Because the
// hash is a product over columns it does not depend on the column order in which a relation is
// walked; and because sums of g come from tables, a dense set costs far less than its elements.
// Local; not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/cell.h"
#include "model/group_batch.h"
#include "model/tuple_group.h"

namespace stratalog {

// The two odd factors that `cell` contributes in declared column `column`.
struct ColumnFactors {
  std::uint64_t low;
  std::uint64_t high;
};

constexpr std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr ColumnFactors column_factors(Cell cell, std::uint32_t column) {
  const std::uint64_t seed = (static_cast<std::uint64_t>(column) << 32) | cell;
  return {.low = splitmix64(seed) | 1U, .high = splitmix64(seed ^ 0xD6E8FEB86659FD93ULL) | 1U};
}

// Hashes many groups of one relation. All but arrays are summed from tables that are made where
// they pay: prefix sums of g, so that a run costs two look-ups, over the 512 cells from the base
// that rows share (those of a pivot block do) and over pages of 512 cells for all other sets; and
// for bitmaps with a shared base a table for each half byte, so that a row costs 128 look-ups
// whatever it holds. Rows of one table of cells (BitRow) are summed by what differs from the row
// before. Arrays are hashed cell by cell. At most about 8.5 MiB, only where large sets
// come by. Local.
class GroupHasher {
 public:
  // `column_order` as in RelationImage; its size is the arity (>= 1). It outlives the hasher.
  explicit GroupHasher(std::span<const std::uint32_t> column_order);
  ~GroupHasher();
  GroupHasher(GroupHasher&&) noexcept;
  GroupHasher& operator=(GroupHasher&&) noexcept;
  GroupHasher(const GroupHasher&) = delete;
  GroupHasher& operator=(const GroupHasher&) = delete;

  MultisetHash hash(const TupleGroup& group);
  // Of all groups together. All batches that a hasher sees are of one walk.
  MultisetHash hash(const GroupBatch& batch);

 private:
  // Two lanes that are added together; written with the compiler's vector type, because GCC 12 does
  // not see that two additions side by side are one.
  typedef std::uint64_t Sum __attribute__((vector_size(16)));  // NOLINT: attribute needs it
  struct Page;
  struct NibbleTables;
  struct KnownSum;
  struct LastRow;

  Sum factors(Cell cell) const;
  void fill(Page& page, Cell first) const;
  const Page* page_at(std::uint32_t number, std::uint64_t about_to_hash);
  const Page* known_page(std::uint32_t number) const;
  Sum sum_range(std::uint64_t first, std::uint64_t end);
  Sum sum_array(std::span<const Cell> cells) const;
  Sum sum_offsets(Cell base, std::span<const std::uint16_t> offsets);
  Sum sum_runs(Cell base, std::span<const std::uint16_t> runs);
  Sum sum_bits(Cell base, std::span<const std::uint64_t> words);
  Sum sum_set(const SetView& set);
  void enter_table(const BitRow& row);
  Sum sum_bit_row(const BitRow& row);
  KnownSum sum_of_run(const GroupBatch& batch, std::size_t run);
  MultisetHash prefix_product(std::span<const Cell> prefix) const;
  MultisetHash hash_single_cells(const GroupBatch& batch);

  // Rows of one base, all within 512 cells of it.
  bool enter_row(const SetView& set);
  Sum sum_row(const SetView& row);
  void make_nibble_tables();

  std::span<const std::uint32_t> column_order_;
  std::vector<std::unique_ptr<Page>> pages_;  // direct-mapped by page number; empty until needed
  std::vector<std::uint32_t> heat_;  // elements hashed one by one for want of the page
  std::unique_ptr<Page> row_;
  std::unique_ptr<NibbleTables> row_nibbles_;
  std::unique_ptr<LastRow> last_row_;
  std::vector<KnownSum> known_;  // direct-mapped by content; empty until needed
  Cell row_base_ = 0;
  std::uint32_t rows_ = 0;  // that came with row_base_
  std::uint32_t bitmap_rows_ = 0;
};

// Hash of all tuples of one group. `column_order` as in RelationImage; its size is the arity (>=
// 1).
MultisetHash hash_group(const TupleGroup& group, std::span<const std::uint32_t> column_order);

// Hash of one tuple in declared column order; the empty tuple hashes to {1, 1}.
MultisetHash hash_tuple(std::span<const Cell> tuple);

}  // namespace stratalog
