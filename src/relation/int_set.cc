// SPDX-License-Identifier: Apache-2.0
#include "relation/int_set.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace stratalog {
namespace {

// From one element in 32 on a bitmap is no larger than an array of 32-bit cells.
constexpr std::uint64_t kBitsPerElement = 32;
// Below this many elements an array is searched and walked faster than a bitmap, whatever the
// density.
constexpr std::uint64_t kMinimumBitmapCount = 16;

// Of the word that holds the largest cell.
constexpr std::uint32_t kLastWord = 0xFFFFFFFFU / 64;

bool prefers_bitmap(std::uint64_t count, Cell lowest, Cell highest) {
  const std::uint64_t words = (highest / 64) - (lowest / 64) + 1;
  return count >= kMinimumBitmapCount && words * 64 <= count * kBitsPerElement;
}

template <typename T>
T* allocate(std::uint64_t n) {
  auto* memory = static_cast<T*>(std::malloc(n * sizeof(T)));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void IntSet::take(IntSet& other) noexcept {
  std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(IntSet));
  other.reset();
}

void IntSet::release() {
  if (form_ == Form::kArray) std::free(array_);
  if (form_ == Form::kBitmap) std::free(words_);
}

void IntSet::reserve_array(std::uint32_t capacity) {
  if (form_ == Form::kInline) {
    auto* grown = allocate<Cell>(capacity);
    std::copy(inline_, inline_ + count_, grown);
    array_ = grown;
    form_ = Form::kArray;
    capacity_ = capacity;
  } else if (capacity > capacity_) {
    auto* grown = static_cast<Cell*>(std::realloc(array_, capacity * sizeof(Cell)));
    if (grown == nullptr) throw std::bad_alloc();
    array_ = grown;
    capacity_ = capacity;
  }
}

void IntSet::assign_sorted(std::span<const Cell> cells) {
  clear();
  add_new_sorted(cells);
}

void IntSet::become_bitmap(Cell lowest, Cell highest) {
  const std::uint32_t base = lowest / 64;
  const std::uint32_t words = (highest / 64) - base + 1;
  auto* bits = static_cast<std::uint64_t*>(std::calloc(words, sizeof(std::uint64_t)));
  if (bits == nullptr) throw std::bad_alloc();
  const Cell* cells = form_ == Form::kInline ? inline_ : array_;
  for (std::uint32_t i = 0; i < count_; ++i)
    bits[(cells[i] / 64) - base] |= std::uint64_t{1} << (cells[i] % 64);
  release();
  words_ = bits;
  base_word_ = base;
  capacity_ = words;
  form_ = Form::kBitmap;
}

void IntSet::widen_bitmap(Cell lowest, Cell highest) {
  std::uint32_t first = std::min(base_word_, lowest / 64);
  std::uint32_t last = std::max(base_word_ + capacity_ - 1, highest / 64);
  if (first == base_word_ && last == base_word_ + capacity_ - 1) return;
  // Sets of a recursion grow at their ends round after round: leave an eighth of room on the side
  // that grew.
  const std::uint32_t slack = (last - first + 1) / 8;
  if (first < base_word_) first -= std::min(first, slack);
  if (last > base_word_ + capacity_ - 1) last = std::min(last + slack, kLastWord);
  const std::uint32_t words = last - first + 1;
  auto* bits = static_cast<std::uint64_t*>(std::calloc(words, sizeof(std::uint64_t)));
  if (bits == nullptr) throw std::bad_alloc();
  std::memcpy(bits + (base_word_ - first), words_, std::uint64_t{capacity_} * 8);
  std::free(words_);
  words_ = bits;
  base_word_ = first;
  capacity_ = words;
}

void IntSet::set_bits(std::span<const Cell> cells) {
  for (const Cell cell : cells) words_[(cell / 64) - base_word_] |= std::uint64_t{1} << (cell % 64);
  count_ += static_cast<std::uint32_t>(cells.size());
}

void IntSet::add_new_sorted(std::span<const Cell> cells) {
  if (cells.empty()) return;
  const auto added = static_cast<std::uint32_t>(cells.size());
  if (form_ == Form::kBitmap) {
    const Cell lowest = std::min(base_word_ * 64, cells.front());
    const std::uint64_t words =
        std::max<std::uint64_t>(base_word_ + std::uint64_t{capacity_}, (cells.back() / 64) + 1) -
        (lowest / 64);
    if (words * 64 <= 2 * kBitsPerElement * (std::uint64_t{count_} + added)) {
      widen_bitmap(cells.front(), cells.back());
      set_bits(cells);
      return;
    }
    // A far outlier would make the bitmap too thin: back to an array.
    std::vector<Cell> all;
    all.reserve(count_);
    walk([&](Cell cell) { all.push_back(cell); });
    const std::vector<Cell> before = std::move(all);
    clear();
    reserve_array(static_cast<std::uint32_t>(before.size()) + added);
    std::merge(before.begin(), before.end(), cells.begin(), cells.end(), array_);
    count_ = static_cast<std::uint32_t>(before.size()) + added;
    return;
  }
  const std::uint32_t total = count_ + added;
  const Cell* current = form_ == Form::kInline ? inline_ : array_;
  const Cell lowest = count_ > 0 ? std::min(current[0], cells.front()) : cells.front();
  const Cell highest = count_ > 0 ? std::max(current[count_ - 1], cells.back()) : cells.back();
  if (prefers_bitmap(total, lowest, highest)) {
    become_bitmap(lowest, highest);
    set_bits(cells);
    return;
  }
  if (form_ == Form::kInline && total <= 2) {
    if (count_ == 0) {
      std::copy(cells.begin(), cells.end(), inline_);
    } else {  // one there, one new
      if (cells[0] < inline_[0]) {
        inline_[1] = inline_[0];
        inline_[0] = cells[0];
      } else {
        inline_[1] = cells[0];
      }
    }
    count_ = total;
    return;
  }
  if (form_ == Form::kInline || total > capacity_) {
    // Sets that are filled once stay exact; sets that grow get a quarter of room.
    reserve_array(count_ == 0 ? total : total + (total / 4));
  }
  // Merge from the back, in place.
  std::uint32_t write = total;
  std::uint32_t old = count_;
  std::uint32_t fresh = added;
  while (fresh > 0) {
    if (old > 0 && array_[old - 1] > cells[fresh - 1])
      array_[--write] = array_[--old];
    else
      array_[--write] = cells[--fresh];
  }
  count_ = total;
}

void IntSet::unite(const IntSet& other) {
  std::vector<Cell> fresh;
  fresh.reserve(other.size());
  other.walk([&](Cell cell) {
    if (!contains(cell)) fresh.push_back(cell);
  });
  add_new_sorted(fresh);
}

}  // namespace stratalog
