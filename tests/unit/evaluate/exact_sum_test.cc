// SPDX-License-Identifier: Apache-2.0
// ExactSum rounds the exact sum once, whatever the order of the terms and however they are split
// up. What is expected comes from a plain implementation (exact_sum_of.h) and, for some, from
// Python's math.fsum.
#include "datalog/evaluate/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "property/exact_sum_of.h"

namespace stratalog::datalog {
namespace {

using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLeastDouble = std::numeric_limits<double>::denorm_min();
constexpr double kGreatestDouble = std::numeric_limits<double>::max();

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

double sum_of(const Doubles& terms) {
  ExactSum sum;
  sum.add(terms);
  return sum.rounded();
}

// One by one, of parts, some of which went through other parts before.
double sum_of_parts(const Doubles& terms, std::mt19937_64& random) {
  std::vector<ExactSum> parts(1 + random() % 5);
  for (const double term : terms) parts[random() % parts.size()].add(term);
  std::vector<ExactSum::Piece> pieces;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (random() % 3 == 0)
      parts[i].for_each_piece([&](const ExactSum::Piece& piece) { parts[0].add_piece(piece); });
    else
      parts[i].for_each_piece([&](const ExactSum::Piece& piece) { pieces.push_back(piece); });
  }
  parts[0].for_each_piece([&](const ExactSum::Piece& piece) { pieces.push_back(piece); });
  std::ranges::shuffle(pieces, random);
  ExactSum whole;
  for (const ExactSum::Piece& piece : pieces) whole.add_piece(piece);
  return whole.rounded();
}

void expect_sum(Doubles terms, double expected) {
  std::mt19937_64 random(terms.size());
  ASSERT_EQ(bits_of(oracle::exact_sum_of(terms)), bits_of(expected));
  for (int order = 0; order < 20; ++order) {
    EXPECT_EQ(bits_of(sum_of(terms)), bits_of(expected)) << sum_of(terms) << " for " << expected;
    const double of_parts = sum_of_parts(terms, random);
    EXPECT_EQ(bits_of(of_parts), bits_of(expected)) << of_parts << " for " << expected;
    std::ranges::shuffle(terms, random);
  }
}

TEST(ExactSum, OfNothingAndOfZerosIsZero) {
  expect_sum({}, 0.0);
  expect_sum({-0.0}, 0.0);
  expect_sum({-0.0, -0.0, 0.0}, 0.0);
  expect_sum({1.5, -1.5, -0.0}, 0.0);
  expect_sum({1e300, 1e-300, -1e300, -1e-300}, 0.0);
}

TEST(ExactSum, SumsThatLoseWhatIsSmallIfEachIsRounded) {
  expect_sum({1e16, 1, -1e16}, 1);
  expect_sum({1, 1e100, 1, -1e100}, 2);
  expect_sum({1e308, 1, -1e308, kLeastDouble}, 1);
  expect_sum({1e100, 1e50, 1, 1e-50, 1e-100, -1e100, -1e50, -1}, 0x1.dee7a4ad4b81fp-167);
  Doubles tenths;
  for (int i = 1; i <= 20; ++i) tenths.push_back(i / 10.0);
  expect_sum(tenths, 21);
  expect_sum(Doubles(10, 0.1), 1);
}

TEST(ExactSum, ManyTenths) {
  ExactSum sum;
  for (int i = 0; i < 1'000'000; ++i) sum.add(0.1);
  EXPECT_EQ(sum.rounded(), 100000.00000000000);
  for (int i = 0; i < 999'999; ++i) sum.add(-0.1);
  EXPECT_EQ(sum.rounded(), 0.1);
}

TEST(ExactSum, TiesGoToTheEvenOne) {
  expect_sum({0x1p53, 1}, 0x1p53);
  expect_sum({0x1p53, 2, 1}, 0x1p53 + 4);
  expect_sum({0x1p53, 1, kLeastDouble}, 0x1p53 + 2);
  expect_sum({0x1p53, 1, -kLeastDouble}, 0x1p53);
  expect_sum({0x1p53, 2, 1, -kLeastDouble}, 0x1p53 + 2);
  expect_sum({-0x1p53, -1}, -0x1p53);
  expect_sum({-0x1p53, -2, -1}, -0x1p53 - 4);
  expect_sum({-0x1p53, -1, -kLeastDouble}, -0x1p53 - 2);
  expect_sum({1, 0x1p-53, 0x1p-106}, 1 + 0x1p-52);
  expect_sum({1, 0x1p-53, -0x1p-106}, 1);
  expect_sum({1, 0x1p-53}, 1);
  // All 53 bits are one, and a half more.
  expect_sum({0x1p54, -2, 1, kLeastDouble}, 0x1p54);
}

TEST(ExactSum, NextToTheLeastAndTheGreatestDouble) {
  expect_sum({kLeastDouble}, kLeastDouble);
  expect_sum({kLeastDouble, kLeastDouble, -1, 1}, 2 * kLeastDouble);
  expect_sum({0x1p-1022, -kLeastDouble}, 0x1p-1022 - kLeastDouble);
  expect_sum({0x1p-1022, kLeastDouble, 1e300, -1e300}, 0x1p-1022 + kLeastDouble);
  expect_sum({-0x1p-1022, kLeastDouble, 1e300, 1e10, -1e300, -1e10}, -0x1p-1022 + kLeastDouble);
  expect_sum({1e308, 1e308, -1e308}, 1e308);
  expect_sum({kGreatestDouble, kGreatestDouble, -kGreatestDouble}, kGreatestDouble);
  expect_sum({kGreatestDouble, 0x1p969}, kGreatestDouble);
  expect_sum({kGreatestDouble, 0x1p970}, kInfinity);
  expect_sum({kGreatestDouble, 0x1p970, -kLeastDouble}, kGreatestDouble);
  expect_sum({-kGreatestDouble, -0x1p970}, -kInfinity);
  expect_sum({1e308, 1e308}, kInfinity);
  Doubles greatest(2000, kGreatestDouble);
  greatest.resize(4001, -kGreatestDouble);
  expect_sum(greatest, -kGreatestDouble);
}

TEST(ExactSum, InfinitiesAndNan) {
  expect_sum({kInfinity, 1, -1e308}, kInfinity);
  expect_sum({-kInfinity, 1e308, 1e308}, -kInfinity);
  expect_sum({kInfinity, kInfinity}, kInfinity);
  expect_sum({kInfinity, -kInfinity, 3}, kNan);
  expect_sum({kNan, 3}, kNan);
  expect_sum({-kNan, 3, 1e308, 1e308}, kNan);
  expect_sum({kNan, kInfinity, 1e300, 1, 1e-300}, kNan);
  expect_sum({std::bit_cast<double>(0xFFF123456789ABCD), 1}, kNan);
}

// Limbs hold what many parts add to them.
TEST(ExactSum, PiecesAsTheyComeMayBeMany) {
  ExactSum part;
  for (const double term : {1e300, 1.0, 1e-300}) part.add(term);
  std::vector<ExactSum::Piece> pieces;
  part.for_each_piece([&](const ExactSum::Piece& piece) { pieces.push_back(piece); });
  ExactSum whole;
  constexpr int kTimes = 100'000;
  for (int i = 0; i < kTimes; ++i)
    for (const ExactSum::Piece& piece : pieces) whole.add_piece(piece);
  EXPECT_EQ(whole.rounded(), oracle::exact_sum_of(Doubles(kTimes, 1e300)));
  for (int i = 0; i < kTimes; ++i) whole.add(-1e300);
  EXPECT_EQ(whole.rounded(), kTimes);
}

// Small sums below zero are no long rows of ones.
TEST(ExactSum, PiecesAreFew) {
  for (const double sign : {-1.0, 1.0}) {
    ExactSum sum;
    for (const double term : {1e300, 1.0, 1e-300, -1e300, -1.0}) sum.add(sign * term);
    int pieces = 0;
    sum.for_each_piece([&](const ExactSum::Piece&) { ++pieces; });
    EXPECT_GE(pieces, 1);
    EXPECT_LE(pieces, 6);
    EXPECT_EQ(sum.rounded(), sign * 1e-300);
  }
}

// Of all sizes, of sizes close to each other, and of sums that nearly cancel.
TEST(ExactSum, RandomTerms) {
  std::mt19937_64 random(7);
  const auto any_below = [&](std::uint64_t exponents, std::uint64_t from) {
    const std::uint64_t exponent = from + (random() % exponents);
    return std::bit_cast<double>((random() & 0x800FFFFFFFFFFFFF) | (exponent << 52U));
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const std::uint64_t exponents = trial % 3 == 0 ? 2047 : trial % 3 == 1 ? 100 : 3;
    const std::uint64_t from = random() % (2048 - exponents);
    Doubles terms;
    for (std::uint64_t count = random() % 40; count > 0; --count) {
      terms.push_back(any_below(exponents, from));
      if (random() % 2 == 0) terms.push_back(-terms[random() % terms.size()]);
      if (random() % 4 == 0)
        terms.push_back(std::ldexp(1.0, static_cast<int>(random() % 2098) - 1074));
    }
    std::ranges::shuffle(terms, random);
    const double expected = oracle::exact_sum_of(terms);
    ASSERT_EQ(bits_of(sum_of(terms)), bits_of(expected)) << trial;
    ASSERT_EQ(bits_of(sum_of_parts(terms, random)), bits_of(expected)) << trial;
  }
}

}  // namespace
}  // namespace stratalog::datalog
