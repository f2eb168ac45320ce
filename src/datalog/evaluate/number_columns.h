// SPDX-License-Identifier: Apache-2.0
// Whole numbers computed for a batch of bindings at once, column by column: what an expression
// takes for one binding is mostly the way through its tree. Local.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/value_bits.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// An expression of numbers, or of unsigned ones.
class NumberColumns {
 public:
  // Nothing where anything else has a part in it, or where it may fail.
  static std::optional<NumberColumns> of(const Expression& expression);

  // The bits of its values, one for each row of the batch, until the next call. Empty where numbers
  // that it reads are not small.
  std::span<const std::uint64_t> compute(const Batch& in);

 private:
  struct Part {
    ExpressionKind kind = ExpressionKind::kConstant;
    VariableId variable = 0;
    Functor functor = Functor::kAdd;
    bool is_signed = false;
    std::uint32_t left = 0;  // which parts it is made of, that come before it
    std::uint32_t right = 0;
    std::uint64_t constant = 0;  // of a division, too: by this
    std::vector<std::uint64_t> values;
  };

  bool add(const Expression& expression);
  bool add_functor(const Expression& expression);
  void apply(Part& part, std::uint32_t rows);

  std::vector<Part> parts_;  // the last one is the whole
};

// A comparison of such expressions.
class NumberFilter {
 public:
  static std::optional<NumberFilter> of(const Literal& comparison);

  // As CellFilter::select().
  bool select(const Batch& in, std::vector<std::uint32_t>& rows);

 private:
  NumberFilter(Comparison comparison, bool is_signed, NumberColumns left, NumberColumns right)
      : comparison_(comparison),
        is_signed_(is_signed),
        left_(std::move(left)),
        right_(std::move(right)) {}

  Comparison comparison_;
  bool is_signed_;
  NumberColumns left_;
  NumberColumns right_;
};

}  // namespace stratalog::datalog
