// SPDX-License-Identifier: Apache-2.0
// InsertedFacts: the tuples that a caller has put into a program, as columns of cells that stand
// for values of this object's own until a run gives them to the engine. Keeps them for later runs.
// Knows one rank only. Local.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "api/stratalog.h"
#include "base/result.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/program.h"
#include "model/value_dictionary.h"

namespace stratalog {

class InsertedFacts {
 public:
  // `program` must outlive this object.
  explicit InsertedFacts(const datalog::Program& program);

  // stratalog_insert, of a relation of the program. InvalidArgument names relation, column and row;
  // nothing is added then.
  Status insert(std::size_t relation, std::uint64_t rows,
                std::span<const stratalog_column_in> columns);
  // Values that no tuple uses any more are forgotten in time.
  void clear(std::size_t relation);

  // For the engine (datalog::FactSupply).
  std::vector<datalog::TupleColumns> supply(NewValues& values) const;

 private:
  Status take(std::size_t relation, std::uint64_t rows,
              std::span<const stratalog_column_in> columns);
  Result<std::vector<Cell>> cells_of(const datalog::Relation& relation, std::size_t column,
                                     std::uint64_t rows, const stratalog_column_in& given);
  Result<std::vector<Cell>> cells_of_texts(const datalog::Relation& relation, std::size_t column,
                                           const stratalog_column_in& given);

  std::uint64_t value_count() const;
  void forget_unused_values();

  const datalog::Program& program_;
  ValueDictionary known_;  // the shapes of records and nothing else
  NewValues values_;
  std::uint64_t kept_values_ = 0;  // how many there were after the last look for unused ones
  std::vector<datalog::TupleColumns> facts_;  // by relation; cells by values_
};

}  // namespace stratalog
