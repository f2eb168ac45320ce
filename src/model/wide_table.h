// SPDX-License-Identifier: Apache-2.0
// WideTable: 64-bit patterns that are not narrow (cell.h) under dense numbers, append-only, the
// counterpart of SymbolTable for numbers. Ids count from 0; ValueDictionary turns them into cells.
// Local; thread-compatible.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/cell.h"

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
  // Requires id < size().
  std::uint64_t bits(std::uint32_t id) const { return values_[id]; }

  bool has_room() const { return size() < kMaxValues; }
  std::uint64_t size() const { return values_.size(); }
  std::span<const std::uint64_t> values() const { return values_; }
  std::uint64_t memory_bytes() const;
  void clear();

 private:
  std::size_t locate(std::uint64_t bits) const;
  void grow_slots();

  std::vector<std::uint32_t> slots_;  // id + 1, 0 where empty; a power of two, at most half full
  std::vector<std::uint64_t> values_;
};

}  // namespace stratalog
