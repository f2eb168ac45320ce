// SPDX-License-Identifier: Apache-2.0
// IntSet: the last level of every index: a set of cells, kept in the smallest of three forms: one
// or two cells inside the object, an ascending array, or a bitmap over the range it spans. A bitmap
// is used from one element in 32 on, so a set never takes more than four bytes an element (plus
// growth slack and what tells how many), and dense sets take a bit. The object itself takes 8
// bytes, as most relations have many sets of one cell. CRoaring was considered: its 64 Ki
// containers and per-set headers cost more than they save for the many small sets of a relation,
// and joins want plain spans to walk. Local; not thread-safe; move-only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prefetch.h"
#include "model/cell.h"
#include "model/set_walk.h"
#include "model/tuple_group.h"
#include "relation/sorted_cells.h"

namespace stratalog {

class IntSet {
 public:
  enum class Form : std::uint8_t { kInline, kArray, kBitmap };

  IntSet() = default;
  IntSet(IntSet&& other) noexcept { take(other); }
  IntSet& operator=(IntSet&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }
  IntSet(const IntSet&) = delete;
  IntSet& operator=(const IntSet&) = delete;
  ~IntSet() { release(); }

  bool empty() const { return words_[0] == kEmpty && words_[1] == 0; }
  std::uint64_t size() const {
    if (form() == Form::kInline) return inline_count();
    const std::uint32_t count = held_count();
    if (count < kMany) [[likely]]
      return count;
    return form() == Form::kArray ? held_array()->count : held_bitmap()->count;
  }
  Form form() const {
    if (words_[0] <= words_[1] || words_[0] < kHeld) return Form::kInline;
    return (words_[1] & kHeldBitmap) == 0 ? Form::kArray : Form::kBitmap;
  }

  bool contains(Cell cell) const {
    switch (form()) {
      case Form::kInline:
        // Of an empty set the words are apart and the first one is none of its cells.
        return words_[0] <= words_[1] && (words_[0] == cell || words_[1] == cell);
      case Form::kArray:
        return contains_sorted(array(), cell);
      case Form::kBitmap: {
        const Bitmap& bitmap = *held_bitmap();
        const std::uint32_t word = cell / 64;
        if (word < bitmap.first || word - bitmap.first >= bitmap.extent) return false;
        return ((bitmap.words()[word - bitmap.first] >> (cell % 64)) & 1U) != 0;
      }
    }
    return false;
  }

  // The elements, ascending. Requires another form than a bitmap.
  std::span<const Cell> array() const {
    if (form() == Form::kInline) return {words_, inline_count()};
    return {held_array()->begin(), size()};
  }

  // A view of the elements; valid until the set changes.
  SetView view() const {
    if (form() == Form::kBitmap) {
      const Bitmap& bitmap = *held_bitmap();
      return {.kind = SetKind::kBitmap,
              .base = bitmap.first * 64,
              .values = {},
              .offsets = {},
              .words = bitmap.words(),
              .count = bitmap.count};
    }
    const std::span<const Cell> cells = array();
    return {.kind = SetKind::kArray,
            .base = 0,
            .values = cells,
            .offsets = {},
            .words = {},
            .count = cells.size()};
  }

  template <typename Visit>
  void walk(Visit&& visit) const {
    walk_set(view(), visit);
  }

  // Replaces the content by `cells`, which are ascending and distinct.
  void assign_sorted(std::span<const Cell> cells);
  // Replaces the content by the bits of `words`, of which bit 0 of the first one is the cell
  // `base`. Requires base % 64 == 0.
  void assign_words(Cell base, std::span<const std::uint64_t> words);
  // Replaces the content by that of the view.
  void assign(const SetView& set);
  // Adds cells that are ascending, distinct and not yet present (the caller has subtracted this
  // set).
  void add_new_sorted(std::span<const Cell> cells);
  // Adds whatever `other` holds; elements may be present already.
  void unite(const IntSet& other);
  void clear() {
    release();
    reset();
  }

  // Asks for the memory behind this object, where there is some.
  void prefetch() const {
    if (form() != Form::kInline) prefetch_for_reading(held());
  }

