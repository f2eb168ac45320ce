// SPDX-License-Identifier: Apache-2.0
// Where numbers may lie that comparisons bound, also such of sums, differences and quotients: the
// same as what computing and comparing each of them finds, at the ends of the numbers too.
#include "datalog/evaluate/place_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "model/cell.h"
#include "unit/evaluate/compared_values.h"

namespace stratalog::datalog {
namespace {

TEST(PlaceOfValue, AscendsWithTheNumbers) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array<double, 8> floats{-infinity, -1e300, -2.5, -1e-300, 0.0, 1e-300, 2.5, infinity};
  for (std::size_t i = 1; i < floats.size(); ++i)
    EXPECT_LT(place_of_value(ValueKind::kFloat, bits(floats[i - 1])),
              place_of_value(ValueKind::kFloat, bits(floats[i])));
  EXPECT_EQ(place_of_value(ValueKind::kFloat, bits(-0.0)),
            place_of_value(ValueKind::kFloat, bits(0.0)));
  EXPECT_FALSE(place_of_value(ValueKind::kFloat, bits(std::nan(""))));
  const auto place = [](std::int64_t number) {
    return place_of_value(ValueKind::kNumber, static_cast<std::uint64_t>(number));
  };
  EXPECT_LT(place(std::numeric_limits<std::int64_t>::min()), place(-1));
  EXPECT_LT(place(-1), place(0));
  EXPECT_LT(place(0), place(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(place_of_value(ValueKind::kUnsigned, ~std::uint64_t{0}), ~std::uint64_t{0});
  // Nothing is less than the least place or more than the greatest one.
  PlaceRanges below;
  below.keep(Comparison::kLess, 0);
  EXPECT_TRUE(below.ranges().empty());
  PlaceRanges above;
  above.keep(Comparison::kGreater, ~std::uint64_t{0});
  EXPECT_TRUE(above.ranges().empty());
  PlaceRanges of_nan;
  of_nan.keep(Comparison::kGreaterEqual, std::nullopt);
  EXPECT_TRUE(of_nan.ranges().empty());
}

bool lies_in(std::span<const PlaceRange> ranges, std::uint64_t place) {
  return std::ranges::any_of(
      ranges, [&](const PlaceRange& range) { return range.first <= place && place <= range.last; });
}

std::uint64_t after_step(ElementStep::Kind step, ValueKind kind, std::uint64_t element,
                         std::uint64_t by) {
  switch (step) {
    case ElementStep::Kind::kAdd:
      return element + by;
    case ElementStep::Kind::kSubtract:
      return element - by;
    case ElementStep::Kind::kSubtractFrom:
      return by - element;
    case ElementStep::Kind::kDivide:
      break;
  }
  if (kind == ValueKind::kUnsigned) return element / by;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(element) /
                                    static_cast<std::int64_t>(by));
}

// Near zero, near the ends of the numbers, near those of small ones, and anywhere.
std::uint64_t some_bits(std::mt19937_64& random) {
  const std::array<std::uint64_t, 6> near{
      0, std::uint64_t{1} << 63, kNegativeBase, ~std::uint64_t{0} - (1U << 24), 1000, random()};
  return near[random() % near.size()] + random() % 40 - 20;
}

class UndoneSteps : public testing::TestWithParam<ValueKind> {};

TEST_P(UndoneSteps, LetThroughWhatComparesSo) {
  const ValueKind kind = GetParam();
  const std::array<Comparison, 5> comparisons{Comparison::kLess, Comparison::kLessEqual,
                                              Comparison::kGreater, Comparison::kGreaterEqual,
                                              Comparison::kEqual};
  std::mt19937_64 random(3);
  std::uint64_t passed = 0;
  for (int round = 0; round < 20000; ++round) {
    std::array<ElementStep::Kind, 2> steps{};
    std::array<std::uint64_t, 2> by{};
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i] = static_cast<ElementStep::Kind>(random() % 4);
      by[i] = some_bits(random);
      if (steps[i] != ElementStep::Kind::kDivide) continue;
      if (kind == ValueKind::kNumber) by[i] &= ~(std::uint64_t{1} << 63);
      if (random() % 2 == 0) by[i] %= 60;
      by[i] = std::max<std::uint64_t>(by[i], 1);
    }
    const Comparison comparison = comparisons[random() % comparisons.size()];
    const std::uint64_t other = *place_of_value(kind, some_bits(random));
    std::vector<PlaceRange> ranges;
    if (const auto range = places_where(comparison, other)) ranges.push_back(*range);
    for (std::size_t i = steps.size(); i-- > 0;) ranges = undo_step(steps[i], kind, by[i], ranges);
    EXPECT_TRUE(std::ranges::is_sorted(ranges));
    PlaceRanges places;
    places.keep(ranges);
    std::vector<CellRange> cells;
    places.append_cells(kind, cells);
    for (int i = 0; i < 30; ++i) {
      std::uint64_t element = some_bits(random);
      if (i % 3 == 0 && !ranges.empty()) {  // at an end of what passes
        const PlaceRange& range = ranges[random() % ranges.size()];
        element = (i % 2 == 0 ? range.first : range.last) + random() % 3 - 1;
        if (kind == ValueKind::kNumber) element ^= std::uint64_t{1} << 63;
      }
      std::uint64_t made = element;
      for (std::size_t s = 0; s < steps.size(); ++s) made = after_step(steps[s], kind, made, by[s]);
      const bool passes = compares(comparison, *place_of_value(kind, made), other);
      passed += passes ? 1 : 0;
      ASSERT_EQ(lies_in(places.ranges(), *place_of_value(kind, element)), passes) << element;
      if (!is_narrow(element)) continue;
      const Cell cell = narrow_cell(element);
      ASSERT_EQ(
          std::ranges::any_of(
              cells, [&](const CellRange& r) { return r.lowest <= cell && cell <= r.highest; }),
          passes)
          << cell;
    }
  }
  EXPECT_GT(passed, 10000U);
}

INSTANTIATE_TEST_SUITE_P(OfWholeNumbers, UndoneSteps,
                         testing::Values(ValueKind::kNumber, ValueKind::kUnsigned));

}  // namespace
}  // namespace stratalog::datalog
