// SPDX-License-Identifier: Apache-2.0
// SetAccumulator: the scratch bitmap in which many sets and single cells are united and from which
// what is new against an existing set is taken out, ascending. It is the "sparse accumulator" of
// sparse matrix products, over bits. One per rank; the address space is reserved, only touched
// pages cost memory. Local; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/cell.h"
#include "relation/int_set.h"

namespace stratalog {

class SetAccumulator {
 public:
  SetAccumulator();
  ~SetAccumulator();
  SetAccumulator(const SetAccumulator&) = delete;
  SetAccumulator& operator=(const SetAccumulator&) = delete;

  void add(Cell cell) {
    touch(cell >> kChunkBits, std::uint64_t{1} << (cell / 64 % 64));
    words_[cell / 64] |= std::uint64_t{1} << (cell % 64);
  }
  void add(const SetView& set);
  void add(const IntSet& set) {
    if (set.form() == IntSet::Form::kBitmap)
      add(set.view());
    else
      add_array(set.array());
  }

  // The same, of sets of which some come again: one of the last that came since the accumulator was
  // empty is passed over. None of them may change before it is emptied.
  void add_once(const IntSet& set) {
    if (set.size() < kWorthKnowing) return add(set);
    if (added_.empty()) added_.resize(std::size_t{1} << kAddedBits);
    Added& known = added_[place_of(&set)];
    if (known.set == &set && known.filling == filling_) return;
    known = {.set = &set, .filling = filling_};
    add(set);
  }

  // Appends to `out` every accumulated cell that `present` does not hold, ascending, and empties
  // the accumulator.
  void take_new(const IntSet& present, std::vector<Cell>& out);
  // Replaces `all` by what was accumulated, and empties the accumulator.
  void take_all(IntSet& all);

 private:
  static constexpr unsigned kChunkBits = 12;  // 4096 cells, 64 words, 512 bytes

  // Smaller sets are added as quickly as they are looked up.
  static constexpr std::uint64_t kWorthKnowing = 8;
  static constexpr unsigned kAddedBits = 9;
  struct Added {
    const IntSet* set = nullptr;
    std::uint64_t filling = 0;
  };

  static std::size_t place_of(const IntSet* set) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
    return (reinterpret_cast<std::uintptr_t>(set) * kOdd) >> (64 - kAddedBits);
  }

  // `words` of the chunk are about to be written.
  void touch(std::uint32_t chunk, std::uint64_t words) {
    if (touched_words_[chunk] == 0) touched_.push_back(chunk);
    touched_words_[chunk] |= words;
  }
  void add_array(std::span<const Cell> cells);
  void subtract_array(std::span<const Cell> present);

  std::uint64_t* words_ = nullptr;  // 2^32 bits of reserved address space
  // For each chunk, which of its words may hold bits: reserved as well. Untouched words are neither
  // read nor written, as most are where sets are thin.
  std::uint64_t* touched_words_ = nullptr;
  std::vector<std::uint32_t> touched_;
  std::vector<Added> added_;  // the last ones, each at its place; none before there are many
  std::uint64_t filling_ = 1;  // how often it was emptied, and once more
};

}  // namespace stratalog
