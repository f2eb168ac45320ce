// SPDX-License-Identifier: Apache-2.0
// HashSlots: numbers of keys, found by the hashes of these. Open addressing with linear probing, at
// most 5/8 full; the bits of a slot that numbers do not need hold some of the hash, so that few
// keys are looked at that are others. The keys are the user's. find() is safe for concurrent
// readers only while nobody adds. Local.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/prefetch.h"
#include "model/cell.h"
#include "model/multiset_hash.h"

namespace stratalog {

// Of `width` cells. Every look-up begins with it.
[[gnu::always_inline]] inline std::uint64_t hash_of_key(const Cell* key, std::uint32_t width) {
  std::uint64_t h = 0;
  std::uint32_t i = 0;
  for (; i + 1 < width; i += 2)
    h = splitmix64(h ^ (key[i] | (static_cast<std::uint64_t>(key[i + 1]) << 32)));
  if (i < width) h = splitmix64(h ^ key[i]);
  return h;
}

class HashSlots {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFU;
  static constexpr std::size_t kAtOnce = 256;

  std::uint32_t size() const { return used_; }
  std::uint64_t heap_bytes() const { return slots_.capacity() * sizeof(std::uint32_t); }
  void prefetch(std::uint64_t hash) const {
    if (!slots_.empty()) prefetch_for_reading(slots_.data() + (hash & (slots_.size() - 1)));
  }

  // The first number that find() will look at, or kAbsent. Requires slots.
  std::uint32_t first_number(std::uint64_t hash) const {
    return number_at(hash & (slots_.size() - 1));
  }

  // The number for which is_it(number) holds, among those with this hash; or kAbsent.
  template <typename IsIt>
  std::uint32_t find(std::uint64_t hash, const IsIt& is_it) const {
    return slots_.empty() ? kAbsent : number_at(place_of(hash, is_it));
  }
  // Where that number is, or else would be put. Requires slots.
  template <typename IsIt>
  std::size_t place_of(std::uint64_t hash, const IsIt& is_it) const {
    const std::size_t mask = slots_.size() - 1;
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t s = hash & mask;; s = (s + 1) & mask) {
      const std::uint32_t slot = slots_[s];
      if (slot == kAbsent || ((slot & tag_mask_) == tag && is_it(slot & ~tag_mask_))) return s;
    }
  }
  std::uint32_t number_at(std::size_t place) const {
    const std::uint32_t slot = slots_[place];
    return slot == kAbsent ? kAbsent : slot & ~tag_mask_;
  }

  // Room for so many numbers more, none above `largest`. `keys` says hash(number), and has
  // prefetch(number). Places change.
  template <typename Keys>
  void make_room(std::size_t more, std::uint32_t largest, const Keys& keys) {
    std::size_t slots = std::max<std::size_t>(kLeast, slots_.size());
    while ((used_ + more) * 8 > slots * 5) slots *= 2;
    // All ones are no number, with any tag.
    if (slots != slots_.size() || ((largest + 1) & tag_mask_) != 0) rebuild(slots, largest, keys);
  }
  // At an empty place, for which make_room() was called.
  void put(std::size_t place, std::uint32_t number, std::uint64_t hash) {
    slots_[place] = number | tag_of(hash);
    ++used_;
  }
  // Where a number is another one with the same key from now on.
  void replace(std::size_t place, std::uint32_t number) {
    slots_[place] = (slots_[place] & tag_mask_) | number;
  }
  // At most kAtOnce whose keys are not there. Room is made.
  template <typename Keys>
  void put_many(std::span<const std::uint32_t> numbers, const Keys& keys);

  // In the order of their hashes.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (const std::uint32_t slot : slots_)
      if (slot != kAbsent) visit(slot & ~tag_mask_);
  }
  // All numbers for which it holds; places change.
  template <typename Keys, typename Drop>
  void erase_if(const Keys& keys, const Drop& drop);

 private:
  static constexpr std::size_t kLeast = 16;
  static constexpr std::size_t kKeysAhead = 16;

  // The bits of a hash that stand beside the number in a slot.
  std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32) & tag_mask_;
  }
  std::size_t first_empty(std::size_t s) const {
    while (slots_[s] != kAbsent) s = (s + 1) & (slots_.size() - 1);
    return s;
  }
  void insert(std::uint32_t number, std::uint64_t hash) {
    slots_[first_empty(hash & (slots_.size() - 1))] = number | tag_of(hash);
  }
  template <typename Keys>
  void rebuild(std::size_t slots, std::uint32_t largest, const Keys& keys);

  // A power of two: kAbsent, or a number and in its highest bits a tag.
  std::vector<std::uint32_t> slots_;
  std::uint32_t tag_mask_ = 0;
  std::uint32_t used_ = 0;
};

template <typename Keys>
void HashSlots::rebuild(std::size_t slots, std::uint32_t largest, const Keys& keys) {
  // Twice as many numbers as there are have room.
  const auto bits = static_cast<unsigned>(
      std::bit_width(std::max<std::uint64_t>(slots, 2 * (std::uint64_t{largest} + 1))));
  const std::uint32_t old_mask = std::exchange(
      tag_mask_, bits >= 32 ? 0 : ~static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1));
  std::vector<std::uint32_t> old(slots, kAbsent);
  old.swap(slots_);
  // Keys are read in the order of their hashes, which is no order: they are asked for ahead.
  for (std::size_t s = 0; s < old.size(); ++s) {
    if (s + kKeysAhead < old.size() && old[s + kKeysAhead] != kAbsent)
      keys.prefetch(old[s + kKeysAhead] & ~old_mask);
    if (old[s] == kAbsent) continue;
    const std::uint32_t number = old[s] & ~old_mask;
    insert(number, keys.hash(number));
  }
}

template <typename Keys>
void HashSlots::put_many(std::span<const std::uint32_t> numbers, const Keys& keys) {
  // Slots are anywhere in memory: all are asked for before the first is looked at.
  std::array<std::size_t, kAtOnce> places;  // NOLINT: filled as far as it is read
  std::array<std::uint32_t, kAtOnce> tags;  // NOLINT
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::uint64_t hash = keys.hash(numbers[i]);
    tags[i] = tag_of(hash);
    places[i] = hash & (slots_.size() - 1);
    prefetch_for_reading(slots_.data() + places[i]);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i)
    slots_[first_empty(places[i])] = numbers[i] | tags[i];
  used_ += static_cast<std::uint32_t>(numbers.size());
}

template <typename Keys, typename Drop>
void HashSlots::erase_if(const Keys& keys, const Drop& drop) {
  std::vector<std::uint32_t> old(slots_.size(), kAbsent);
  old.swap(slots_);
  used_ = 0;
  for (const std::uint32_t slot : old) {
    if (slot == kAbsent || drop(slot & ~tag_mask_)) continue;
    insert(slot & ~tag_mask_, keys.hash(slot & ~tag_mask_));
    ++used_;
  }
}

}  // namespace stratalog
