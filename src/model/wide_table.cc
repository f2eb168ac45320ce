// SPDX-License-Identifier: Apache-2.0
#include "model/wide_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace stratalog {
namespace {

constexpr std::size_t kFirstWideSlots = 64;
constexpr std::size_t kSlotsAhead = 32;

}  // namespace

std::size_t WideTable::locate(std::uint64_t bits) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = first_slot(bits);
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
  if ((values_.size() + 1) * 2 > slots_.size())
    set_slots(std::max(kFirstWideSlots, slots_.size() * 2));
  std::uint32_t& slot = slots_[locate(bits)];
  if (slot == 0) {
    assert(has_room());
    values_.push_back(bits);
    slot = static_cast<std::uint32_t>(values_.size());
  }
  return slot - 1;
}

void WideTable::reserve(std::uint64_t more) {
  const std::uint64_t values = values_.size() + more;
  // Twice what there was at least: many small calls must not copy everything each time.
  if (values > values_.capacity())
    values_.reserve(std::max<std::uint64_t>(values, 2 * values_.capacity()));
  if (values * 2 > slots_.size())
    set_slots(std::max<std::uint64_t>(kFirstWideSlots, std::bit_ceil(values * 2)));
}

void WideTable::append_new(std::span<const std::uint64_t> values) {
  reserve(values.size());
  const std::size_t first = values_.size();
  values_.insert(values_.end(), values.begin(), values.end());
  fill_slots(first);
}

void WideTable::set_slots(std::size_t count) {
  slots_.assign(count, 0);
  fill_slots(0);
}

// For the values from `first` on, which have none.
void WideTable::fill_slots(std::size_t first) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t id = first; id < values_.size(); ++id) {
    if (id + kSlotsAhead < values_.size()) prefetch_slot(values_[id + kSlotsAhead]);
    std::size_t i = first_slot(values_[id]);
    while (slots_[i] != 0) i = (i + 1) & mask;
    slots_[i] = static_cast<std::uint32_t>(id + 1);
  }
}

std::uint64_t WideTable::memory_bytes() const {
  return (slots_.capacity() * sizeof(std::uint32_t)) + (values_.capacity() * sizeof(std::uint64_t));
}

void WideTable::clear() { *this = WideTable(); }

}  // namespace stratalog
