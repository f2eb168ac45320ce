// SPDX-License-Identifier: Apache-2.0
#include "relation/int_set.h"

#include <bit>
#include <cassert>
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

// What malloc gives are multiples of 16 bytes, less 8: as many as an array has in front.
std::uint32_t rounded_room(std::uint32_t cells) { return (cells + 3) & ~3U; }

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

void IntSet::release_held() { std::free(held()); }

void IntSet::hold(const void* memory, std::uint64_t count, std::uint32_t flag) {
  const std::uint64_t address = reinterpret_cast<std::uint64_t>(memory) / kAlignment;
  assert(address >> (62 - kBitsBelowAddress) == 0);
  const std::uint64_t bits =
      address << kBitsBelowAddress | std::min<std::uint64_t>(count, kMany) << 1U | flag;
  const std::uint64_t words = kHeld | bits >> 31U | (bits & (kHeld - 1)) << 32U;
  std::memcpy(words_, &words, sizeof(words));
}

void IntSet::hold(const Array& array) { hold(&array, array.count, 0); }
void IntSet::hold(const Bitmap& bitmap) { hold(&bitmap, bitmap.count, kHeldBitmap); }

IntSet::Array& IntSet::grow_array(std::uint32_t room) {
  const bool grows = form() == Form::kArray;
  room = rounded_room(room);
  void* const memory =
      std::realloc(grows ? held() : nullptr, sizeof(Array) + (std::uint64_t{room} * sizeof(Cell)));
  if (memory == nullptr) report_no_memory();
  auto& array = *static_cast<Array*>(memory);
  if (!grows) {
    array.count = inline_count();
    std::copy_n(words_, array.count, array.begin());
  }
  array.room = room;
  return array;
}

// All zero.
IntSet::Bitmap& IntSet::make_bitmap(std::uint32_t first, std::uint32_t extent) {
  void* const memory = std::calloc(sizeof(Bitmap) + (std::uint64_t{extent} * 8), 1);
  if (memory == nullptr) report_no_memory();
  auto& bitmap = *static_cast<Bitmap*>(memory);
  bitmap.first = first;
  bitmap.extent = extent;
  return bitmap;
}

IntSet::Bitmap& IntSet::become(Bitmap& bitmap) {
  release();
  hold(bitmap);
  return bitmap;
}

void IntSet::assign_sorted(std::span<const Cell> cells) {
  clear();
  add_new_sorted(cells);
}

void IntSet::assign(const SetView& set) {
  if (set.kind == SetKind::kArray) return assign_sorted(set.values);
  if (set.kind == SetKind::kBitmap && set.base % 64 == 0) return assign_words(set.base, set.words);
  std::vector<Cell> cells;
  cells.reserve(set.count);
  walk_set(set, [&](Cell cell) { cells.push_back(cell); });
  assign_sorted(cells);
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
  Bitmap& bitmap = make_bitmap(base / 64, static_cast<std::uint32_t>(words.size()));
  bitmap.count = count;
  std::memcpy(bitmap.begin(), words.data(), words.size_bytes());
  become(bitmap);
}

IntSet::Bitmap& IntSet::become_bitmap(Cell lowest, Cell highest) {
  const std::uint32_t first = lowest / 64;
  Bitmap& bitmap = make_bitmap(first, (highest / 64) - first + 1);
  set_bits(bitmap, array());
  return become(bitmap);
}

IntSet::Bitmap& IntSet::widen_bitmap(Cell lowest, Cell highest) {
  Bitmap& before = *held_bitmap();
  const std::uint32_t end = before.first + before.extent;
  std::uint32_t first = std::min(before.first, lowest / 64);
  std::uint32_t last = std::max(end - 1, highest / 64);
  if (first == before.first && last == end - 1) return before;
  // Sets of a recursion grow at their ends round after round: leave an eighth of room on the side
  // that grew.
  const std::uint32_t slack = (last - first + 1) / 8;
  if (first < before.first) first -= std::min(first, slack);
  if (last > end - 1) last = std::min(last + slack, kLastWord);
  Bitmap& bitmap = make_bitmap(first, last - first + 1);
  bitmap.count = before.count;
  std::memcpy(bitmap.begin() + (before.first - first), before.begin(), before.words().size_bytes());
  return become(bitmap);
}

void IntSet::set_bits(Bitmap& bitmap, std::span<const Cell> cells) {
  std::uint64_t* const words = bitmap.begin();
  const std::uint32_t first = bitmap.first;
  for (const Cell cell : cells) words[(cell / 64) - first] |= std::uint64_t{1} << (cell % 64);
  bitmap.count += cells.size();
}

void IntSet::add_bits(Bitmap& bitmap, std::span<const Cell> cells) {
  set_bits(bitmap, cells);
  hold(bitmap);
}

void IntSet::add_new_sorted(std::span<const Cell> cells) {
  if (cells.empty()) return;
  const auto added = static_cast<std::uint32_t>(cells.size());
  if (form() == Form::kBitmap) {
    const Bitmap& bitmap = *held_bitmap();
    const std::uint64_t first = std::min(bitmap.first, cells.front() / 64);
    const std::uint64_t end = std::max<std::uint64_t>(std::uint64_t{bitmap.first} + bitmap.extent,
                                                      (cells.back() / 64) + 1);
    if ((end - first) * 64 <= 2 * kBitsPerElement * (bitmap.count + added))
      return add_bits(widen_bitmap(cells.front(), cells.back()), cells);
    // A far outlier would make the bitmap too thin: back to an array.
    std::vector<Cell> before;
    before.reserve(bitmap.count);
    walk([&](Cell cell) { before.push_back(cell); });
    clear();
    const auto total = static_cast<std::uint32_t>(before.size()) + added;
    Array& array = grow_array(total);
    std::merge(before.begin(), before.end(), cells.begin(), cells.end(), array.begin());
    array.count = total;
    hold(array);
    return;
  }
  const std::span<const Cell> current = array();
  const auto count = static_cast<std::uint32_t>(current.size());
  const std::uint32_t total = count + added;
  const Cell lowest = current.empty() ? cells.front() : std::min(current.front(), cells.front());
  const Cell highest = current.empty() ? cells.back() : std::max(current.back(), cells.back());
  if (prefers_bitmap(total, lowest, highest))
    return add_bits(become_bitmap(lowest, highest), cells);
  if (total <= kInlineCells) {
    // Two cells in all are the least and the greatest, and one cell is both.
    words_[0] = lowest;
    words_[1] = highest;
    return;
  }
  // Sets that are filled once stay exact; sets that grow get a quarter of room.
  Array& array = form() == Form::kArray && total <= held_array()->room
                     ? *held_array()
                     : grow_array(count == 0 ? total : total + (total / 4));
  merge_from_back(array.begin(), count, cells);
  array.count = total;
  hold(array);
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
