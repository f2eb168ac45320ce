// SPDX-License-Identifier: Apache-2.0
// A stream of 32-bit numbers as bit-packed units of 256, each with the width that makes it
// smallest, larger numbers being patched in as exceptions (PFOR: Zukowski, Heman, Nes, Boncz,
// "Super-scalar RAM-CPU cache compression", ICDE 2006). A unit of zeros is one byte; a unit of
// random numbers grows by one byte in 1024. Layout: docs/formats/checkpoint.md. Pure; local.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "encode/bit_packing.h"

namespace stratalog {

// Whether a unit is stored as (zigzag) differences between neighbours: never, where that is
// smaller, or always, which takes half as long to write.
enum class UnitForm : std::uint8_t { kPlain, kPlainOrDifferences, kDifferences };

class StreamPacker {
 public:
  explicit StreamPacker(UnitForm form) : form_(form) {}

  void put(std::uint32_t value) {
    unit_[used_++] = value;
    any_ |= value;
    if (used_ == kPackedValues) pack_unit();
  }
  void put_all(std::span<const std::uint32_t> values);
  void put_zeros(std::uint64_t count);
  // `values` differences: each element minus the one before, minus one; `before` is in front of the
  // first.
  template <typename T>
  void put_gaps(std::span<const T> elements, T before);

  std::uint64_t values() const { return values_ + used_; }
  // Bytes that units packed so far take; the last, open unit adds up to 1 KiB.
  std::size_t packed_bytes() const {
    return heads_.size() + exceptions_.size() + positions_.size() + high8_.size() +
           (high16_.size() * 2) + ((words_.size() + high32_.size()) * 4);
  }
  // Closes the last unit. Afterwards finished_bytes() is final until clear().
  void finish();
  std::size_t finished_bytes() const;
  // Requires finish(); writes finished_bytes(), a multiple of 4, and returns the end.
  std::byte* copy_to(std::byte* to) const;
  void clear();

 private:
  struct Choice {
    unsigned width = 0;
    std::uint32_t exceptions = 0;
    std::size_t bytes = 0;
  };
  static Choice choose(std::span<const std::uint32_t, kPackedValues> unit, std::uint32_t any);
  void pack_unit();
  void put_exceptions(std::span<const std::uint32_t, kPackedValues> unit, std::uint32_t any,
                      const Choice& choice);

  UnitForm form_;
  alignas(32) std::array<std::uint32_t, kPackedValues> unit_{};  // zero from used_ on
  std::size_t used_ = 0;
  std::uint32_t any_ = 0;  // or of the unit
  std::uint64_t values_ = 0;  // in packed units
  std::vector<std::uint8_t> heads_;
  std::vector<std::uint8_t> exceptions_;
  std::vector<std::uint8_t> positions_;
  std::vector<std::uint8_t> high8_;
  std::vector<std::uint16_t> high16_;
  std::vector<std::uint32_t> high32_;
  std::vector<std::uint32_t> words_;
};

// Reads what a StreamPacker wrote. Trusts nothing; keeps one unit.
class StreamUnpacker {
 public:
  // `bytes` is the stream, no byte more, and holds `values` numbers. False if that cannot be.
  [[nodiscard]] bool open(std::span<const std::byte> bytes, std::uint64_t values);

  std::uint64_t remaining() const { return remaining_; }
  // The next number; requires remaining() > 0.
  std::uint32_t next() {
    if (at_ == kPackedValues) unpack_unit();
    --remaining_;
    return unit_[at_++];
  }
  // The next numbers of the unit at hand, at most `most` > 0 and at least one; requires
  // remaining() > 0.
  std::span<const std::uint32_t> take(std::uint64_t most);

 private:
  void unpack_unit();

  alignas(32) std::array<std::uint32_t, kPackedValues> unit_;
  std::size_t at_ = kPackedValues;
  std::uint64_t remaining_ = 0;
  const std::byte* heads_ = nullptr;
  const std::byte* exceptions_ = nullptr;
  const std::byte* positions_ = nullptr;
  const std::byte* high8_ = nullptr;
  const std::byte* high16_ = nullptr;
  const std::byte* high32_ = nullptr;
  const std::byte* words_ = nullptr;
};

template <typename T>
void StreamPacker::put_gaps(std::span<const T> elements, T before) {
  const T* at = elements.data();
  for (std::size_t left = elements.size(); left != 0;) {
    const std::size_t count = left < kPackedValues - used_ ? left : kPackedValues - used_;
    std::uint32_t* const to = unit_.data() + used_;
    to[0] = static_cast<T>(at[0] - before - 1);
    std::uint32_t any = to[0];
    for (std::size_t i = 1; i < count; ++i) {
      to[i] = static_cast<T>(at[i] - at[i - 1] - 1);
      any |= to[i];
    }
    any_ |= any;
    used_ += count;
    left -= count;
    before = at[count - 1];
    at += count;
    if (used_ == kPackedValues) pack_unit();
  }
}

}  // namespace stratalog
