// SPDX-License-Identifier: Apache-2.0
// ExactSum adds doubles without rounding, so that neither their order nor how they were split up
// shows. Two doubles hold most sums: what an addition to the first one rounds off is added to the
// second one (TwoSum of Dekker and Knuth). What is rounded off there, and numbers of a size that
// could overflow, go to an accumulator with a place for each bit of a double, after R. M. Neal,
// "Fast exact summation using small and large superaccumulators" (2015). Local.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

namespace stratalog::datalog {

class ExactSum {
 public:
  // A part of a sum on its way to another one.
  struct Piece {
    std::uint32_t place = 0;  // kDouble, or the limb above it
    std::uint64_t bits = 0;
  };

  // Any number of them; infinities and NaN as well.
  void add(std::span<const double> terms);
  void add(double term) { add(std::span(&term, 1)); }

  // The double next to the sum, of two equally near ones the even one. Never -0.0; of NaN, or of
  // both infinities, always the same NaN.
  double rounded() const;

  // The pieces of a sum make up the same sum elsewhere, together with what else is added there. A
  // sum of nothing has none.
  template <typename Visit>
  void for_each_piece(const Visit& visit) const {
    if (high_ != 0) visit(piece_of(high_));
    if (low_ != 0) visit(piece_of(low_));
    if (wide_ == nullptr) return;
    Wide carried = *wide_;
    carried.carry();
    for (std::uint32_t i = 0; i < kLimbs; ++i)
      if (carried.limbs[i] != 0)
        visit(Piece{.place = i + 1, .bits = static_cast<std::uint64_t>(carried.limbs[i])});
  }
  void add_piece(const Piece& piece);

 private:
  static constexpr std::uint32_t kDouble = 0;
  // No addition of less overflows, however many there are: what they round off is 2^53 times less.
  static constexpr double kMostHigh = 0x1p1000;
  static constexpr unsigned kLimbBits = 32;
  // From the least bit of a double to its greatest, and 2^64 of these.
  static constexpr std::uint32_t kLimbs = 68;

  // Limb i counts 2^(32 i - 1074). Between carries limbs hold more than their bits.
  struct Wide {
    std::array<std::int64_t, kLimbs> limbs{};
    std::uint32_t additions = 0;  // since the last carry

    void add(double x);
    void count_addition();
    // Leaves each limb at most half of what the next one counts, above or below zero: small sums
    // below zero have few limbs, too.
    void carry();
    double rounded() const;
  };

  static Piece piece_of(double x) {
    return {.place = kDouble, .bits = std::bit_cast<std::uint64_t>(x)};
  }

  void add_apart(double x);
  Wide& wide();

  // The sum of all three; once the first is not finite, it alone.
  double high_ = 0;
  double low_ = 0;
  std::unique_ptr<Wide> wide_;
};

}  // namespace stratalog::datalog
