// SPDX-License-Identifier: Apache-2.0
#include "relation/prefix_map.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <ranges>
#include <utility>

#include "base/memory_end.h"

namespace stratalog {
namespace {

// The direct table may have this many entries for each key: at most 16 bytes a key wasted. A small
// table may have more, as long as it is in proportion: programs have many tiny relations.
constexpr std::uint64_t kDirectPerKey = 4;
constexpr std::uint64_t kSmallDirectPerKey = 64;
constexpr std::uint64_t kSmallDirect = 1U << 16;
constexpr std::uint64_t kLeastDirect = 64;
// So many bits for each hashed key: at most 8 bytes a key.
constexpr std::uint64_t kBitsPerHashed = 64;
constexpr std::size_t kKeysAhead = 16;

std::uint64_t most_direct(std::uint64_t keys) {
  return std::max(kDirectPerKey * keys, std::min(kSmallDirect, kSmallDirectPerKey * keys));
}

}  // namespace

bool PrefixMap::equal(std::uint32_t id, const Cell* key) const {
  // Keys are short: a loop beats the call of memcmp.
  const Cell* mine = keys_.get() + (std::size_t{id} * width_);
  for (std::uint32_t i = 0; i < width_; ++i)
    if (mine[i] != key[i]) return false;
  return true;
}

// Not in the direct table.
std::uint32_t PrefixMap::find_elsewhere(const Cell* key) const {
  if (width_ == 0) return size_ == 0 ? kAbsent : 0;
  if (slots_.empty()) return width_ == 1 ? kAbsent : find_by_halving(key);
  if (width_ == 1 && is_known_absent(*key)) return kAbsent;
  const std::uint64_t mask = slots_.size() - 1;
  const std::uint64_t h = hash(key);
  const std::uint32_t tag = tag_of(h);
  for (std::uint64_t s = h & mask;; s = (s + 1) & mask) {
    const std::uint32_t slot = slots_[s];
    if (slot == kAbsent) return kAbsent;
    if ((slot & tag_mask_) == tag && equal(slot & ~tag_mask_, key)) return slot & ~tag_mask_;
  }
}

std::uint32_t PrefixMap::find_by_halving(const Cell* key) const {
  const std::span<const Cell> wanted(key, width_);
  const auto ids = std::views::iota(0U, size_);
  const auto key_of = [&](std::uint32_t id) { return this->key(id); };
  const auto found =
      std::ranges::lower_bound(ids, wanted, std::ranges::lexicographical_compare, key_of);
  return found != ids.end() && std::ranges::equal(key_of(*found), wanted) ? *found : kAbsent;
}

std::uint32_t PrefixMap::append(const Cell* key) {
  const std::size_t used = std::size_t{size_} * width_;
  if (used + width_ > capacity_) {
    if (size_ == most_) report_full_table();
    const std::size_t grown =
        std::min(std::max<std::size_t>(16, used * 2) + width_, std::size_t{most_} * width_);
    const std::shared_ptr<Cell[]> cells = std::make_shared_for_overwrite<Cell[]>(grown);
    std::copy(keys_.get(), keys_.get() + used, cells.get());
    keys_ = cells;
    capacity_ = grown;
  }
  std::copy(key, key + width_, keys_.get() + used);
  return size_++;
}

std::uint32_t PrefixMap::find_or_add(const Cell* key) {
  if (width_ == 0) return size_ > 0 ? 0 : append(key);
  if (width_ == 1) {
    const std::uint32_t found = find(key);
    if (found != kAbsent) return found;
    if (*key >= direct_.size() && *key < most_direct(size_ + std::uint64_t{1})) grow_direct(*key);
    if (*key < direct_.size()) return direct_[*key] = append(key);
  }
  return add_hashed(key);
}

void PrefixMap::assign_ascending(std::span<const Cell> keys) {
  assert(size_ == 0);
  if (width_ == 0) {
    append(keys.data());
    return;
  }
  if (keys.size() / width_ > most_) report_full_table();
  keys_ = std::make_shared_for_overwrite<Cell[]>(keys.size());
  std::ranges::copy(keys, keys_.get());
  capacity_ = keys.size();
  size_ = static_cast<std::uint32_t>(capacity_ / width_);
  if (width_ == 1) assign_cells();
}

// Which of the keys, each a cell, ascending, are found directly, and where the others are.
void PrefixMap::assign_cells() {
  std::uint32_t direct = size_;
  while (direct > 0 && keys_[direct - 1] >= most_direct(direct)) --direct;
  if (direct > 0) grow_direct(keys_[direct - 1]);
  // The table is larger than was asked for, and all that it reaches is there.
  while (direct < size_ && keys_[direct] < direct_.size()) ++direct;
  for (std::uint32_t id = 0; id < direct; ++id) direct_[keys_[id]] = id;
  if (direct == size_) return;
  index_from(direct);
  // All that the bits may reach are noted with the largest of them.
  for (std::uint32_t id = size_; id > direct && hashed_bits_.empty(); --id)
    note_hashed(keys_[id - 1]);
}

void PrefixMap::index_keys() {
  if (width_ > 1 && slots_.empty()) index_from(0);
}

// Slots for the entries from `first` on, which have none. As full as they would be had the entries
// come one by one.
void PrefixMap::index_from(std::uint32_t first) {
  hashed_ = size_ - first;
  std::size_t slots = 16;
  while (std::uint64_t{hashed_} * 8 > slots * 5) slots *= 2;
  rebuild_slots(slots);
  const std::uint64_t mask = slots_.size() - 1;
  const auto first_empty = [&](std::uint64_t s) {
    while (slots_[s] != kAbsent) s = (s + 1) & mask;
    return s;
  };
  // Slots are anywhere in memory: many are waited for together.
  constexpr std::uint32_t kAtOnce = 256;
  std::array<std::uint64_t, kAtOnce> empty;  // NOLINT: filled as far as it is read
  std::array<std::uint32_t, kAtOnce> tags;  // NOLINT
  for (std::uint32_t id = first; id < size_;) {
    const std::uint32_t count = std::min(size_ - id, kAtOnce);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t h = hash(key(id + i).data());
      tags[i] = tag_of(h);
      empty[i] = first_empty(h & mask);
    }
    // It may be taken by now, by one of these.
    for (std::uint32_t i = 0; i < count; ++i, ++id) slots_[first_empty(empty[i])] = id | tags[i];
  }
}

