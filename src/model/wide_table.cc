// SPDX-License-Identifier: Apache-2.0
#include "model/wide_table.h"

#include <algorithm>
#include <cassert>

#include "model/multiset_hash.h"

namespace stratalog {
namespace {

constexpr std::size_t kFirstWideSlots = 64;

}  // namespace

std::size_t WideTable::locate(std::uint64_t bits) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = splitmix64(bits) & mask;
  while (slots_[i] != 0 && values_[slots_[i] - 1] != bits) i = (i + 1) & mask;
  return i;
}

std::optional<std::uint32_t> WideTable::find(std::uint64_t bits) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t id_plus_one = slots_[locate(bits)];
  if (id_plus_one == 0) return std::nullopt;
  return id_plus_one - 1;
}

std::uint32_t WideTable::intern(std::uint64_t bits) {
  if ((values_.size() + 1) * 2 > slots_.size()) grow_slots();
  std::uint32_t& slot = slots_[locate(bits)];
  if (slot == 0) {
    assert(has_room());
    values_.push_back(bits);
    slot = static_cast<std::uint32_t>(values_.size());
  }
  return slot - 1;
}

void WideTable::grow_slots() {
  slots_.assign(std::max(kFirstWideSlots, slots_.size() * 2), 0);
  for (std::size_t id = 0; id < values_.size(); ++id)
    slots_[locate(values_[id])] = static_cast<std::uint32_t>(id + 1);
}

std::uint64_t WideTable::memory_bytes() const {
  return (slots_.capacity() * sizeof(std::uint32_t)) + (values_.capacity() * sizeof(std::uint64_t));
}

void WideTable::clear() { *this = WideTable(); }

}  // namespace stratalog
