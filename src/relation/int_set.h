// SPDX-License-Identifier: Apache-2.0
// IntSet: the last level of every index: a set of cells, kept in the smallest of three forms: up to
// three cells inside the object, an ascending array, or a bitmap over the range it spans. A bitmap
// is used from one element in 32 on, so a set never takes more than four bytes an element (plus
// growth slack), and dense sets take a bit. The object itself takes 16 bytes, as most relations
// have many sets of few cells. CRoaring was considered: its 64 Ki containers and per-set headers
// cost more than they save for the many small sets of a relation, and joins want plain spans to
// walk. Local; not thread-safe; move-only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

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

  bool empty() const { return tag_ == 0; }
  std::uint64_t size() const { return form() == Form::kBitmap ? bitmap()[0] : cell_count(); }
  Form form() const { return static_cast<Form>(tag_ % kForms); }

  bool contains(Cell cell) const {
    switch (form()) {
      case Form::kInline: {
        const std::uint32_t count = number();
        return (count > 0 && words_[0] == cell) || (count > 1 && words_[1] == cell) ||
               (count > 2 && words_[2] == cell);
      }
      case Form::kArray:
        return contains_sorted(array(), cell);
      case Form::kBitmap: {
        const std::uint32_t word = cell / 64;
        if (word < number() || word - number() >= extent()) return false;
        return ((bitmap()[1 + word - number()] >> (cell % 64)) & 1U) != 0;
      }
    }
    return false;
  }

  // The elements, ascending. Requires another form than a bitmap.
  std::span<const Cell> array() const {
    return {form() == Form::kInline ? words_ : held_array(), cell_count()};
  }

  // A view of the elements; valid until the set changes.
  SetView view() const {
    if (form() == Form::kBitmap)
      return {.kind = SetKind::kBitmap,
              .base = number() * 64,
              .values = {},
              .offsets = {},
              .words = {bitmap() + 1, extent()},
              .count = bitmap()[0]};
    return {.kind = SetKind::kArray,
            .base = 0,
            .values = array(),
            .offsets = {},
            .words = {},
            .count = cell_count()};
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
  // Adds cells that are ascending, distinct and not yet present (the caller has subtracted this
  // set).
  void add_new_sorted(std::span<const Cell> cells);
  // Adds whatever `other` holds; elements may be present already.
  void unite(const IntSet& other);
  void clear() {
    release();
    reset();
  }

  // Heap bytes behind this object.
  std::uint64_t heap_bytes() const {
    switch (form()) {
      case Form::kInline:
        return 0;
      case Form::kArray:
        return std::uint64_t{number()} * sizeof(Cell);
      case Form::kBitmap:
        return (std::uint64_t{extent()} + 1) * sizeof(std::uint64_t);
    }
    return 0;
  }

 private:
  static constexpr std::uint32_t kInlineCells = 3;
  static constexpr std::uint32_t kForms = 4;  // that a tag can tell

  void take(IntSet& other) noexcept;
  // Of cells inside the object, how many there are; of an array, for how many it has room (fewer
  // than 2^28, as more are always worth a bitmap); of a bitmap, the number of its first word among
  // those of all cells.
  std::uint32_t number() const { return tag_ / kForms; }
  void set_tag(Form form, std::uint32_t number) {
    tag_ = (number * kForms) + static_cast<std::uint32_t>(form);
  }
  // On the heap: cells of an array, words of a bitmap.
  std::uint32_t extent() const { return words_[2]; }
  // Requires another form than a bitmap.
  std::uint32_t cell_count() const { return form() == Form::kInline ? number() : extent(); }

  // What lies on the heap: the cells of an array; of a bitmap the number of elements, then its
  // words.
  // Copied as one pointer: of one that is cut into two numbers GCC 12 loses track, and with -O1 it
  // leaves out what is written to that memory.
  void* held() const {
    void* memory = nullptr;
    std::memcpy(static_cast<void*>(&memory), words_, sizeof(memory));
    return memory;
  }
  Cell* held_array() const { return static_cast<Cell*>(held()); }
  std::uint64_t* bitmap() const { return static_cast<std::uint64_t*>(held()); }
  void hold(void* memory, std::uint32_t extent);

  void reset() {
    words_[0] = words_[1] = words_[2] = 0;
    tag_ = 0;
  }
  void release();
  void reserve_array(std::uint32_t capacity);
  void become_bitmap(Cell lowest, Cell highest);
  void widen_bitmap(Cell lowest, Cell highest);
  void set_bits(std::span<const Cell> cells);

  // Cells, or the address of what is held in the first two and its extent in the third.
  alignas(sizeof(void*)) Cell words_[kInlineCells] = {0, 0, 0};
  std::uint32_t tag_ = 0;
};

static_assert(sizeof(void*) == 2 * sizeof(Cell));
static_assert(sizeof(IntSet) == 16);

}  // namespace stratalog
