// SPDX-License-Identifier: Apache-2.0
// SlotKeys: the key tuples (all columns but the pivot) of the relations of a decomposable stratum,
// numbered as slots. Relations go by their position in the stratum. Threads may read it at the same
// time while nobody names a new key. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datalog/pivot/pivot_space.h"
#include "relation/prefix_map.h"

namespace stratalog::datalog {

class SlotKeys {
 public:
  // How many columns the keys of each relation have.
  explicit SlotKeys(std::span<const std::uint32_t> widths);

  std::uint32_t slots() const { return static_cast<std::uint32_t>(places_.size()); }
  // The slot of a key (in declared order), a new one where it has none.
  SlotId name(std::uint32_t position, const Cell* key);
  std::optional<SlotId> find(std::uint32_t position, const Cell* key) const;
  // Of the relation that has width 1 and the key.
  std::optional<SlotId> find_single(Cell key) const;
  std::uint32_t position_of(SlotId slot) const { return places_[slot].position; }
  std::span<const Cell> key_of(SlotId slot) const {
    return relations_[places_[slot].position].keys.key(places_[slot].key);
  }
  // The number of the slot's key among those of its relation; the slot's own where there is one
  // relation only.
  std::uint32_t id_of(SlotId slot) const { return places_[slot].key; }
  const PrefixMap& keys(std::uint32_t position) const { return relations_[position].keys; }

  // All slots by relation, then by key.
  std::vector<SlotId> by_key() const;
  // Slot order[i] becomes i; `order` has every slot once.
  void renumber(std::span<const SlotId> order);
  std::uint64_t memory_bytes() const;

 private:
  struct Keys {
    PrefixMap keys;
    std::vector<SlotId> slots;  // by key
  };
  struct Place {
    std::uint32_t position = 0;
    std::uint32_t key = 0;
  };

  std::vector<Keys> relations_;
  std::vector<Place> places_;  // by slot
};

}  // namespace stratalog::datalog