  // Heap bytes behind this object.
  std::uint64_t heap_bytes() const {
    switch (form()) {
      case Form::kInline:
        return 0;
      case Form::kArray:
        return sizeof(Array) + (std::uint64_t{held_array()->room} * sizeof(Cell));
      case Form::kBitmap:
        return sizeof(Bitmap) + (std::uint64_t{held_bitmap()->extent} * sizeof(std::uint64_t));
    }
    return 0;
  }

 private:
  // What lies on the heap, in front of the cells of an array and the words of a bitmap.
  struct Array {
    std::uint32_t count = 0;
    std::uint32_t room = 0;  // cells
    Cell* begin() { return reinterpret_cast<Cell*>(this + 1); }
  };
  struct Bitmap {
    std::uint64_t count = 0;
    std::uint32_t first = 0;  // number of the first word among those of all cells
    std::uint32_t extent = 0;  // words
    std::uint64_t* begin() { return reinterpret_cast<std::uint64_t*>(this + 1); }
    std::span<const std::uint64_t> words() const {
      return {reinterpret_cast<const std::uint64_t*>(this + 1), extent};
    }
  };

  static constexpr std::uint32_t kInlineCells = 2;
  // In the first word, where it is larger than the second: nothing; or, from kHeld on, with 31 bits
  // of each word, from the highest on: an address (48 bits, less kAlignment's), how many cells
  // there are, and whether they are a bitmap.
  static constexpr std::uint32_t kEmpty = 1;
  static constexpr std::uint32_t kHeld = 1U << 31U;
  static constexpr std::uint32_t kAlignment = 16;  // of what malloc gives
  static constexpr std::uint32_t kMany = (1U << 17U) - 1;
  static constexpr std::uint32_t kHeldBitmap = 1;
  static constexpr std::uint32_t kBitsBelowAddress = 18;

  void take(IntSet& other) noexcept {
    words_[0] = other.words_[0];
    words_[1] = other.words_[1];
    other.reset();
  }
  void release() {
    if (form() != Form::kInline) release_held();
  }
  void release_held();
  void reset() {
    words_[0] = kEmpty;
    words_[1] = 0;
  }

  // Requires another form. kMany and more are only told where they are held.
  std::uint32_t held_count() const { return (words_[1] / 2) % (kMany + 1); }
  // Requires the form: one cell is there twice.
  std::uint32_t inline_count() const {
    return words_[0] > words_[1] ? 0 : 1 + static_cast<std::uint32_t>(words_[0] != words_[1]);
  }
  // Copied and shifted as one number: of an address that is cut into two GCC 12 loses track, and
  // with -O1 it leaves out what is written to that memory.
  void* held() const {
    std::uint64_t words = 0;
    std::memcpy(&words, words_, sizeof(words));
    const std::uint64_t bits = (words & (kHeld - 1)) << 31U | words >> 32U;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the price of 8 bytes
    return reinterpret_cast<void*>((bits >> kBitsBelowAddress) * kAlignment);
  }
  Array* held_array() const { return static_cast<Array*>(held()); }
  Bitmap* held_bitmap() const { return static_cast<Bitmap*>(held()); }
  void hold(const Array& array);
  void hold(const Bitmap& bitmap);
  void hold(const void* memory, std::uint64_t count, std::uint32_t flag);

  // An array with room for so many cells, more than before; what there is stays. To be held.
  Array& grow_array(std::uint32_t room);
  static Bitmap& make_bitmap(std::uint32_t first, std::uint32_t extent);
  static void set_bits(Bitmap& bitmap, std::span<const Cell> cells);
  Bitmap& become(Bitmap& bitmap);
  Bitmap& become_bitmap(Cell lowest, Cell highest);
  Bitmap& widen_bitmap(Cell lowest, Cell highest);
  void add_bits(Bitmap& bitmap, std::span<const Cell> cells);

  // Of two cells, ascending; one cell, twice; or, where the first one is larger, see above.
  alignas(sizeof(std::uint64_t)) Cell words_[kInlineCells] = {kEmpty, 0};
};

static_assert(sizeof(IntSet) == sizeof(std::uint64_t));
static_assert(std::endian::native == std::endian::little);

}  // namespace stratalog
