// SPDX-License-Identifier: Apache-2.0
// LaneStarts: the delta of a block whose lanes run with delays of their own (block_sweep.h), as a
// list of bits in the order in which lanes start: by delay, and within one delay in the order of
// put(). Local.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "datalog/pivot/block_sweep.h"

namespace stratalog {

class LaneStarts {
 public:
  struct Start {
    std::uint32_t delay;
    std::uint32_t offset;
  };

  // Begins anew. `delays` by lane offset, which stay where they are; `for_each_bit` calls what it
  // is given with the lane offset of each bit that put() will bring.
  template <typename ForEachBit>
  void plan(std::span<const std::uint32_t> delays, ForEachBit&& for_each_bit) {
    delays_ = delays;
    std::vector<std::uint32_t> bits(delays.size(), 0);
    for_each_bit([&](std::uint32_t offset) { ++bits[offset]; });
    lanes_.clear();
    for (std::uint32_t offset = 0; offset < delays.size(); ++offset)
      if (bits[offset] != 0) lanes_.push_back({delays[offset], offset});
    std::sort(lanes_.begin(), lanes_.end(), [](const Start& a, const Start& b) {
      return a.delay != b.delay ? a.delay < b.delay : a.offset < b.offset;
    });
    // Lanes of one delay share a bucket.
    places_.clear();
    bucket_of_.assign(delays.size(), 0);
    std::size_t position = 0;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (i == 0 || lanes_[i].delay != lanes_[i - 1].delay) places_.push_back(position);
      bucket_of_[lanes_[i].offset] = static_cast<std::uint32_t>(places_.size()) - 1;
      position += bits[lanes_[i].offset];
    }
    bits_.resize(position);
    at_ = 0;
  }
  void put(const SlotBit& bit) { bits_[places_[bucket_of_[bit.offset]]++] = bit; }

  // Those that have a bit, by delay, and by offset within one.
  std::span<const Start> lanes() const { return lanes_; }
  bool at_end() const { return at_ == bits_.size(); }
  // Requires !at_end().
  const SlotBit& next() const { return bits_[at_]; }
  std::uint64_t next_step() const { return delays_[next().offset]; }
  const SlotBit& take() { return bits_[at_++]; }
  bool is_due(std::uint64_t step) const { return !at_end() && next_step() == step; }

  std::uint64_t memory_bytes() const { return bits_.capacity() * sizeof(SlotBit); }

 private:
  std::span<const std::uint32_t> delays_;
  std::vector<Start> lanes_;
  std::vector<SlotBit> bits_;
  std::vector<std::size_t> places_;  // of the next bit, by bucket
  std::vector<std::uint32_t> bucket_of_;  // by lane offset
  std::size_t at_ = 0;
};

}  // namespace stratalog
