// SPDX-License-Identifier: Apache-2.0
// The writing half of the streams encoding. Sets go in run by run: the elements inside a run are
// zeros in the stream of gaps, which cost next to nothing, so that dense sets are written faster
// than one element at a time.
#include <algorithm>
#include <bit>

#include "encode/byte_order.h"
#include "encode/streams_codec.h"
#include "model/set_walk.h"

namespace stratalog {

StreamsEncoder::StreamsEncoder(std::size_t arity)
    : arity_(arity), levels_(arity == 1 ? 1 : arity - 1), prefix_(arity - 1, 0) {}

// Opens the group of `prefix`, or goes on with it. The level at which the prefix differs from the
// one before gets a further child, all levels below a first one.
void StreamsEncoder::open_group(std::span<const Cell> prefix) {
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
      keys_.put(prefix[0] - (is_first ? 0 : before));
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

// `length` neighbours from `first` on, behind all elements of the open group.
void StreamsEncoder::put_run(std::uint64_t first, std::uint64_t length) {
  Level& level = levels_.back();
  if (begins_group_)
    level.first.put(static_cast<std::uint32_t>(first));
  else
    level.gaps.put(static_cast<std::uint32_t>(first - next_));
  begins_group_ = false;
  level.gaps.put_zeros(length - 1);
  next_ = first + length;
}

void StreamsEncoder::put_bitmap(const SetView& set) {
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

bool StreamsEncoder::needs_new_block(const SetView& set) const {
  return tuples_ >= kMaxStreamsTuples || (arity_ == 1 && tuples_ != 0 && first_of(set) < next_);
}

void StreamsEncoder::add(std::span<const Cell> prefix, const SetView& set) {
  const bool goes_on = tuples_ != 0 && first_of(set) >= next_ &&
                       std::equal(prefix.begin(), prefix.end(), prefix_.begin());
  if (!goes_on) open_group(prefix);
  Level& level = levels_.back();
  switch (set.kind) {
    case SetKind::kArray:
    case SetKind::kOffsets: {
      const bool is_array = set.kind == SetKind::kArray;
      put_run(first_of(set), 1);
      if (is_array) {
        level.gaps.put_gaps(set.values.subspan(1), set.values[0]);
        next_ = std::uint64_t{set.values.back()} + 1;
      } else {
        level.gaps.put_gaps(set.offsets.subspan(1), set.offsets[0]);
        next_ = std::uint64_t{set.base} + set.offsets.back() + 1;
      }
      break;
    }
    case SetKind::kRuns:
      for (std::size_t i = 0; i < set.offsets.size(); i += 2)
        put_run(std::uint64_t{set.base} + set.offsets[i], std::uint64_t{set.offsets[i + 1]} + 1);
      break;
    case SetKind::kBitmap:
      put_bitmap(set);
      break;
  }
  level.children += static_cast<std::uint32_t>(set.count);
  tuples_ += set.count;
}

std::size_t StreamsEncoder::bytes() const {
  std::size_t bytes = keys_.packed_bytes();
  for (const Level& level : levels_)
    bytes += level.count.packed_bytes() + level.first.packed_bytes() + level.gaps.packed_bytes();
  return bytes;
}

std::byte* StreamsEncoder::finish(std::byte* to) {
  std::vector<StreamPacker*> streams;
  if (arity_ > 1) streams.push_back(&keys_);
  for (Level& level : levels_) {
    if (arity_ > 1) {
      level.count.put(level.children);
      streams.push_back(&level.count);
    }
    level.children = 0;
    streams.push_back(&level.first);
    streams.push_back(&level.gaps);
  }
  std::byte* at = to + (streams.size() * 8);
  for (StreamPacker* stream : streams) {
    stream->finish();
    store_le<std::uint32_t>(to, static_cast<std::uint32_t>(stream->values()));
    store_le<std::uint32_t>(to + 4, static_cast<std::uint32_t>(stream->finished_bytes()));
    to += 8;
    at = stream->copy_to(at);
    stream->clear();
  }
  tuples_ = 0;
  groups_ = 0;
  next_ = 0;
  return at;
}

}  // namespace stratalog
