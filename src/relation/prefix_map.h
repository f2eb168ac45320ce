// SPDX-License-Identifier: Apache-2.0
// PrefixMap: numbers distinct tuples of `width` cells densely in order of arrival. Width 1 uses a
// directly addressed table for small cells (dense ids) and open addressing for the rest, beside it
// a bit for each cell that could be there, as what is not there takes longest to find; wider keys
// use open addressing with linear probing. Never forgets. find() and prefetch() are safe for
// concurrent readers only while nobody adds; frozen keys always are. Local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/cell.h"
#include "model/multiset_hash.h"

namespace stratalog {

// The keys that a map had at some time, whatever is added to it later. Shares their memory.
class FrozenKeys {
 public:
  FrozenKeys() = default;
  FrozenKeys(std::shared_ptr<const Cell[]> cells, std::uint32_t width)
      : cells_(std::move(cells)), width_(width) {}
  std::span<const Cell> key(std::uint32_t id) const {
    return {cells_.get() + (std::size_t{id} * width_), width_};
  }

 private:
  std::shared_ptr<const Cell[]> cells_;
  std::uint32_t width_ = 0;
};

class PrefixMap {
 public:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFU;

  // Throws NoRoom where more than `most` keys are to be added.
  explicit PrefixMap(std::uint32_t width, std::uint32_t most = kAbsent)
      : width_(width), most_(most) {}
  PrefixMap(PrefixMap&&) = default;
  PrefixMap& operator=(PrefixMap&&) = default;
  PrefixMap(const PrefixMap&) = delete;
  PrefixMap& operator=(const PrefixMap&) = delete;

  std::uint32_t width() const { return width_; }
  std::uint32_t size() const { return size_; }
  // The cells of entry `id`.
  std::span<const Cell> key(std::uint32_t id) const {
    return {keys_.get() + (std::size_t{id} * width_), width_};
  }
  // Writes the cells of many entries, one after the other.
  void read(std::span<const std::uint32_t> ids, Cell* to) const {
    if (width_ == 1) {
      for (std::size_t i = 0; i < ids.size(); ++i) to[i] = keys_[ids[i]];
      return;
    }
    for (const std::uint32_t id : ids) to = std::copy_n(key(id).data(), width_, to);
  }
  FrozenKeys freeze_keys() const { return {keys_, width_}; }
  std::uint32_t find(const Cell* key) const {
    if (width_ == 1 && *key < direct_.size()) return direct_[*key];
    return find_elsewhere(key);
  }
  std::uint32_t find_or_add(const Cell* key);
  // Numbers `keys` (width() cells each, back to back, ascending and distinct, at least one) without
  // looking for each first. Requires an empty map. Wide keys are found by halving then, until some
  // are added or index_keys() is called, which many look-ups are worth.
  void assign_ascending(std::span<const Cell> keys);
  void index_keys();
  // Brings the memory that find(key) will look at closer.
  void prefetch(const Cell* key) const {
    if (width_ == 1 && *key < direct_.size())
      __builtin_prefetch(direct_.data() + *key);
    else if (!slots_.empty())
      __builtin_prefetch(slots_.data() + (hash(key) & (slots_.size() - 1)));
  }
  std::uint64_t heap_bytes() const {
    return ((capacity_ + direct_.capacity() + slots_.capacity()) * sizeof(std::uint32_t)) +
           (hashed_bits_.capacity() * sizeof(std::uint64_t));
  }

 private:
  std::uint64_t hash(const Cell* key) const {
    std::uint64_t h = 0;
    std::uint32_t i = 0;
    for (; i + 1 < width_; i += 2)
      h = splitmix64(h ^ (key[i] | (static_cast<std::uint64_t>(key[i + 1]) << 32)));
    if (i < width_) h = splitmix64(h ^ key[i]);
    return h;
  }
  bool is_known_absent(Cell cell) const {
    const std::size_t word = cell / 64;
    return word < hashed_bits_.size() && ((hashed_bits_[word] >> (cell % 64)) & 1U) == 0;
  }
  // The bits of a hash that stand beside the number in a slot.
  std::uint32_t tag_of(std::uint64_t hash) const {
    return static_cast<std::uint32_t>(hash >> 32) & tag_mask_;
  }
  bool equal(std::uint32_t id, const Cell* key) const;
  std::uint32_t find_elsewhere(const Cell* key) const;
  std::uint32_t find_by_halving(const Cell* key) const;
  std::uint32_t add_hashed(const Cell* key);
  std::uint32_t append(const Cell* key);
  void assign_cells();
  void index_from(std::uint32_t first);
  void rebuild_slots(std::size_t slots);
  void grow_direct(Cell cell);
  void insert_slot(std::uint32_t id);
  void note_hashed(Cell cell);

  std::uint32_t width_;
  std::uint32_t most_;
  std::uint32_t size_ = 0;
  std::uint32_t hashed_ = 0;  // entries that live in slots_
  // size_ * width_ cells, which never change: others may hold on to them.
  std::shared_ptr<Cell[]> keys_;
  std::size_t capacity_ = 0;  // in cells
  std::vector<std::uint32_t> direct_;  // width 1: cell -> id
  // Width 1: a bit for each cell below its end, set if the cell is in slots_. Empty where cells are
  // too far apart.
  std::vector<std::uint64_t> hashed_bits_;
  // None while keys ascend and nobody has asked for them. A power of two, at most 5/8 full:
  // kAbsent, or an id, and in the bits that ids do not need some of the key's hash, so that few
  // keys are looked at that are others.
  std::vector<std::uint32_t> slots_;
  std::uint32_t tag_mask_ = 0;
};

}  // namespace stratalog
