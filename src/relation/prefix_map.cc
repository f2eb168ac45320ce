// SPDX-License-Identifier: Apache-2.0
#include "relation/prefix_map.h"

#include <algorithm>
#include <bit>

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
  if (slots_.empty()) return kAbsent;
  const std::uint64_t mask = slots_.size() - 1;
  for (std::uint64_t s = hash(key) & mask;; s = (s + 1) & mask) {
    const std::uint32_t id = slots_[s];
    if (id == kAbsent || equal(id, key)) return id;
  }
}

std::uint32_t PrefixMap::append(const Cell* key) {
  const std::size_t used = std::size_t{size_} * width_;
  if (used + width_ > capacity_) {
    const std::size_t grown = std::max<std::size_t>(16, used * 2) + width_;
    const std::shared_ptr<Cell[]> cells = std::make_shared_for_overwrite<Cell[]>(grown);
    std::copy(keys_.get(), keys_.get() + used, cells.get());
    keys_ = cells;
    capacity_ = grown;
  }
  std::copy(key, key + width_, keys_.get() + used);
  return size_++;
}

std::uint32_t PrefixMap::find_or_add(const Cell* key) {
  const std::uint32_t found = find(key);
  if (found != kAbsent) return found;
  const std::uint32_t id = append(key);
  if (width_ == 0) return id;
  if (width_ == 1) {
    if (*key >= direct_.size() && *key < most_direct(size_)) grow_direct(*key);
    if (*key < direct_.size()) {
      direct_[*key] = id;
      return id;
    }
  }
  if ((hashed_ + std::uint64_t{1}) * 8 > slots_.size() * 5) grow_slots();
  insert_slot(id);
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
    for (const std::uint32_t id : slots_) {
      if (id == kAbsent) continue;
      const Cell hashed = keys_[id];
      if (hashed / 64 < words) hashed_bits_[hashed / 64] |= std::uint64_t{1} << (hashed % 64);
    }
    return;
  }
  hashed_bits_[word] |= std::uint64_t{1} << (cell % 64);
}

void PrefixMap::insert_slot(std::uint32_t id) {
  const std::uint64_t mask = slots_.size() - 1;
  std::uint64_t s = hash(keys_.get() + (std::size_t{id} * width_)) & mask;
  while (slots_[s] != kAbsent) s = (s + 1) & mask;
  slots_[s] = id;
}

void PrefixMap::grow_slots() {
  std::vector<std::uint32_t> old(std::max<std::size_t>(16, slots_.size() * 2), kAbsent);
  old.swap(slots_);
  for (const std::uint32_t id : old)
    if (id != kAbsent) insert_slot(id);
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
  for (const std::uint32_t id : old) {
    if (id == kAbsent) continue;
    if (keys_[id] < direct_.size()) {
      direct_[keys_[id]] = id;
    } else {
      insert_slot(id);
      ++hashed_;
    }
  }
}

}  // namespace stratalog
