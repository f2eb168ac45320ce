// SPDX-License-Identifier: Apache-2.0
// KeyBuckets: where among ascending keys those that begin with given cells can be. The first cells
// of a key, as one number, fall into buckets of one width, of which it is known where they begin:
// one or two bytes a key, where hashes take six to twelve, and another six for each shorter prefix
// that is looked for. Keys that crowd into few buckets are left to others. Local; safe for
// concurrent readers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "model/cell.h"

namespace stratalog {

class KeyBuckets {
 public:
  // Keys `from` .. `to` - 1.
  struct Bucket {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t middle() const { return from + ((to - from) / 2); }
  };
  // Where the first of some keys that follow each other can be, and the last.
  struct Ends {
    Bucket first;
    Bucket last;
  };

  // `key_of(place)`, of `width` cells, for places `first` .. `end` - 1, ascending and distinct.
  // Without buckets, as before, where there would be too many keys in some.
  template <typename KeyOf>
  void assign(std::uint32_t first, std::uint32_t end, std::uint32_t width, const KeyOf& key_of) {
    if (end - first < kFew) return;
    std::uint64_t numbers = 1;
    for (cells_ = 0; cells_ < width && cells_ < kMostCells && begins_.empty();) {
      columns_[cells_] = column_of(first, end, cells_, key_of);
      const std::uint64_t more = columns_[cells_].range + std::uint64_t{1};
      ++cells_;
      if (numbers > kMostNumbers / more) return;
      numbers *= more;
      if (numbers > (end - first) / kMostInBucket) cut(first, end, numbers, key_of);
    }
  }

  bool empty() const { return begins_.empty(); }
  // Of all keys that begin with `length` cells, at least one; both are empty if there is no such
  // key, or there are no buckets.
  Ends ends_of(const Cell* prefix, std::uint32_t length) const {
    Numbers numbers;
    if (begins_.empty() || !tell(prefix, length, numbers)) return {};
    return {.first = bucket_at(numbers.lowest), .last = bucket_at(numbers.highest)};
  }
  // Of a whole key.
  Bucket bucket_of(const Cell* key) const { return ends_of(key, kMostCells).first; }
  void prefetch(const Cell* prefix, std::uint32_t length) const {
    Numbers numbers;
    if (!begins_.empty() && tell(prefix, length, numbers))
      prefetch_for_reading(begins_.data() + (numbers.lowest >> shift_));
  }
  std::uint64_t heap_bytes() const { return begins_.capacity() * sizeof(std::uint32_t); }

 private:
  static constexpr std::uint32_t kFew = 16;
  static constexpr std::uint32_t kMostCells = 3;
  static constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 62;
  // Keys that are in one bucket with a key, itself among them, in the mean over all keys.
  static constexpr std::uint64_t kMostInBucket = 12;

  struct Column {
    Cell lowest = 0;
    std::uint32_t range = 0;  // from the lowest to the highest
  };
  struct Numbers {
    std::uint64_t lowest = 0;
    std::uint64_t highest = 0;
  };

  template <typename KeyOf>
  static Column column_of(std::uint32_t first, std::uint32_t end, std::uint32_t place_in_key,
                          const KeyOf& key_of) {
    Cell lowest = key_of(first)[place_in_key];
    Cell highest = lowest;
    for (std::uint32_t place = first; place < end; ++place) {
      const Cell cell = key_of(place)[place_in_key];
      lowest = cell < lowest ? cell : lowest;
      highest = cell > highest ? cell : highest;
    }
    return {.lowest = lowest, .range = highest - lowest};
  }

  template <typename KeyOf>
  void cut(std::uint32_t first, std::uint32_t end, std::uint64_t numbers, const KeyOf& key_of) {
    const std::uint64_t count = end - first;
    shift_ = 0;
    while (((numbers - 1) >> shift_) >= count / 2) ++shift_;
    begins_.reserve(((numbers - 1) >> shift_) + 2);
    std::uint64_t squares = 0;
    const auto bucket_of_place = [&](std::uint32_t place) {
      Numbers number;
      tell(key_of(place), cells_, number);
      return number.lowest >> shift_;
    };
    for (std::uint32_t place = first; place < end;) {
      const std::uint64_t bucket = bucket_of_place(place);
      begins_.resize(bucket + 1, place);
      const std::uint32_t begin = place;
      do ++place;
      while (place < end && bucket_of_place(place) == bucket);
      squares += std::uint64_t{place - begin} * (place - begin);
    }
    begins_.resize(begins_.capacity(), end);
    if (squares > kMostInBucket * count) begins_ = {};
  }

  // Of the keys that begin so; false if there is none.
  bool tell(const Cell* prefix, std::uint32_t length, Numbers& numbers) const {
    for (std::uint32_t i = 0; i < cells_; ++i) {
      const Column& column = columns_[i];
      const std::uint64_t many = column.range + std::uint64_t{1};
      const bool is_known = i < length;
      const Cell distance = is_known ? prefix[i] - column.lowest : 0;
      if (distance > column.range) return false;
      numbers.lowest = (numbers.lowest * many) + distance;
      numbers.highest = (numbers.highest * many) + (is_known ? distance : column.range);
    }
    return true;
  }
  Bucket bucket_at(std::uint64_t number) const {
    const std::uint64_t bucket = number >> shift_;
    return {.from = begins_[bucket], .to = begins_[bucket + 1]};
  }

  std::vector<std::uint32_t> begins_;  // of each bucket the first place, and the end of the last
  std::array<Column, kMostCells> columns_;
  std::uint32_t cells_ = 0;  // that make the number
  std::uint32_t shift_ = 0;
};

}  // namespace stratalog
