// SPDX-License-Identifier: Apache-2.0
// PrefixMap: numbers distinct tuples of `width` cells densely in order of arrival. First keys that
// come in ascending order are found where they lie: by rank (width 1), or in a bucket. Of others,
// width 1 finds small cells in a directly addressed table (dense ids) and the rest by hashes,
// beside them a bit for each cell that could be there, as what is not there takes longest to find;
// wider keys are hashed. Never forgets. find() and prefetch() are safe for concurrent readers only
// while nobody adds; frozen keys always are. Local.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "model/cell.h"
#include "relation/hash_slots.h"
#include "relation/key_buckets.h"
#include "relation/ranked_cells.h"

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
  static constexpr std::uint32_t kAbsent = HashSlots::kAbsent;

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
    if (width_ == 1) {
      if (const std::uint32_t rank = ranked_.find(*key); rank != RankedCells::kAbsent) return rank;
      if (rest_ == kAbsent && *key < direct_.size()) return direct_[*key];
    }
    return find_elsewhere(key);
  }
  std::uint32_t find_or_add(const Cell* key);
  // Numbers `count` keys (at least one) that `fill` writes (width() cells each, back to back,
  // ascending and distinct) without looking for each first. Requires an empty map. Keys that are
  // found neither by rank nor in buckets are found by halving then, until some are added or
  // index_keys() is called, which many look-ups are worth.
  template <typename Fill>
  void assign_ascending(std::uint32_t count, const Fill& fill) {
    fill(make_room_for(count));
    number_ascending(count);
  }
  void index_keys();
  // The first keys, if buckets tell where they are: by id.
  const KeyBuckets& buckets() const { return buckets_; }
  // Of ascending keys `in`, the first that comes behind all that are below `prefix`, or that begin
  // with it, too; their end if there is none. By halving.
  std::uint32_t first_behind(KeyBuckets::Bucket in, const Cell* prefix, std::uint32_t length,
                             bool equal_too) const;
  // Brings the memory that find(key) will look at closer.
  void prefetch(const Cell* key) const {
    if (width_ == 1 && ranked_.reaches(*key))
      ranked_.prefetch(*key);
    else if (width_ == 1 && *key < direct_.size())
      prefetch_for_reading(direct_.data() + *key);
    else
      prefetch_elsewhere(key);
  }
  // And then what it will look at behind that.
  void prefetch_found(const Cell* key) const {
    if (width_ == 0 || (width_ == 1 && (ranked_.reaches(*key) || *key < direct_.size()))) return;
    if (rest_ != kAbsent && !buckets_.empty()) {
      const KeyBuckets::Bucket bucket = buckets_.bucket_of(key);
      if (bucket.from < bucket.to) prefetch_for_reading(this->key(bucket.middle()).data());
    }
    if (slots_.size() == 0) return;
    const std::uint32_t id = slots_.first_number(hash_of_key(key, width_));
    if (id != kAbsent) prefetch_for_reading(this->key(id).data());
  }
  std::uint64_t heap_bytes() const {
    return ((capacity_ + direct_.capacity()) * sizeof(std::uint32_t)) + slots_.heap_bytes() +
           ranked_.heap_bytes() + buckets_.heap_bytes() +
           (hashed_bits_.capacity() * sizeof(std::uint64_t));
  }

 private:
  // Of numbers, for the slots.
  struct Keys {
    const Cell* cells;
    std::uint32_t width;
    const Cell* key(std::uint32_t id) const { return cells + (std::size_t{id} * width); }
    std::uint64_t hash(std::uint32_t id) const { return hash_of_key(key(id), width); }
    void prefetch(std::uint32_t id) const { prefetch_for_reading(key(id)); }
  };

  Keys keys() const { return {.cells = keys_.get(), .width = width_}; }
  bool is_known_absent(Cell cell) const {
    const std::size_t word = cell / 64;
    return word < hashed_bits_.size() && ((hashed_bits_[word] >> (cell % 64)) & 1U) == 0;
  }
  void prefetch_elsewhere(const Cell* key) const {
    if (width_ == 0) return;
    if (rest_ != kAbsent) buckets_.prefetch(key, width_);
    if (slots_.size() > 0) slots_.prefetch(hash_of_key(key, width_));
  }
  bool equal(std::uint32_t id, const Cell* key) const;
  std::uint32_t find_elsewhere(const Cell* key) const;
  std::uint32_t find_in_order(const Cell* key) const;
  std::uint32_t find_by_halving(const Cell* key) const;
  std::uint32_t add_hashed(const Cell* key);
  std::uint32_t append(const Cell* key);
  Cell* make_room_for(std::uint32_t count);
  void number_ascending(std::uint32_t count);
  void hash_rest();
  void grow_direct(Cell cell);
  void note_hashed(Cell cell);

  std::uint32_t width_;
  std::uint32_t most_;
  std::uint32_t size_ = 0;
  std::uint32_t assigned_ = 0;  // so many keys came in order
  // Of these, the ones from here on are found by their order.
  std::uint32_t rest_ = kAbsent;
  KeyBuckets buckets_;  // of them; they stay when these are hashed
  // size_ * width_ cells, which never change: others may hold on to them.
  std::shared_ptr<Cell[]> keys_;
  std::size_t capacity_ = 0;  // in cells
  RankedCells ranked_;  // width 1: the first keys, if they came in order
  std::vector<std::uint32_t> direct_;  // width 1: cell -> id of others
  // Width 1: a bit for each cell below its end, set if the cell is in slots_. Empty where cells are
  // too far apart.
  std::vector<std::uint64_t> hashed_bits_;
  HashSlots slots_;
};

}  // namespace stratalog
