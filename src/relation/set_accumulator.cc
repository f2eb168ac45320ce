// SPDX-License-Identifier: Apache-2.0
#include "relation/set_accumulator.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace stratalog {
namespace {

constexpr std::uint64_t kSpaceBytes = (std::uint64_t{1} << 32) / 8;

}  // namespace

SetAccumulator::SetAccumulator() : touched_flag_(std::size_t{1} << (32 - kChunkBits), 0) {
  void* space = mmap(nullptr, kSpaceBytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED) throw std::bad_alloc();
  words_ = static_cast<std::uint64_t*>(space);
}

SetAccumulator::~SetAccumulator() { munmap(words_, kSpaceBytes); }

void SetAccumulator::add(const SetView& set) {
  if (set.kind == SetKind::kBitmap && set.base % 64 == 0) {
    if (set.words.empty()) return;
    std::uint64_t* to = words_ + (set.base / 64);
    const std::uint64_t last = set.base / 64 + set.words.size() - 1;
    for (std::uint64_t c = set.base >> kChunkBits; c <= (last * 64) >> kChunkBits; ++c)
      touch(static_cast<std::uint32_t>(c));
    for (std::size_t w = 0; w < set.words.size(); ++w) to[w] |= set.words[w];
    return;
  }
  walk_set(set, [&](Cell cell) { add(cell); });
}

void SetAccumulator::subtract_bitmap(const SetView& present) {
  // Only touched chunks can hold bits; visit their overlap with the bitmap.
  const std::uint64_t first = present.base / 64;
  const std::uint64_t end = first + present.words.size();
  constexpr std::uint64_t kChunkWords = (std::uint64_t{1} << kChunkBits) / 64;
  for (const std::uint32_t chunk : touched_) {
    const std::uint64_t from = std::max(first, chunk * kChunkWords);
    const std::uint64_t to = std::min(end, (chunk + std::uint64_t{1}) * kChunkWords);
    for (std::uint64_t w = from; w < to; ++w) words_[w] &= ~present.words[w - first];
  }
}

void SetAccumulator::take_new(const IntSet& present, std::vector<Cell>& out) {
  const SetView view = present.view();
  if (view.kind == SetKind::kBitmap) {
    subtract_bitmap(view);
  } else {
    // An untouched chunk holds no bits, and writing to it would make its page cost memory.
    for (const Cell cell : view.values)
      if (touched_flag_[cell >> kChunkBits] != 0)
        words_[cell / 64] &= ~(std::uint64_t{1} << (cell % 64));
  }
  std::sort(touched_.begin(), touched_.end());
  constexpr std::uint64_t kChunkWords = (std::uint64_t{1} << kChunkBits) / 64;
  for (const std::uint32_t chunk : touched_) {
    touched_flag_[chunk] = 0;
    for (std::uint64_t w = chunk * kChunkWords; w < (chunk + std::uint64_t{1}) * kChunkWords; ++w) {
      std::uint64_t word = words_[w];
      if (word == 0) continue;
      words_[w] = 0;
      for (; word != 0; word &= word - 1)
        out.push_back(
            static_cast<Cell>((w * 64) + static_cast<std::uint64_t>(std::countr_zero(word))));
    }
  }
  touched_.clear();
}

}  // namespace stratalog
