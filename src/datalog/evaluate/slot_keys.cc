// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/slot_keys.h"

#include <utility>

#include "relation/key_order.h"

namespace stratalog::datalog {

SlotKeys::SlotKeys(std::span<const std::uint32_t> widths) {
  for (const std::uint32_t width : widths)
    relations_.push_back({.keys = PrefixMap(width), .slots = {}});
}

SlotId SlotKeys::name(std::uint32_t position, const Cell* key) {
  Keys& relation = relations_[position];
  const std::uint32_t id = relation.keys.find_or_add(key);
  if (id == relation.slots.size()) {
    relation.slots.push_back(slots());
    places_.push_back({.position = position, .key = id});
  }
  return relation.slots[id];
}

std::optional<SlotId> SlotKeys::find(std::uint32_t position, const Cell* key) const {
  const Keys& relation = relations_[position];
  const std::uint32_t id = relation.keys.find(key);
  if (id == PrefixMap::kAbsent) return std::nullopt;
  return relation.slots[id];
}

std::optional<SlotId> SlotKeys::find_single(Cell key) const {
  for (std::uint32_t p = 0; p < relations_.size(); ++p)
    if (relations_[p].keys.width() == 1)
      if (const auto slot = find(p, &key)) return slot;
  return std::nullopt;
}

std::vector<SlotId> SlotKeys::by_key() const {
  std::vector<SlotId> order;
  order.reserve(slots());
  for (const Keys& relation : relations_)
    for (const std::uint32_t id : ids_by_key(relation.keys)) order.push_back(relation.slots[id]);
  return order;
}

void SlotKeys::renumber(std::span<const SlotId> order) {
  const std::vector<Keys> old = std::exchange(relations_, {});
  const std::vector<Place> places = std::exchange(places_, {});
  for (const Keys& relation : old)
    relations_.push_back({.keys = PrefixMap(relation.keys.width()), .slots = {}});
  places_.reserve(places.size());
  for (const SlotId slot : order) {
    const Place& place = places[slot];
    name(place.position, old[place.position].keys.key(place.key).data());
  }
}

std::uint64_t SlotKeys::memory_bytes() const {
  std::uint64_t bytes = places_.capacity() * sizeof(Place);
  for (const Keys& relation : relations_)
    bytes += relation.keys.heap_bytes() + relation.slots.capacity() * sizeof(SlotId);
  return bytes;
}

}  // namespace stratalog::datalog
