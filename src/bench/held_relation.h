// SPDX-License-Identifier: Apache-2.0
// HeldRelation: one rank's part of a relation version, copied into memory group by group with each
// set in the representation that it came in: what a benchmark saves again and again, and into what
// it restarts. Not an index: no look-up, no deduplication. Local.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/large_pages.h"
#include "model/tuple_group.h"

namespace stratalog {

class HeldRelation {
 public:
  // `column_order` as in RelationImage; its size is the arity.
  HeldRelation(std::string name, RelationVersion version, std::vector<std::uint32_t> column_order);

  // So many rows will come, about: makes room for them as arrays, which costs address space only.
  void expect_rows(std::uint64_t rows) { values_.reserve(rows); }
  // Copies the group. Requires arity >= 1.
  void add(const TupleGroup& group);
  void add_array(std::span<const Cell> prefix, std::span<const Cell> values);
  // Groups by (prefix, first element): the order in which an index walks. O(groups log groups).
  void sort_groups();

  const std::string& name() const { return name_; }
  RelationVersion version() const { return version_; }
  const std::vector<std::uint32_t>& column_order() const { return column_order_; }
  std::uint32_t arity() const { return static_cast<std::uint32_t>(column_order_.size()); }
  std::uint64_t rows() const { return rows_; }
  std::uint64_t groups() const { return records_.size(); }
  // As rows of 64-bit numbers, the measure of the papers.
  std::uint64_t row_bytes() const { return rows_ * 8 * arity(); }
  // O(rows) at worst.
  MultisetHash hash() const;
  Status for_each_group(const GroupVisitor& visit) const;
  // For CheckpointWriter::save; refers to this relation, which outlives it and does not move.
  // `local_hash` is hash(), which a caller who saves often takes once.
  RelationImage image(const MultisetHash& local_hash) const;

 private:
  struct Record {
    std::uint64_t begin = 0;  // in the pool of the kind
    std::uint64_t count = 0;  // elements
    std::uint64_t prefix = 0;  // in cells_
    std::uint32_t size = 0;  // entries in the pool
    Cell base = 0;
    SetKind kind = SetKind::kArray;
  };
  TupleGroup view(const Record& record) const;

  std::string name_;
  RelationVersion version_;
  std::vector<std::uint32_t> column_order_;
  template <typename Entry>
  using Pool = std::vector<Entry, LargePages<Entry>>;

  Pool<Record> records_;
  Pool<Cell> cells_;  // prefixes
  Pool<Cell> values_;
  Pool<std::uint16_t> offsets_;
  Pool<std::uint64_t> words_;
  std::uint64_t rows_ = 0;
};

}  // namespace stratalog
