// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/place_ranges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "datalog/evaluate/value_bits.h"
#include "model/cell.h"

namespace stratalog::datalog {
namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
constexpr std::uint64_t kMostPlace = ~std::uint64_t{0};
__extension__ using Wide = __int128;

// Disjoint and ascending; neighbours become one.
std::vector<PlaceRange> joined_ranges(std::vector<PlaceRange> ranges) {
  std::ranges::sort(ranges);
  std::vector<PlaceRange> merged;
  for (const PlaceRange& range : ranges) {
    const bool joins = !merged.empty() &&
                       (merged.back().last == kMostPlace || range.first <= merged.back().last + 1);
    if (joins)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  }
  return merged;
}

// From `first` to `last`, around the end if that is below `first`. Right below it, these are all
// places, in two parts.
void append_around(std::uint64_t first, std::uint64_t last, std::vector<PlaceRange>& ranges) {
  if (first <= last) {
    ranges.push_back({.first = first, .last = last});
    return;
  }
  ranges.push_back({.first = 0, .last = last});
  ranges.push_back({.first = first, .last = kMostPlace});
}

// Of the numbers from `lowest` to `highest` the n with n / by in the range; quotients are rounded
// towards zero.
std::optional<PlaceRange> undo_division(const PlaceRange& range, Wide by, std::uint64_t zero,
                                        Wide lowest, Wide highest) {
  const Wide first = static_cast<Wide>(range.first) - zero;
  const Wide last = static_cast<Wide>(range.last) - zero;
  const Wide most = highest / by;
  if (first > most) return std::nullopt;
  const Wide from = std::max(first > 0 ? first * by : (first * by) - (by - 1), lowest);
  const Wide end = last < 0 ? last * by : (std::min(last, most) * by) + (by - 1);
  const Wide to = std::min(end, highest);
  if (from > to) return std::nullopt;
  return PlaceRange{.first = static_cast<std::uint64_t>(from + zero),
                    .last = static_cast<std::uint64_t>(to + zero)};
}

}  // namespace

std::optional<PlaceRange> places_where(Comparison comparison, std::uint64_t other) {
  switch (comparison) {
    case Comparison::kLess:
      if (other == 0) return std::nullopt;
      return PlaceRange{.first = 0, .last = other - 1};
    case Comparison::kLessEqual:
      return PlaceRange{.first = 0, .last = other};
    case Comparison::kGreater:
      if (other == kMostPlace) return std::nullopt;
      return PlaceRange{.first = other + 1, .last = kMostPlace};
    case Comparison::kGreaterEqual:
      return PlaceRange{.first = other, .last = kMostPlace};
    default:
      return PlaceRange{.first = other, .last = other};
  }
}

std::vector<PlaceRange> undo_step(ElementStep::Kind step, ValueKind kind, std::uint64_t by,
                                  std::span<const PlaceRange> ranges) {
  std::vector<PlaceRange> before;
  for (const PlaceRange& range : ranges) {
    switch (step) {
      case ElementStep::Kind::kAdd:
        append_around(range.first - by, range.last - by, before);
        break;
      case ElementStep::Kind::kSubtract:
        append_around(range.first + by, range.last + by, before);
        break;
      // Places of signed numbers are moved by half of all, twice here.
      case ElementStep::Kind::kSubtractFrom:
        append_around(by - range.last, by - range.first, before);
        break;
      case ElementStep::Kind::kDivide: {
        const bool is_signed = kind == ValueKind::kNumber;
        const std::uint64_t zero = is_signed ? kSign : 0;
        const Wide lowest = is_signed ? -static_cast<Wide>(kSign) : 0;
        const Wide highest =
            is_signed ? static_cast<Wide>(kSign) - 1 : static_cast<Wide>(kMostPlace);
        if (const auto found = undo_division(range, by, zero, lowest, highest))
          before.push_back(*found);
        break;
      }
    }
  }
  return joined_ranges(std::move(before));
}

void PlaceRanges::reset() { ranges_.assign(1, {.first = 0, .last = kMostPlace}); }

void PlaceRanges::keep(Comparison comparison, std::optional<std::uint64_t> other) {
  const auto range = other ? places_where(comparison, *other) : std::nullopt;
  keep(range ? std::span(&*range, 1) : std::span<const PlaceRange>());
}

void PlaceRanges::keep(std::span<const PlaceRange> ranges) {
  kept_.clear();
  for (const PlaceRange& mine : ranges_)
    for (const PlaceRange& other : ranges) {
      const PlaceRange both{.first = std::max(mine.first, other.first),
                            .last = std::min(mine.last, other.last)};
      if (both.first <= both.last) kept_.push_back(both);
    }
  std::swap(ranges_, kept_);
}

void PlaceRanges::append_cells(ValueKind kind, std::vector<CellRange>& cells) const {
  struct Window {
    std::uint64_t place;  // of the first cell
    Cell first;
    Cell last;
  };
  // Small numbers from 0 on, and those below or, of unsigned ones, the largest.
  const std::uint64_t zero = kind == ValueKind::kUnsigned ? 0 : kSign;
  const std::array<Window, 2> windows{{{.place = zero, .first = 0, .last = kNegativeBase - 1},
                                       {.place = zero - (kWideBase - kNegativeBase),
                                        .first = kNegativeBase,
                                        .last = kWideBase - 1}}};
  for (const Window& window : windows) {
    const std::uint64_t end = window.place + (window.last - window.first);
    for (const PlaceRange& range : ranges_) {
      const std::uint64_t first = std::max(range.first, window.place);
      const std::uint64_t last = std::min(range.last, end);
      if (first > last) continue;
      cells.push_back({.lowest = static_cast<Cell>(window.first + (first - window.place)),
                       .highest = static_cast<Cell>(window.first + (last - window.place))});
    }
  }
}

}  // namespace stratalog::datalog