// Finds or adds what the direct table does not hold.
std::uint32_t PrefixMap::add_hashed(const Cell* key) {
  if (slots_.empty()) index_keys();
  if ((hashed_ + std::uint64_t{1}) * 8 > slots_.size() * 5)
    rebuild_slots(std::max<std::size_t>(16, slots_.size() * 2));
  // All ones are no id, with any tag.
  if (((size_ + 1) & tag_mask_) != 0) rebuild_slots(slots_.size());
  const std::uint64_t mask = slots_.size() - 1;
  const std::uint64_t h = hash(key);
  const std::uint32_t tag = tag_of(h);
  std::uint64_t s = h & mask;
  for (; slots_[s] != kAbsent; s = (s + 1) & mask)
    if (const std::uint32_t slot = slots_[s];
        (slot & tag_mask_) == tag && equal(slot & ~tag_mask_, key))
      return slot & ~tag_mask_;
  const std::uint32_t id = append(key);
  slots_[s] = id | tag;
  ++hashed_;
  if (width_ == 1) note_hashed(*key);
  return id;
}

// Where the first cell comes that the bits may reach, they take over what is hashed already.
void PrefixMap::note_hashed(Cell cell) {
  const std::size_t word = cell / 64;
  if (word >= hashed_bits_.size()) {
    const std::uint64_t words = std::bit_ceil(word + std::uint64_t{1});
    if (words * 64 > kBitsPerHashed * std::max<std::uint64_t>(hashed_, kLeastDirect)) return;
    hashed_bits_.resize(words);
    for (const std::uint32_t slot : slots_) {
      if (slot == kAbsent) continue;
      const Cell hashed = keys_[slot & ~tag_mask_];
      if (hashed / 64 < words) hashed_bits_[hashed / 64] |= std::uint64_t{1} << (hashed % 64);
    }
    return;
  }
  hashed_bits_[word] |= std::uint64_t{1} << (cell % 64);
}

void PrefixMap::insert_slot(std::uint32_t id) {
  const std::uint64_t mask = slots_.size() - 1;
  const std::uint64_t h = hash(keys_.get() + (std::size_t{id} * width_));
  std::uint64_t s = h & mask;
  while (slots_[s] != kAbsent) s = (s + 1) & mask;
  slots_[s] = id | tag_of(h);
}

void PrefixMap::rebuild_slots(std::size_t slots) {
  // Twice as many ids as there are have room, those of the direct table too.
  const auto id_bits = static_cast<unsigned>(
      std::bit_width(std::max<std::uint64_t>(slots, 2 * std::uint64_t{size_})));
  const std::uint32_t old_mask = std::exchange(
      tag_mask_,
      id_bits >= 32 ? 0 : ~static_cast<std::uint32_t>((std::uint64_t{1} << id_bits) - 1));
  std::vector<std::uint32_t> old(slots, kAbsent);
  old.swap(slots_);
  // Keys are read in the order of their hashes, which is no order: they are asked for ahead.
  for (std::size_t s = 0; s < old.size(); ++s) {
    if (s + kKeysAhead < old.size() && old[s + kKeysAhead] != kAbsent)
      __builtin_prefetch(keys_.get() + (std::size_t{old[s + kKeysAhead] & ~old_mask} * width_));
    if (old[s] != kAbsent) insert_slot(old[s] & ~old_mask);
  }
}

void PrefixMap::grow_direct(Cell cell) {
  // Grow to the next power of two, so that a growing domain costs a constant per key; then take
  // over the keys that were hashed because they were too large for the table so far.
  direct_.resize(std::max(kLeastDirect, std::bit_ceil(cell + std::uint64_t{1})), kAbsent);
  if (hashed_ == 0) return;
  std::vector<std::uint32_t> old;
  old.swap(slots_);
  slots_.assign(old.size(), kAbsent);
  hashed_ = 0;
  for (const std::uint32_t slot : old) {
    if (slot == kAbsent) continue;
    const std::uint32_t id = slot & ~tag_mask_;
    if (keys_[id] < direct_.size()) {
      direct_[keys_[id]] = id;
    } else {
      insert_slot(id);
      ++hashed_;
    }
  }
}

}  // namespace stratalog
