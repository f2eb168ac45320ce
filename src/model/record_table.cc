// SPDX-License-Identifier: Apache-2.0
#include "model/record_table.h"

#include <algorithm>
#include <cassert>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

constexpr std::size_t kFirstRecordSlots = 64;

std::uint64_t hash_record(ShapeId shape, std::span<const Cell> cells) {
  std::uint64_t hash = splitmix64(shape);
  for (const Cell cell : cells) hash = splitmix64(hash ^ cell);
  return hash;
}

}  // namespace

ShapeId RecordTable::shape(const Shape& fields) {
  const auto known = std::find(shapes_.begin(), shapes_.end(), fields);
  if (known != shapes_.end()) return static_cast<ShapeId>(known - shapes_.begin());
  assert(shapes_.size() < kMaxShapes);
  shapes_.push_back(fields);
  return static_cast<ShapeId>(shapes_.size() - 1);
}

std::size_t RecordTable::locate(ShapeId shape, std::span<const Cell> cells) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash_record(shape, cells) & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    const std::uint32_t id = slots_[i] - 1;
    const std::uint64_t start = starts_[id];
    if (cells_[start] == shape &&
        std::equal(cells.begin(), cells.end(),
                   cells_.begin() + static_cast<std::ptrdiff_t>(start) + 1))
      break;
  }
  return i;
}

std::optional<std::uint32_t> RecordTable::find(ShapeId shape, std::span<const Cell> cells) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t id_plus_one = slots_[locate(shape, cells)];
  if (id_plus_one == 0) return std::nullopt;
  return id_plus_one - 1;
}

std::uint32_t RecordTable::intern(ShapeId shape, std::span<const Cell> cells) {
  assert(shape < shapes_.size() && shapes_[shape].size() == cells.size());
  if ((starts_.size() + 1) * 2 > slots_.size()) grow_slots();
  const std::size_t slot = locate(shape, cells);
  if (slots_[slot] == 0) {
    assert(has_room());
    starts_.push_back(cells_.size());
    cells_.push_back(shape);
    cells_.insert(cells_.end(), cells.begin(), cells.end());
    slots_[slot] = static_cast<std::uint32_t>(starts_.size());
  }
  return slots_[slot] - 1;
}

void RecordTable::grow_slots() {
  slots_.assign(std::max(kFirstRecordSlots, slots_.size() * 2), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t id = 0; id < starts_.size(); ++id) {
    std::size_t i = hash_record(shape_of(id), cells(id)) & mask;
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = id + 1;
  }
}

std::uint64_t RecordTable::memory_bytes() const {
  return (slots_.capacity() * sizeof(std::uint32_t)) +
         (starts_.capacity() * sizeof(std::uint64_t)) + (cells_.capacity() * sizeof(Cell));
}

void RecordTable::clear() {
  slots_.clear();
  starts_.clear();
  cells_.clear();
}

}  // namespace stratalog
