// SPDX-License-Identifier: Apache-2.0
// AggregateFold folds the bindings of an aggregate's body into one value for each outer row (count,
// sum, min, max, mean, functors of a library; every combination of body tuples counts, as in
// Soufflé). Sums and means of floats are exact but for one rounding at the end (of a mean, one
// more), so that no order of the bindings shows. RangeWalk enumerates range(from, to, step). Local.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/exact_sum.h"
#include "datalog/evaluate/expression.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// Some tuples of a row, folded.
struct FoldedPart {
  std::uint64_t count = 0;
  std::uint64_t bits = 0;  // of the kind of the target; none of exact sums

  // Of counts, and of sums of whole numbers, which wrap around.
  FoldedPart& operator+=(const FoldedPart& other) {
    count += other.count;
    bits += other.bits;
    return *this;
  }
};

class AggregateFold {
 public:
  // What some bindings of a row come to, or a piece of it, of which one has the count.
  struct Piece {
    std::uint64_t count = 0;
    ExactSum::Piece value;  // other than of exact sums: bits of the kind of the target
  };

  // Both outlive the fold.
  AggregateFold(const Aggregate& aggregate, ExpressionEvaluator& evaluator);

  // Forgets everything; results are asked for rows 0 .. rows-1, named by the batches' tags.
  void begin(std::uint32_t rows);
  // For more rows, as begin(); those that there are keep what they have.
  void extend(std::uint32_t rows);
  // Gives the room back.
  void forget();
  Status add(const Batch& batch);
  // kCount: so many bindings of a row, whatever they are.
  void add_count(std::uint32_t row, std::uint64_t bindings) { states_[row].count += bindings; }
  // kCount, and kSum of whole numbers: what some bindings of a row come to.
  void add_part(std::uint32_t row, const FoldedPart& part) {
    static_cast<FoldedPart&>(states_[row]) += part;
  }
  // count and sum of nothing are 0, a fold of nothing is what it begins with; min, max and mean of
  // nothing do not exist.
  bool has_result(std::uint32_t row) const { return has_value(states_[row]); }
  // `outer` holds the outer rows.
  Cell result(std::uint32_t row, const Batch& outer);

  // Whether the target is a variable of numbers whose cells tell them, and sums, least or greatest
  // ones are asked for.
  bool folds_cells() const;

  // For rows that are folded in parts, not of kFold: their pieces, in any order, add up elsewhere.
  template <typename Visit>
  void for_each_piece(std::uint32_t row, const Visit& visit) const {
    const FoldedPart& part = states_[row];
    if (part.count == 0) return;
    if (!is_exact_) {
      visit(Piece{.count = part.count, .value = {.bits = part.bits}});
      return;
    }
    std::uint64_t count = part.count;
    sums_[row].for_each_piece([&](const ExactSum::Piece& piece) {
      visit(Piece{.count = std::exchange(count, 0), .value = piece});
    });
    if (count > 0) visit(Piece{.count = count, .value = {}});
  }
  void add_piece(std::uint32_t row, const Piece& piece);
  Cell value(std::uint32_t row);

 private:
  struct State : FoldedPart {
    Cell cell = 0;  // kFold
  };

  bool has_value(const FoldedPart& whole) const;
  void fold(FoldedPart& part, std::uint64_t bits) const;
  void add_exactly(const Batch& batch);
  void fold_cells(const Batch& batch);
  void call(State& state, const Batch& batch, std::uint32_t row);

  const Aggregate& aggregate_;
  ExpressionEvaluator& evaluator_;
  bool is_exact_ = false;  // sums and means of floats
  std::vector<State> states_;
  std::vector<ExactSum> sums_;  // by row, if they are exact
  std::vector<double> terms_;  // of one of them
  // kFold: the functor, of the two columns of a row of its own.
  Expression functor_;
  Batch operands_;
};

class RangeWalk {
 public:
  RangeWalk(const Range& range, ExpressionEvaluator& evaluator, const Batch& batch,
            std::uint32_t row);

  bool done() const { return done_; }
  void advance();
  Cell cell(ExpressionEvaluator& evaluator) const;

 private:
  bool at_end() const;

  ValueKind kind_;
  std::uint64_t current_ = 0;
  std::uint64_t to_ = 0;
  std::uint64_t step_ = 0;
  bool upwards_ = true;
  bool done_ = false;
};

}  // namespace stratalog::datalog
