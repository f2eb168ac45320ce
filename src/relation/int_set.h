// SPDX-License-Identifier: Apache-2.0
// IntSet: the last level of every index: a set of cells, kept in the smallest of three forms: up to
// two cells inside the object, an ascending array, or a bitmap over the range it spans. A bitmap is
// used from one element in 32 on, so a set never takes more than four bytes an element (plus growth
// slack), and dense sets take a bit. CRoaring was considered: its 64 Ki containers and per-set
// headers cost more than they save for the many small sets of a relation, and joins want plain
// spans to walk. Local; not thread-safe; move-only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
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

  bool empty() const { return count_ == 0; }
  std::uint64_t size() const { return count_; }
  Form form() const { return form_; }

  bool contains(Cell cell) const {
    switch (form_) {
      case Form::kInline:
        return (count_ > 0 && inline_[0] == cell) || (count_ > 1 && inline_[1] == cell);
      case Form::kArray:
        return contains_sorted({array_, count_}, cell);
      case Form::kBitmap: {
        const std::uint32_t word = cell / 64;
        if (word < base_word_ || word - base_word_ >= capacity_) return false;
        return ((words_[word - base_word_] >> (cell % 64)) & 1U) != 0;
      }
    }
    return false;
  }

  // The elements, ascending. Requires another form than a bitmap.
  std::span<const Cell> array() const {
    return {form_ == Form::kInline ? inline_ : array_, count_};
  }

  // A view of the elements; valid until the set changes.
  SetView view() const {
    if (form_ == Form::kBitmap)
      return {.kind = SetKind::kBitmap,
              .base = base_word_ * 64,
              .values = {},
              .offsets = {},
              .words = {words_, capacity_},
              .count = count_};
    return {.kind = SetKind::kArray,
            .base = 0,
            .values = {form_ == Form::kInline ? inline_ : array_, count_},
            .offsets = {},
            .words = {},
            .count = count_};
  }

  template <typename Visit>
  void walk(Visit&& visit) const {
    walk_set(view(), visit);
  }

  // Replaces the content by `cells`, which are ascending and distinct.
  void assign_sorted(std::span<const Cell> cells);
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
    switch (form_) {
      case Form::kInline:
        return 0;
      case Form::kArray:
        return std::uint64_t{capacity_} * sizeof(Cell);
      case Form::kBitmap:
        return std::uint64_t{capacity_} * sizeof(std::uint64_t);
    }
    return 0;
  }

 private:
  void take(IntSet& other) noexcept;
  void reset() {
    form_ = Form::kInline;
    count_ = 0;
    capacity_ = 0;
    base_word_ = 0;
    inline_[0] = inline_[1] = 0;
  }
  void release();
  void reserve_array(std::uint32_t capacity);
  void become_bitmap(Cell lowest, Cell highest);
  void widen_bitmap(Cell lowest, Cell highest);
  void set_bits(std::span<const Cell> cells);

  union {
    Cell inline_[2] = {0, 0};
    Cell* array_;
    std::uint64_t* words_;
  };
  std::uint32_t count_ = 0;
  std::uint32_t capacity_ = 0;  // cells of the array or words of the bitmap
  std::uint32_t base_word_ = 0;
  Form form_ = Form::kInline;
};

static_assert(sizeof(IntSet) == 24);

}  // namespace stratalog
