// SPDX-License-Identifier: Apache-2.0
#include "relation/int_set.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/memory_end.h"

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
  if (memory == nullptr) report_no_memory();
  return memory;
}

// The number of elements, and the words; all zero.
std::uint64_t* allocate_bitmap(std::uint32_t words) {
  void* bitmap = std::calloc(std::uint64_t{words} + 1, sizeof(std::uint64_t));
  if (bitmap == nullptr) report_no_memory();
  return static_cast<std::uint64_t*>(bitmap);
}

// Behind the `count` cells of `into` there is room for as many more.
void merge_from_back(Cell* into, std::uint32_t count, std::span<const Cell> more) {
  std::size_t fresh = more.size();
  std::size_t write = count + fresh;
  std::size_t old = count;
  while (fresh > 0) {
    if (old > 0 && into[old - 1] > more[fresh - 1])
      into[--write] = into[--old];
    else
      into[--write] = more[--fresh];
  }
}

}  // namespace

void IntSet::take(IntSet& other) noexcept {
  std::memcpy(static_cast<void*>(this), static_cast<const void*>(&other), sizeof(IntSet));
  other.reset();
}

void IntSet::release() {
  if (form() != Form::kInline) std::free(held());
}

void IntSet::hold(void* memory, std::uint32_t extent) {
  static_assert(sizeof(memory) == 2 * sizeof(Cell));
  std::memcpy(words_, static_cast<const void*>(&memory), sizeof(memory));
  words_[2] = extent;
}

void IntSet::reserve_array(std::uint32_t capacity) {
  const std::uint32_t count = cell_count();
  if (form() == Form::kInline) {
    auto* grown = allocate<Cell>(capacity);
    std::copy_n(words_, count, grown);
    hold(grown, count);
  } else if (capacity > number()) {
    auto* grown = static_cast<Cell*>(std::realloc(held(), capacity * sizeof(Cell)));
    if (grown == nullptr) report_no_memory();
    hold(grown, count);
  } else {
    return;
  }
  set_tag(Form::kArray, capacity);
}

void IntSet::assign_sorted(std::span<const Cell> cells) {
  clear();
  add_new_sorted(cells);
}

void IntSet::assign_words(Cell base, std::span<const std::uint64_t> words) {
  clear();
  while (!words.empty() && words.back() == 0) words = words.first(words.size() - 1);
  while (!words.empty() && words.front() == 0) {
    words = words.subspan(1);
    base += 64;
  }
  if (words.empty()) return;
  std::uint64_t count = 0;
  for (const std::uint64_t word : words) count += static_cast<std::uint64_t>(std::popcount(word));
  const SetView view{.kind = SetKind::kBitmap,
                     .base = base,
                     .values = {},
                     .offsets = {},
                     .words = words,
                     .count = count};
  if (!prefers_bitmap(count, first_of(view), last_of(view))) {
    std::vector<Cell> cells;
    cells.reserve(count);
    walk_set(view, [&](Cell cell) { cells.push_back(cell); });
    add_new_sorted(cells);
    return;
  }
  const auto extent = static_cast<std::uint32_t>(words.size());
  std::uint64_t* const bits = allocate_bitmap(extent);
  bits[0] = count;
  std::memcpy(bits + 1, words.data(), words.size_bytes());
  hold(bits, extent);
  set_tag(Form::kBitmap, base / 64);
}

void IntSet::become_bitmap(Cell lowest, Cell highest) {
  const std::uint32_t base = lowest / 64;
  const std::uint32_t words = (highest / 64) - base + 1;
  std::uint64_t* bits = allocate_bitmap(words);
  for (const Cell cell : array()) bits[1 + (cell / 64) - base] |= std::uint64_t{1} << (cell % 64);
  bits[0] = cell_count();
  release();
  hold(bits, words);
  set_tag(Form::kBitmap, base);
}

void IntSet::widen_bitmap(Cell lowest, Cell highest) {
  const std::uint32_t base = number();
  const std::uint32_t end = base + extent();
  std::uint32_t first = std::min(base, lowest / 64);
  std::uint32_t last = std::max(end - 1, highest / 64);
  if (first == base && last == end - 1) return;
  // Sets of a recursion grow at their ends round after round: leave an eighth of room on the side
  // that grew.
  const std::uint32_t slack = (last - first + 1) / 8;
  if (first < base) first -= std::min(first, slack);
  if (last > end - 1) last = std::min(last + slack, kLastWord);
  const std::uint32_t words = last - first + 1;
  std::uint64_t* bits = allocate_bitmap(words);
  bits[0] = bitmap()[0];
  std::memcpy(bits + 1 + (base - first), bitmap() + 1, std::uint64_t{extent()} * 8);
  release();
  hold(bits, words);
  set_tag(Form::kBitmap, first);
}

void IntSet::set_bits(std::span<const Cell> cells) {
  std::uint64_t* const bits = bitmap() + 1;
  const std::uint32_t base = number();
  for (const Cell cell : cells) bits[(cell / 64) - base] |= std::uint64_t{1} << (cell % 64);
  bitmap()[0] += cells.size();
}

void IntSet::add_new_sorted(std::span<const Cell> cells) {
  if (cells.empty()) return;
  const auto added = static_cast<std::uint32_t>(cells.size());
  if (form() == Form::kBitmap) {
    const std::uint64_t first = std::min(number(), cells.front() / 64);
    const std::uint64_t end =
        std::max<std::uint64_t>(std::uint64_t{number()} + extent(), (cells.back() / 64) + 1);
    if ((end - first) * 64 <= 2 * kBitsPerElement * (size() + added)) {
      widen_bitmap(cells.front(), cells.back());
      set_bits(cells);
      return;
    }
    // A far outlier would make the bitmap too thin: back to an array.
    std::vector<Cell> before;
    before.reserve(size());
    walk([&](Cell cell) { before.push_back(cell); });
    clear();
    const auto total = static_cast<std::uint32_t>(before.size()) + added;
    reserve_array(total);
    std::merge(before.begin(), before.end(), cells.begin(), cells.end(), held_array());
    words_[2] = total;
    return;
  }
  const std::span<const Cell> current = array();
  const std::uint32_t total = cell_count() + added;
  const Cell lowest = current.empty() ? cells.front() : std::min(current.front(), cells.front());
  const Cell highest = current.empty() ? cells.back() : std::max(current.back(), cells.back());
  if (prefers_bitmap(total, lowest, highest)) {
    become_bitmap(lowest, highest);
    set_bits(cells);
    return;
  }
  if (total <= kInlineCells) {
    merge_from_back(words_, cell_count(), cells);
    set_tag(Form::kInline, total);
    return;
  }
  // Sets that are filled once stay exact; sets that grow get a quarter of room.
  if (form() == Form::kInline || total > number())
    reserve_array(current.empty() ? total : total + (total / 4));
  merge_from_back(held_array(), extent(), cells);
  words_[2] = total;
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
