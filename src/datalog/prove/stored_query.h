// SPDX-License-Identifier: Apache-2.0
// StoredQuery: a query program over the relations of a checkpoint, with the engine's indices and
// joins behind it. Loads what the demand asks for, then answers: which bindings of a query's
// variables fit a batch of goals. Local; one rank.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "checkpoint/checkpoint.h"
#include "comm/comm.h"
#include "datalog/evaluate/batch.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/prove/query_program.h"
#include "write/store.h"

namespace stratalog::datalog {

// The program of a checkpoint and the tuple that a user asks for.
struct StoredGoal {
  Program program;
  RelationId relation = 0;
  std::vector<Expression> arguments;  // without variables
};

// InvalidArgument with the compiler's message if `goal` is no tuple of the program.
Result<StoredGoal> parse_goal(const StoredState& stored, const std::string& goal,
                              const std::string& program_name);

// The program of a checkpoint as its run evaluated it, with the rules of magic sets.
std::optional<Program> evaluated_program(const StoredState& stored,
                                         const std::string& program_name);

class StoredQuery {
 public:
  // `original`, `store` and the functions outlive the object.
  static Result<std::unique_ptr<StoredQuery>> open(Store& store, const StoredState& stored,
                                                   const Program& original, QueryProgram query,
                                                   std::span<const ExternalFunction> externals);

  const QueryProgram& query() const { return query_; }
  const NewValues& values() const { return state_->new_values; }
  // The final cell of a constant expression, also if no stored tuple has the value.
  Result<Cell> cell_of(const Expression& constant);

  // Loads what a search for the goal can ask for, and returns the goal's cells. Called once.
  // NotSupported if a rule that would be searched depends on the pass that evaluates it.
  Result<std::vector<Cell>> load_for(const StoredGoal& goal, Reach reach);
  bool is_loaded(RelationId relation) const { return loaded_[relation] != 0; }
  bool contains(RelationId relation, std::span<const Cell> tuple) const;
  // All loaded tuples of a relation that is no equivalence relation, declared columns.
  void for_each_tuple(RelationId relation,
                      const std::function<void(std::span<const Cell>)>& visit) const;
  // The class of an element of an equivalence relation, null if it is in none. Stays where it is.
  const IntSet* class_of(RelationId relation, Cell element) const {
    return state_->relations[relation].equivalence->class_of(element);
  }

  // The engine behind it, for the rules the right way round (forward_heights.h).
  EngineState& state() { return *state_; }

  // Hands all bindings of query `which` to `take`, for the goals (back to back). An error of `take`
  // ends it and is returned.
  Status answer(std::size_t which, std::span<const Cell> goals, std::size_t count,
                const std::function<Status(const Batch&)>& take);

 private:
  StoredQuery(Store& store, const StoredState& stored, QueryProgram query)
      : store_(store), stored_(stored), query_(std::move(query)), self_(make_self_comm()) {}
  Status read_values();
  Status load_relation(RelationId relation, const ColumnDemand& demand);
  Status load_tuples(RelationId relation, std::size_t stored, const ColumnDemand& demand);
  Status load_classes(RelationId relation, std::size_t stored);
  void set_goals(RelationId relation, std::span<const Cell> goals, std::size_t count);

  Store& store_;
  const StoredState& stored_;
  QueryProgram query_;
  std::unique_ptr<Comm> self_;
  RunOptions options_;
  RunHooks hooks_;
  std::unique_ptr<EngineState> state_;
  std::vector<char> loaded_;
};

}  // namespace stratalog::datalog
