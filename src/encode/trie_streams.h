// SPDX-License-Identifier: Apache-2.0
// TrieStreams: tuples as a trie, level by level, in streams of 32-bit numbers: key differences, and
// for each further column the number of children of each node above, the first child and the gaps
// to the others minus one (docs/formats/checkpoint.md, "streams"). What a stream does with its
// numbers (packs, keeps, counts them) is its own business. Inline, because every set passes here.
// Pure; local.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "model/set_walk.h"
#include "model/tuple_group.h"

namespace stratalog {

enum class StreamRole : std::uint8_t { kKeys, kCount, kFirst, kGaps };

// Number of streams of tuples of `arity` columns: key differences; then count, first and gaps for
// each further column. Arity 1: first and gaps.
constexpr std::size_t stream_count(std::size_t arity) { return arity == 1 ? 2 : (arity * 3) - 2; }

// A stream that is told how many numbers there are, not which.
template <typename Stream>
concept CountsOnly = requires { requires Stream::kOnlyCounts; };

// `Stream` has put(number), put_zeros(count) and put_gaps(elements, before): the difference of each
// to the one before, minus one. One that only counts needs no put_gaps.
template <typename Stream>
class TrieStreams {
 public:
  // `arity` >= 1; make(StreamRole) makes the streams.
  template <typename Make>
  TrieStreams(std::size_t arity, Make&& make)
      : arity_(arity), keys_(make(StreamRole::kKeys)), prefix_(arity - 1, 0) {
    for (std::size_t level = 0; level < (arity == 1 ? 1 : arity - 1); ++level)
      levels_.push_back({.count = make(StreamRole::kCount),
                         .first = make(StreamRole::kFirst),
                         .gaps = make(StreamRole::kGaps),
                         .children = 0});
  }

  // Whether no group can follow here but a new beginning: of arity 1, where there is no key to
  // begin anew, the set does not ascend.
  bool must_begin_anew(const SetView& set) const {
    return arity_ == 1 && tuples_ != 0 && first_of(set) < next_;
  }

  // Adds one non-empty set.
  void add(std::span<const Cell> prefix, const SetView& set) {
    const bool goes_on = tuples_ != 0 && first_of(set) >= next_ &&
                         std::equal(prefix.begin(), prefix.end(), prefix_.begin());
    if (!goes_on) open_group(prefix);
    put_set(set);
    levels_.back().children += static_cast<std::uint32_t>(set.count);
    tuples_ += set.count;
  }

  // Tuples and groups since the last beginning.
  std::uint64_t tuples() const { return tuples_; }
  std::uint32_t groups() const { return groups_; }
  // To which the next key is a difference: the last key, unless told otherwise.
  Cell key_before() const { return key_before_; }
  void set_key_before(Cell key) { key_before_ = key; }

  // Closes all open nodes; what follows begins anew. Requires tuples() > 0.
  void end() {
    for (Level& level : levels_) {
      if (arity_ > 1) level.count.put(level.children);
      level.children = 0;
    }
    tuples_ = 0;
    groups_ = 0;
    next_ = 0;
  }

  // Calls visit(stream) in the order of the format.
  template <typename Visit>
  void for_each_stream(Visit&& visit) {
    if (arity_ > 1) visit(keys_);
    for (Level& level : levels_) {
      if (arity_ > 1) visit(level.count);
      visit(level.first);
      visit(level.gaps);
    }
  }
  template <typename Visit>
  void for_each_stream(Visit&& visit) const {
    const_cast<TrieStreams*>(this)->for_each_stream(
        [&visit](const Stream& stream) { visit(stream); });
  }

 private:
  // The streams below one column.
  struct Level {
    Stream count;
    Stream first;
    Stream gaps;
    std::uint32_t children = 0;  // of the open node of the level above
  };

