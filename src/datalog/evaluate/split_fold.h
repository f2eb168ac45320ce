// SPDX-License-Identifier: Apache-2.0
// SplitFold: an aggregate over rows of which each rank has a part. The rank that has a binding
// keeps it and asks all ranks; each folds the part that it has, and the answers are united where
// the question came from. Questions and answers are rows of cells, which the caller delivers.
// Local.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "datalog/evaluate/aggregate_fold.h"
#include "datalog/evaluate/pipeline.h"
#include "datalog/evaluate/swept_rows.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {

class SplitFold {
 public:
  // Everything passed by reference outlives the fold.
  struct Definition {
    const Rule* rule = nullptr;
    const Step* step = nullptr;  // the aggregate
    std::vector<StepSource> sources;  // of its body
    std::span<const Cell> constants;
    std::vector<VariableId> arriving;  // variables of the bindings
    std::vector<std::unique_ptr<SweptRows>> rows;  // that sources read
  };
  using Send = std::function<void(int rank, std::span<const Cell> cells)>;

  SplitFold(Definition definition, ExpressionEvaluator& evaluator);

  // Whether values of parts unite to that of the whole without a look at the tuples.
  static bool can_unite(const Aggregate& aggregate);

  // Who asks, which of its bindings this is, and what the aggregate knows of it.
  std::size_t question_width() const { return 2 + aggregate_.outer.size(); }
  // Which binding; how many tuples, and their value or a piece of it, as two cells each; where the
  // piece belongs.
  static constexpr std::size_t kAnswerWidth = 6;

  // The rank that asks keeps these bindings.
  Status hold(const Batch& bindings);
  // Asks all ranks for those that nobody has been asked for; `remapping` makes their values known
  // to all.
  void ask(const CellRemapping& remapping, int self, int ranks, const Send& send);
  void unite(std::span<const Cell> answers);
  // Goes on with the bindings that have a value, and forgets all.
  Status pass(const BatchSink& sink);

  // A rank that is asked.
  void take(std::span<const Cell> questions);
  // Folds what was asked for.
  Status answer(const Send& send);

  void forget();

 private:
  Definition definition_;
  const Aggregate& aggregate_;
  ExpressionEvaluator& evaluator_;
  AggregateFold part_;  // of what is here
  AggregateFold whole_;  // by held row
  std::unique_ptr<Pipeline> body_;
  std::vector<std::vector<Cell>> held_;  // by variable, as in a batch
  std::uint32_t held_rows_ = 0;
  std::uint32_t asked_rows_ = 0;
  std::vector<Cell> questions_;
};

}  // namespace stratalog::datalog
