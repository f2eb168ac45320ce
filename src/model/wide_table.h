// SPDX-License-Identifier: Apache-2.0
// WideTable: 64-bit patterns that are not narrow (cell.h) under dense numbers, append-only, the
// counterpart of SymbolTable for numbers. Ids count from 0; ValueDictionary turns them into cells.
// Local; thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cell.h"
#include "model/multiset_hash.h"

namespace stratalog {

// Cells from here on are provisional wide values: known to one rank only until the ranks agree
// (value_agreement.h).
inline constexpr Cell kProvisionalWideBase = 0xC0000000U;

constexpr bool is_provisional_wide(Cell cell) { return cell >= kProvisionalWideBase; }

class WideTable {
 public:
  static constexpr std::uint64_t kMaxValues = kProvisionalWideBase - kWideBase;

  // The id of `bits`, a new one (size()) if it is not in the table. Requires has_room().
  std::uint32_t intern(std::uint64_t bits);
  std::optional<std::uint32_t> find(std::uint64_t bits) const;
  // Looking for a value waits for memory twice. Whoever has many to look for asks for these, one
  // after the other and well before: first where its slot is, then the value that may be its.
  void prefetch_slot(std::uint64_t bits) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[first_slot(bits)]);
  }
  void prefetch_value(std::uint64_t bits) const {
    if (slots_.empty()) return;
    if (const std::uint32_t id_plus_one = slots_[first_slot(bits)]; id_plus_one != 0)
      __builtin_prefetch(&values_[id_plus_one - 1]);
  }
  // Room for so many more, so that the index is not built again on the way to them.
  void reserve(std::uint64_t more);
  // intern() of all, in order; append(i, id) is told each one's id. Quicker than one by one.
  template <typename Append>
  void intern_all(std::span<const std::uint64_t> values, Append&& append);
  // The same for values of which none is in the table, and none occurs twice.
  void append_new(std::span<const std::uint64_t> values);

  // Requires id < size().
  std::uint64_t bits(std::uint32_t id) const { return values_[id]; }

  bool has_room() const { return size() < kMaxValues; }
  std::uint64_t size() const { return values_.size(); }
  std::span<const std::uint64_t> values() const { return values_; }
  std::uint64_t memory_bytes() const;
  void clear();

 private:
  std::size_t first_slot(std::uint64_t bits) const {
    return splitmix64(bits) & (slots_.size() - 1);
  }
  std::size_t locate(std::uint64_t bits) const;
  void set_slots(std::size_t count);  // a power of two
  void fill_slots(std::size_t first);

  std::vector<std::uint32_t> slots_;  // id + 1, 0 where empty; a power of two, at most half full
  std::vector<std::uint64_t> values_;
};

template <typename Append>
void WideTable::intern_all(std::span<const std::uint64_t> values, Append&& append) {
  constexpr std::size_t kSlotsAhead = 32;
  constexpr std::size_t kValuesAhead = 16;
  for (std::size_t i = 0; i < std::min(values.size(), kSlotsAhead); ++i) prefetch_slot(values[i]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i + kSlotsAhead < values.size()) prefetch_slot(values[i + kSlotsAhead]);
    if (i + kValuesAhead < values.size()) prefetch_value(values[i + kValuesAhead]);
    append(i, intern(values[i]));
  }
}

}  // namespace stratalog