  // Opens the group of `prefix`, or goes on with it. The level at which the prefix differs from the
  // one before gets a further child, all levels below a first one.
  void open_group(std::span<const Cell> prefix) {
    std::size_t changed = 0;
    while (changed < prefix.size() && prefix[changed] == prefix_[changed]) ++changed;
    const bool is_first = tuples_ == 0;
    if (is_first) changed = 0;
    if (changed == prefix.size() && !prefix.empty()) --changed;  // the same group once more
    if (!is_first)
      for (std::size_t level = changed; level < levels_.size(); ++level) {
        levels_[level].count.put(levels_[level].children);
        levels_[level].children = 0;
      }
    ++groups_;
    for (std::size_t column = changed; column < prefix.size(); ++column) {
      const Cell before = prefix_[column];
      prefix_[column] = prefix[column];
      if (column == 0) {
        keys_.put(prefix[0] - key_before_);
        key_before_ = prefix[0];
        continue;
      }
      Level& level = levels_[column - 1];
      ++level.children;
      if (column == changed)
        level.gaps.put(prefix[column] - before - 1);
      else
        level.first.put(prefix[column]);
    }
    begins_group_ = true;
  }

  void put_set(const SetView& set) {
    Level& level = levels_.back();
    if constexpr (CountsOnly<Stream>) {
      if (begins_group_) level.first.put(0);
      level.gaps.put_zeros(set.count - (begins_group_ ? 1 : 0));
      begins_group_ = false;
      next_ = std::uint64_t{last_of(set)} + 1;
    } else {
      put_elements(set);
    }
  }

  void put_elements(const SetView& set) {
    Level& level = levels_.back();
    switch (set.kind) {
      case SetKind::kArray:
        put_run(first_of(set), 1);
        level.gaps.put_gaps(set.values.subspan(1), set.values[0]);
        next_ = std::uint64_t{set.values.back()} + 1;
        break;
      case SetKind::kOffsets:
        put_run(first_of(set), 1);
        level.gaps.put_gaps(set.offsets.subspan(1), set.offsets[0]);
        next_ = std::uint64_t{set.base} + set.offsets.back() + 1;
        break;
      case SetKind::kRuns:
        for (std::size_t i = 0; i < set.offsets.size(); i += 2)
          put_run(std::uint64_t{set.base} + set.offsets[i], std::uint64_t{set.offsets[i + 1]} + 1);
        break;
      case SetKind::kBitmap:
        put_bitmap(set);
        break;
    }
  }

  // `length` neighbours from `first` on, behind all elements of the open group: the elements inside
  // a run are zeros in the stream of gaps, so that dense sets are written faster than one element
  // at a time.
  void put_run(std::uint64_t first, std::uint64_t length) {
    Level& level = levels_.back();
    if (begins_group_)
      level.first.put(static_cast<std::uint32_t>(first));
    else
      level.gaps.put(static_cast<std::uint32_t>(first - next_));
    begins_group_ = false;
    level.gaps.put_zeros(length - 1);
    next_ = first + length;
  }

  void put_bitmap(const SetView& set) {
    std::uint64_t carry = 0;
    std::uint64_t start = 0;
    for (std::size_t w = 0; w < set.words.size(); ++w) {
      const std::uint64_t word = set.words[w];
      for (std::uint64_t changes = word ^ ((word << 1) | carry); changes != 0;
           changes &= changes - 1) {
        const auto bit = static_cast<std::uint64_t>(std::countr_zero(changes));
        const std::uint64_t at = set.base + (w * 64) + bit;
        if ((word >> bit & 1) != 0)
          start = at;
        else
          put_run(start, at - start);
      }
      carry = word >> 63;
    }
    if (carry != 0) put_run(start, set.base + (set.words.size() * 64) - start);
  }

  std::size_t arity_;
  Stream keys_;
  std::vector<Level> levels_;  // columns 1 ..; arity 1: its only column
  std::vector<Cell> prefix_;
  Cell key_before_ = 0;
  std::uint64_t next_ = 0;  // last element of the open group + 1
  bool begins_group_ = true;
  std::uint64_t tuples_ = 0;
  std::uint32_t groups_ = 0;
};

}  // namespace stratalog
