// SPDX-License-Identifier: Apache-2.0
// WideTable: 64-bit patterns that are not narrow (cell.h) under dense numbers, append-only, the
// counterpart of SymbolTable for numbers. Ids count from 0; ValueDictionary turns them into cells.
// Local; thread-compatible.
#pragma once

#include <algorithm>
#include <array>
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
  static constexpr std::uint32_t kNotThere = ~std::uint32_t{0};
  // The ids of many values, kNotThere for those that are not in the table. Looking for one waits
  // for memory twice, for its slot and for the value that may be it; here all wait together. `ids`
  // has room for as many.
  void find_all(std::span<const std::uint64_t> values, std::uint32_t* ids) const;
  // Room for so many more, so that the index is not built again on the way to them.
  void reserve(std::uint64_t more);
  // intern() of all, in order; append(i, id) is told each one's id. Quicker than one by one.
  template <typename Append>
  void intern_all(std::span<const std::uint64_t> values, Append&& append);
  // The same for values of which none is in the table, and none occurs twice.
  void append_new(std::span<const std::uint64_t> values);

  // For threads that fill a table together, as SymbolTable's.
  void extend(std::uint64_t more);
  void show_value(std::uint32_t id, std::uint64_t bits) { values_[id] = bits; }
  static std::uint32_t tag(std::uint64_t bits) {
    return static_cast<std::uint32_t>(splitmix64(bits) >> 32U);
  }
  std::size_t slot_of(std::uint32_t tag) const { return tag >> shift_; }
  std::size_t slot_count() const { return slots_.size(); }
  bool put(std::uint32_t tag, std::uint32_t id, std::size_t end);
  void put(std::uint32_t tag, std::uint32_t id);

  // Requires id < size().
  std::uint64_t bits(std::uint32_t id) const { return values_[id]; }

  bool has_room() const { return size() < kMaxValues; }
  std::uint64_t size() const { return values_.size(); }
  std::span<const std::uint64_t> values() const { return values_; }
  std::uint64_t memory_bytes() const;
  void clear();

 private:
  // So many look-ups wait for memory together; what they wait for stays near the processor.
  static constexpr std::size_t kAtOnce = 256;

  std::size_t first_slot(std::uint64_t bits) const { return slot_of(tag(bits)); }
  std::size_t locate(std::uint64_t bits) const;
  // From this slot on, and then from the beginning. There is one.
  std::size_t first_empty(std::size_t at) const {
    while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void set_slots(std::size_t count);  // a power of two
  void fill_slots(std::size_t first);

  std::vector<std::uint32_t> slots_;  // id + 1, 0 where empty; a power of two, at most half full
  std::uint32_t shift_ = 0;  // from a tag to a number of slots
  std::vector<std::uint64_t> values_;
};

template <typename Append>
void WideTable::intern_all(std::span<const std::uint64_t> values, Append&& append) {
  std::array<std::uint32_t, kAtOnce> ids;  // NOLINT: filled as far as it is read
  for (std::size_t at = 0; at < values.size(); at += kAtOnce) {
    const auto some = values.subspan(at, std::min(values.size() - at, kAtOnce));
    find_all(some, ids.data());
    for (std::size_t i = 0; i < some.size(); ++i)
      append(at + i, ids[i] == kNotThere ? intern(some[i]) : ids[i]);
  }
}

}  // namespace stratalog
