// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/number_ranges.h"

#include <algorithm>
#include <bit>

namespace stratalog::datalog {
namespace {

// Of the word whose first bit is `base`: the bits in the range, which it meets.
std::uint64_t bits_within(std::uint64_t base, const CellRange& range) {
  std::uint64_t bits = ~std::uint64_t{0};
  if (range.lowest > base) bits &= ~std::uint64_t{0} << (range.lowest - base);
  if (range.highest < base + 63) bits &= ~std::uint64_t{0} >> (base + 63 - range.highest);
  return bits;
}

}  // namespace

void NumberInterval::keep(Comparison comparison, Cell other) {
  const Cell place = place_of_number(other, shift_);
  const bool is_strict = comparison == Comparison::kLess || comparison == Comparison::kGreater;
  if (comparison == Comparison::kLess || comparison == Comparison::kLessEqual) {
    if (is_strict && place == 0) first_ = kWideBase;  // nothing is less
    last_ = std::min(last_, is_strict && place > 0 ? place - 1 : place);
  } else {
    first_ = std::max(first_, is_strict ? place + 1 : place);
  }
}

std::vector<CellRange> NumberInterval::cells() const {
  if (first_ > last_) return {};
  std::vector<CellRange> ranges;
  if (last_ >= shift_)
    ranges.push_back({.lowest = std::max(first_, shift_) - shift_, .highest = last_ - shift_});
  if (first_ < shift_)
    ranges.push_back(
        {.lowest = kNegativeBase + first_, .highest = kNegativeBase + std::min(last_, shift_ - 1)});
  return ranges;
}

SetView part_around(const SetView& set, const CellRange& range) {
  SetView part = set;
  if (set.kind == SetKind::kArray) {
    const auto first = std::lower_bound(set.values.begin(), set.values.end(), range.lowest);
    part.values = {first, std::upper_bound(first, set.values.end(), range.highest)};
    return part;
  }
  // Words from the set's base on, which is a multiple of 64.
  const auto words_below = [&](std::uint64_t cell) {
    return cell < set.base ? 0 : std::min<std::uint64_t>((cell - set.base) / 64, set.words.size());
  };
  const std::uint64_t first = words_below(range.lowest);
  const std::uint64_t end = words_below(std::uint64_t{range.highest} + 64);
  part.words = set.words.subspan(first, std::max(first, end) - first);
  part.base = static_cast<Cell>(set.base + (first * 64));
  return part;
}

std::optional<Cell> first_within(const SetView& set, const CellRange& range) {
  const SetView part = part_around(set, range);
  if (part.kind == SetKind::kArray)
    return part.values.empty() ? std::nullopt : std::optional(part.values.front());
  for (std::size_t w = 0; w < part.words.size(); ++w)
    if (const std::uint64_t base = part.base + (w * 64);
        const std::uint64_t bits = part.words[w] & bits_within(base, range))
      return static_cast<Cell>(base + static_cast<std::uint64_t>(std::countr_zero(bits)));
  return std::nullopt;
}

std::optional<Cell> last_within(const SetView& set, const CellRange& range) {
  const SetView part = part_around(set, range);
  if (part.kind == SetKind::kArray)
    return part.values.empty() ? std::nullopt : std::optional(part.values.back());
  for (std::size_t w = part.words.size(); w-- > 0;)
    if (const std::uint64_t base = part.base + (w * 64);
        const std::uint64_t bits = part.words[w] & bits_within(base, range))
      return static_cast<Cell>(base + 63 - static_cast<std::uint64_t>(std::countl_zero(bits)));
  return std::nullopt;
}

std::vector<CellRange> ranges_without(Cell cell) {
  std::vector<CellRange> ranges;
  if (cell > 0) ranges.push_back({.lowest = 0, .highest = cell - 1});
  if (cell < ~Cell{0}) ranges.push_back({.lowest = cell + 1, .highest = ~Cell{0}});
  return ranges;
}

void keep_within(const SetView& set, std::span<const CellRange> ranges, IntSet& kept) {
  if (set.kind == SetKind::kBitmap) {
    std::vector<std::uint64_t> words(set.words.size());
    for (const CellRange& range : ranges) {
      const SetView part = part_around(set, range);
      const std::size_t first = (part.base - set.base) / 64;
      for (std::size_t w = 0; w < part.words.size(); ++w)
        words[first + w] |= part.words[w] & bits_within(part.base + (w * 64), range);
    }
    kept.assign_words(set.base, words);
    return;
  }
  std::vector<Cell> cells;
  cells.reserve(set.values.size());
  for (const CellRange& range : ranges) {
    const std::span<const Cell> part = part_around(set, range).values;
    cells.insert(cells.end(), part.begin(), part.end());
  }
  kept.assign_sorted(cells);
}

}  // namespace stratalog::datalog
