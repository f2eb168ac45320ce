// SPDX-License-Identifier: Apache-2.0
#include "model/wide_table.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace stratalog {
namespace {

constexpr std::size_t kFirstWideSlots = 64;

}  // namespace

std::size_t WideTable::locate(std::uint64_t bits) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = first_slot(bits);
  while (slots_[i] != 0 && values_[slots_[i] - 1] != bits) i = (i + 1) & mask;
  return i;
}

// Slot by slot, those that have not been found or missed yet.
void WideTable::find_all(std::span<const std::uint64_t> values, std::uint32_t* ids) const {
  if (slots_.empty()) {
    std::fill_n(ids, values.size(), kNotThere);
    return;
  }
  struct Sought {
    std::uint32_t place = 0;
    std::uint32_t id_plus_one = 0;
    std::size_t slot = 0;
  };
  std::array<Sought, kAtOnce> sought;
  std::array<std::uint64_t, kAtOnce> met;  // NOLINT: filled as far as it is read
  const std::size_t mask = slots_.size() - 1;
  for (; !values.empty();
       values = values.subspan(std::min(values.size(), kAtOnce)), ids += kAtOnce) {
    std::size_t left = std::min(values.size(), kAtOnce);
    for (std::size_t i = 0; i < left; ++i)
      sought[i] = {.place = static_cast<std::uint32_t>(i), .slot = first_slot(values[i])};
    while (left != 0) {
      for (std::size_t i = 0; i < left; ++i) sought[i].id_plus_one = slots_[sought[i].slot];
      for (std::size_t i = 0; i < left; ++i)
        met[i] = sought[i].id_plus_one == 0 ? 0 : values_[sought[i].id_plus_one - 1];
      std::size_t on = 0;
      for (std::size_t i = 0; i < left; ++i) {
        const Sought& one = sought[i];
        if (one.id_plus_one == 0)
          ids[one.place] = kNotThere;
        else if (met[i] == values[one.place])
          ids[one.place] = one.id_plus_one - 1;
        else
          sought[on++] = {.place = one.place, .slot = (one.slot + 1) & mask};
      }
      left = on;
    }
  }
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

void WideTable::extend(std::uint64_t more) {
  reserve(more);
  values_.resize(values_.size() + more);
}

bool WideTable::put(std::uint32_t tag, std::uint32_t id, std::size_t end) {
  for (std::size_t i = slot_of(tag); i < end; ++i) {
    if (slots_[i] != 0) continue;
    slots_[i] = id + 1;
    return true;
  }
  return false;
}

void WideTable::put(std::uint32_t tag, std::uint32_t id) {
  slots_[first_empty(slot_of(tag))] = id + 1;
}

void WideTable::set_slots(std::size_t count) {
  slots_.assign(count, 0);
  shift_ = 32U - static_cast<std::uint32_t>(std::bit_width(count) - 1);
  fill_slots(0);
}

// For the values from `first` on, which have none.
void WideTable::fill_slots(std::size_t first) {
  std::array<std::size_t, kAtOnce> empty;  // NOLINT: filled as far as it is read
  for (std::size_t at = first; at < values_.size(); at += kAtOnce) {
    const std::size_t count = std::min(values_.size() - at, kAtOnce);
    for (std::size_t i = 0; i < count; ++i) empty[i] = first_empty(first_slot(values_[at + i]));
    // It may be taken by now, by one of these.
    for (std::size_t i = 0; i < count; ++i)
      slots_[first_empty(empty[i])] = static_cast<std::uint32_t>(at + i + 1);
  }
}

std::uint64_t WideTable::memory_bytes() const {
  return (slots_.capacity() * sizeof(std::uint32_t)) + (values_.capacity() * sizeof(std::uint64_t));
}

void WideTable::clear() { *this = WideTable(); }

}  // namespace stratalog
