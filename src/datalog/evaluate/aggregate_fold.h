// SPDX-License-Identifier: Apache-2.0
// AggregateFold folds the bindings of an aggregate's body into one value for each outer row (count,
// sum, min, max, mean, functors of a library; every combination of body tuples counts, as in
// Soufflé). RangeWalk enumerates range(from, to, step). Local.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/expression.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// Some tuples of a row, folded.
struct FoldedPart {
  std::uint64_t count = 0;
  std::uint64_t bits = 0;  // of the kind of the target; kMean: of the sum, as a double

  // Of counts, and of sums of whole numbers, which wrap around.
  FoldedPart& operator+=(const FoldedPart& other) {
    count += other.count;
    bits += other.bits;
    return *this;
  }
};

class AggregateFold {
 public:
  // Both outlive the fold.
  AggregateFold(const Aggregate& aggregate, ExpressionEvaluator& evaluator);

  // Forgets everything; results are asked for rows 0 .. rows-1, named by the batches' tags.
  void begin(std::uint32_t rows);
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

  // The same for rows that are folded in parts, not of kFold.
  const FoldedPart& part(std::uint32_t row) const { return states_[row]; }
  void unite(const FoldedPart& part, FoldedPart& whole) const;
  bool has_value(const FoldedPart& whole) const;
  Cell value(const FoldedPart& whole);

 private:
  struct State : FoldedPart {
    Cell cell = 0;  // kFold
  };

  void fold(FoldedPart& part, std::uint64_t bits) const;
  void fold_cells(const Batch& batch);
  void call(State& state, const Batch& batch, std::uint32_t row);

  const Aggregate& aggregate_;
  ExpressionEvaluator& evaluator_;
  std::vector<State> states_;
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
