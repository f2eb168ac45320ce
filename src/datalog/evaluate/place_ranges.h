// SPDX-License-Identifier: Apache-2.0
// PlaceRanges: where numbers may lie that comparisons bound, as ranges of places, which are 64 bits
// in the order of the numbers. Comparisons of sums, differences and quotients are undone: whole
// numbers wrap around, so that a bound of `x + y` may let two ranges of `x` through. Pure; local.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/value_bits.h"
#include "datalog/plan/set_comparison.h"
#include "model/tuple_filter.h"

namespace stratalog::datalog {

// 64 bits that are in the order of the numbers which `bits` mean; nothing for NaN.
inline std::optional<std::uint64_t> place_of_value(ValueKind kind, std::uint64_t bits) {
  constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63U;
  if (kind == ValueKind::kUnsigned) return bits;
  if (kind != ValueKind::kFloat) return bits ^ kTopBit;
  const double value = as_float(bits);
  if (std::isnan(value)) return {};
  if (value == 0) return kTopBit;  // -0 as well
  return (bits & kTopBit) != 0 ? ~bits : bits | kTopBit;
}

struct PlaceRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // included
  auto operator<=>(const PlaceRange&) const = default;
};

// The places x with x `comparison` other. Requires an order or equality.
std::optional<PlaceRange> places_where(Comparison comparison, std::uint64_t other);

// Those of the elements that a step takes into `ranges`, which ascend and are disjoint, as what is
// returned does. `by` are the bits of a whole number of the kind; not 0 nor negative for kDivide.
std::vector<PlaceRange> undo_step(ElementStep::Kind step, ValueKind kind, std::uint64_t by,
                                  std::span<const PlaceRange> ranges);

class PlaceRanges {
 public:
  // All places.
  void reset();
  // Of these the x with x `comparison` other; nothing: of NaN, which no number is compared with.
  void keep(Comparison comparison, std::optional<std::uint64_t> other);
  // Of these what lies in `ranges` as well.
  void keep(std::span<const PlaceRange> ranges);
  std::span<const PlaceRange> ranges() const { return ranges_; }
  // Of the kind's small numbers: as ranges of cells, ascending and disjoint.
  void append_cells(ValueKind kind, std::vector<CellRange>& cells) const;

 private:
  std::vector<PlaceRange> ranges_{{.first = 0, .last = ~std::uint64_t{0}}};
  std::vector<PlaceRange> kept_;  // scratch
};

}  // namespace stratalog::datalog
