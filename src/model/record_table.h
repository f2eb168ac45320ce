// SPDX-License-Identifier: Apache-2.0
// RecordTable: records (fixed lists of cells) under dense numbers, append-only, the counterpart of
// SymbolTable for structured values. A record has a shape, which says for each field what its cell
// is; two records are one exactly if shape and cells are. The cell of a record is its number plus
// one, 0 stands for nil. Knows nothing of ranks: value_agreement.h makes tables equal. Local;
// thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cell.h"

namespace stratalog {

// What the cell of a record's field stands for.
enum class CellClass : std::uint8_t { kNumber, kSymbol, kRecord };

using ShapeId = std::uint32_t;
using Shape = std::vector<CellClass>;

inline constexpr Cell kNilCell = 0;
// Equals no record that any relation holds: the result of a search for a record that nobody has
// made.
inline constexpr Cell kNoRecordCell = 0x7FFFFFFFU;
// Record cells from here on are provisional: known to one rank only until the ranks agree.
inline constexpr Cell kProvisionalRecordBase = 1U << 30;

constexpr bool is_provisional_record(Cell cell) { return cell >= kProvisionalRecordBase; }

// A record as its table has it; the cells are valid until a record is added.
struct RecordCells {
  ShapeId shape = 0;
  std::span<const Cell> cells;
};

class RecordTable {
 public:
  static constexpr std::uint64_t kMaxRecords = kProvisionalRecordBase - 1;
  static constexpr std::uint64_t kMaxShapes = 1U << 16;

  // The number of a shape, a new one if it is not known. Shapes are few; every rank must announce
  // the same ones in the same order. Requires fewer than kMaxShapes shapes.
  ShapeId shape(const Shape& fields);
  const Shape& fields_of(ShapeId shape) const { return shapes_[shape]; }
  std::span<const Shape> shapes() const { return shapes_; }

  // The number of a record, a new one (size()) if it is not in the table. Requires has_room() and
  // as many cells as the shape has fields.
  std::uint32_t intern(ShapeId shape, std::span<const Cell> cells);
  std::optional<std::uint32_t> find(ShapeId shape, std::span<const Cell> cells) const;

  // Require id < size(). The cells are valid until the next intern().
  ShapeId shape_of(std::uint32_t id) const { return cells_[starts_[id]]; }
  std::span<const Cell> cells(std::uint32_t id) const {
    return {cells_.data() + starts_[id] + 1, shapes_[shape_of(id)].size()};
  }

  RecordCells record(std::uint32_t id) const { return {.shape = shape_of(id), .cells = cells(id)}; }

  bool has_room() const { return size() < kMaxRecords; }
  std::uint64_t size() const { return starts_.size(); }
  // Cells of all records together, one more for each record.
  std::uint64_t cell_count() const { return cells_.size(); }
  std::uint64_t memory_bytes() const;
  // Forgets the records, not the shapes.
  void clear();

 private:
  // The slot that holds the record, or the empty one where it belongs.
  std::size_t locate(ShapeId shape, std::span<const Cell> cells) const;
  void grow_slots();

  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> slots_;  // id + 1, 0 where empty; a power of two, at most half full
  std::vector<std::uint64_t> starts_;  // id -> where its shape and then its cells stand
  std::vector<Cell> cells_;
};

}  // namespace stratalog
