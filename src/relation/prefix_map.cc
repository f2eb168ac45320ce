// SPDX-License-Identifier: Apache-2.0
#include "relation/prefix_map.h"

#include <algorithm>
#include <bit>
#include <cassert>
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
// Keys that came in order are hashed as well where so many others are for each of them: a look-up
// would mostly look for its key twice.
constexpr std::uint64_t kHashedPerOrdered = 2;
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

// Not by rank.
std::uint32_t PrefixMap::find_elsewhere(const Cell* key) const {
  if (width_ == 0) return size_ == 0 ? kAbsent : 0;
  if (rest_ != kAbsent) {
    const std::uint32_t found = find_in_order(key);
    if (found != kAbsent) return found;
  }
  if (size_ == assigned_ && slots_.size() == 0) return kAbsent;
  if (width_ == 1) {
    if (*key < direct_.size()) return direct_[*key];
    if (is_known_absent(*key)) return kAbsent;
  }
  return slots_.find(hash_of_key(key, width_), [&](std::uint32_t id) { return equal(id, key); });
}

std::uint32_t PrefixMap::find_in_order(const Cell* key) const {
  KeyBuckets::Bucket in{.from = rest_, .to = assigned_};
  if (!buckets_.empty()) in = buckets_.bucket_of(key);
  const std::uint32_t id = first_behind(in, key, width_, false);
  return id < in.to && equal(id, key) ? id : kAbsent;
}

std::uint32_t PrefixMap::first_behind(KeyBuckets::Bucket in, const Cell* prefix,
                                      std::uint32_t length, bool equal_too) const {
  while (in.from < in.to) {
    const std::uint32_t middle = in.middle();
    const Cell* const mine = key(middle).data();
    std::uint32_t i = 0;
    while (i + 1 < length && mine[i] == prefix[i]) ++i;
    if (mine[i] < prefix[i] || (equal_too && mine[i] == prefix[i]))
      in.from = middle + 1;
    else
      in.to = middle;
  }
  return in.from;
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
  if (rest_ != kAbsent) {
    const std::uint64_t ordered = assigned_ - rest_;
    if (buckets_.empty() || slots_.size() > kHashedPerOrdered * ordered) hash_rest();
  }
  if (width_ == 1) {
    const std::uint32_t found = find(key);
    if (found != kAbsent) return found;
    const std::uint64_t added = size_ - ranked_.size() + std::uint64_t{1};
    if (*key >= direct_.size() && *key < most_direct(added)) grow_direct(*key);
    if (*key < direct_.size()) return direct_[*key] = append(key);
  } else if (rest_ != kAbsent) {
    const std::uint32_t found = find_in_order(key);
    if (found != kAbsent) return found;
  }
  return add_hashed(key);
}

Cell* PrefixMap::make_room_for(std::uint32_t count) {
  assert(size_ == 0);
  if (count > most_) report_full_table();
  capacity_ = std::size_t{count} * width_;
  keys_ = std::make_shared_for_overwrite<Cell[]>(capacity_);
  return keys_.get();
}

void PrefixMap::number_ascending(std::uint32_t count) {
  size_ = count;
  assigned_ = count;
  if (width_ == 0) return;
  if (width_ == 1) ranked_.assign(count, [&](std::uint32_t id) { return keys_[id]; });
  if (ranked_.size() == count) return;
  rest_ = ranked_.size();
  buckets_.assign(rest_, count, width_, [&](std::uint32_t id) { return key(id).data(); });
}

void PrefixMap::index_keys() {
  if (rest_ != kAbsent && buckets_.empty()) hash_rest();
}

void PrefixMap::hash_rest() {
  const std::uint32_t first = std::exchange(rest_, kAbsent);
  // As full as the slots would be had the keys come one by one.
  slots_.make_room(assigned_ - first, size_ - 1, keys());
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = first; id < assigned_;) {
    ids.clear();
    for (; id < assigned_ && ids.size() < HashSlots::kAtOnce; ++id) {
      if (width_ == 1 && keys_[id] < direct_.size())
        direct_[keys_[id]] = id;
      else
        ids.push_back(id);
    }
    slots_.put_many(ids, keys());
  }
  if (width_ > 1) return;
  buckets_ = {};
  // All that the bits may reach are noted with the largest of them.
  const bool had_bits = !hashed_bits_.empty();
  for (std::uint32_t id = assigned_; id > first && (had_bits || hashed_bits_.empty()); --id)
    note_hashed(keys_[id - 1]);
}

// Finds or adds what the direct table does not hold.
std::uint32_t PrefixMap::add_hashed(const Cell* key) {
  slots_.make_room(1, size_, keys());
  const std::uint64_t hash = hash_of_key(key, width_);
  const std::size_t place = slots_.place_of(hash, [&](std::uint32_t id) { return equal(id, key); });
  if (const std::uint32_t found = slots_.number_at(place); found != kAbsent) return found;
  const std::uint32_t id = append(key);
  slots_.put(place, id, hash);
  if (width_ == 1) note_hashed(*key);
  return id;
}

// Where the first cell comes that the bits may reach, they take over what is hashed already.
void PrefixMap::note_hashed(Cell cell) {
  const std::size_t word = cell / 64;
  if (word >= hashed_bits_.size()) {
    const std::uint64_t words = std::bit_ceil(word + std::uint64_t{1});
    if (words * 64 > kBitsPerHashed * std::max<std::uint64_t>(slots_.size(), kLeastDirect)) return;
    hashed_bits_.resize(words);
    slots_.for_each([&](std::uint32_t id) {
      const Cell hashed = keys_[id];
      if (hashed / 64 < words) hashed_bits_[hashed / 64] |= std::uint64_t{1} << (hashed % 64);
    });
    return;
  }
  hashed_bits_[word] |= std::uint64_t{1} << (cell % 64);
}

void PrefixMap::grow_direct(Cell cell) {
  // Grow to the next power of two, so that a growing domain costs a constant per key; then take
  // over the keys that were hashed because they were too large for the table so far.
  direct_.resize(std::max(kLeastDirect, std::bit_ceil(cell + std::uint64_t{1})), kAbsent);
  if (slots_.size() == 0) return;
  slots_.erase_if(keys(), [&](std::uint32_t id) {
    if (keys_[id] >= direct_.size()) return false;
    direct_[keys_[id]] = id;
    return true;
  });
}

}  // namespace stratalog
