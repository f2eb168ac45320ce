// SPDX-License-Identifier: Apache-2.0
#include "relation/set_accumulator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/memory_end.h"

namespace stratalog {
namespace {

constexpr std::uint64_t kSpaceBytes = (std::uint64_t{1} << 32) / 8;
constexpr std::uint64_t kFlagBytes = kSpaceBytes / 64;  // a bit for each word
constexpr std::uint64_t kChunkWords = 64;
// An array that is so many times as long as words were touched is not walked, but searched for each
// cell.
constexpr std::uint64_t kSearchedFrom = 32;
// Chunks that were touched are taken word by word if they are one in so many of those they span.
constexpr std::uint64_t kSpread = 2;

std::uint64_t* reserve_words(std::uint64_t bytes) {
  void* space = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return space == MAP_FAILED ? nullptr : static_cast<std::uint64_t*>(space);
}

}  // namespace

SetAccumulator::SetAccumulator()
    : words_(reserve_words(kSpaceBytes)), touched_words_(reserve_words(kFlagBytes)) {
  if (words_ != nullptr && touched_words_ != nullptr) return;
  if (words_ != nullptr) munmap(words_, kSpaceBytes);
  if (touched_words_ != nullptr) munmap(touched_words_, kFlagBytes);
  report_no_address_space();
}

SetAccumulator::~SetAccumulator() {
  munmap(words_, kSpaceBytes);
  munmap(touched_words_, kFlagBytes);
}

void SetAccumulator::add(const SetView& set) {
  if (set.kind == SetKind::kBitmap && set.base % 64 == 0) {
    const std::uint64_t first = set.base / 64;
    const std::uint64_t end = first + set.words.size();
    for (std::uint64_t from = first, to = 0; from < end; from = to) {
      to = std::min(end, (from / kChunkWords + 1) * kChunkWords);
      const std::uint64_t below = (to - 1) % kChunkWords;
      touch(static_cast<std::uint32_t>(from / kChunkWords),
            (~std::uint64_t{0} >> (kChunkWords - 1 - below)) &
                (~std::uint64_t{0} << (from % kChunkWords)));
      for (std::uint64_t w = from; w < to; ++w) words_[w] |= set.words[w - first];
    }
    return;
  }
  if (set.kind == SetKind::kArray) return add_array(set.values);
  walk_set(set, [&](Cell cell) { add(cell); });
}

// Ascending: what was touched of a chunk is written down once, as going through memory for each
// cell takes longer than all else.
void SetAccumulator::add_array(std::span<const Cell> cells) {
  if (cells.empty()) return;
  std::uint32_t chunk = cells.front() >> kChunkBits;
  std::uint64_t words = 0;
  for (const Cell cell : cells) {
    if (cell >> kChunkBits != chunk) {
      touch(chunk, words);
      chunk = cell >> kChunkBits;
      words = 0;
    }
    words |= std::uint64_t{1} << (cell / 64 % 64);
    words_[cell / 64] |= std::uint64_t{1} << (cell % 64);
  }
  touch(chunk, words);
}

// An untouched word holds no bits, and writing to it would make its page cost memory.
void SetAccumulator::subtract_array(std::span<const Cell> present) {
  for (const Cell cell : present)
    if (((touched_words_[cell >> kChunkBits] >> (cell / 64 % 64)) & 1U) != 0)
      words_[cell / 64] &= ~(std::uint64_t{1} << (cell % 64));
}

void SetAccumulator::take_all(IntSet& all) {
  ++filling_;
  if (touched_.empty()) return all.clear();
  const auto [lowest, highest] = std::ranges::minmax(touched_);
  const std::uint64_t chunks = std::uint64_t{highest} - lowest + 1;
  if (chunks > kSpread * touched_.size()) {
    static const IntSet kNothing{};
    std::vector<Cell> cells;
    take_new(kNothing, cells);
    all.assign_sorted(cells);
    return;
  }
  std::uint64_t* const first = words_ + (lowest * kChunkWords);
  all.assign_words(lowest << kChunkBits, {first, chunks * kChunkWords});
  for (const std::uint32_t chunk : touched_) {
    touched_words_[chunk] = 0;
    std::fill_n(words_ + (chunk * kChunkWords), kChunkWords, std::uint64_t{0});
  }
  touched_.clear();
}

void SetAccumulator::take_new(const IntSet& present, std::vector<Cell>& out) {
  ++filling_;
  const SetView view = present.view();
  const std::uint64_t first = view.base / 64;
  bool searches = false;
  if (view.kind == SetKind::kArray) {
    std::uint64_t touched = 0;
    for (const std::uint32_t chunk : touched_)
      touched += static_cast<std::uint64_t>(std::popcount(touched_words_[chunk]));
    searches = view.values.size() > kSearchedFrom * touched;
    if (!searches) subtract_array(view.values);
  }
  std::sort(touched_.begin(), touched_.end());
  // Cells go to the caller's vector many at a time: it grows by calls.
  std::array<Cell, 256> gathered;
  std::size_t kept = 0;
  const auto append_gathered = [&] {
    out.insert(out.end(), gathered.begin(), gathered.begin() + kept);
    kept = 0;
  };
  for (const std::uint32_t chunk : touched_) {
    std::uint64_t left = std::exchange(touched_words_[chunk], 0);
    for (; left != 0; left &= left - 1) {
      const std::uint64_t w =
          chunk * kChunkWords + static_cast<std::uint64_t>(std::countr_zero(left));
      std::uint64_t word = std::exchange(words_[w], 0);
      if (w - first < view.words.size()) word &= ~view.words[w - first];
      if (kept + 64 > gathered.size()) append_gathered();
      for (; word != 0; word &= word - 1) {
        const auto cell =
            static_cast<Cell>((w * 64) + static_cast<std::uint64_t>(std::countr_zero(word)));
        gathered[kept] = cell;
        kept += !searches || !present.contains(cell) ? 1 : 0;
      }
    }
  }
  append_gathered();
  touched_.clear();
}

}  // namespace stratalog
