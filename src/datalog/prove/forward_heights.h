// SPDX-License-Identifier: Apache-2.0
// ForwardHeights: the least height of a proof of each tuple up to that of a goal, by running the
// rules of a ForwardProgram from the facts on, round by round, and keeping what each round found. A
// search backwards then needs to look only at tuples on its way. Local; one rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/prove/stored_query.h"
#include "relation/index.h"

namespace stratalog::datalog {

class ForwardHeights {
 public:
  static constexpr std::uint32_t kNotReached = 0xFFFFFFFFU;

  // `query` has a forward program and what its rules read is loaded.
  explicit ForwardHeights(StoredQuery& query) : query_(query) {}

  // `facts`: by relation of the original program, what has height 0. Ends once the goal is reached.
  // NoSpace if more than `max_tuples` were found before. Called once.
  Status run(RelationId goal, std::span<const Cell> tuple, std::vector<TupleColumns> facts,
             std::uint64_t max_tuples);
  // Of a tuple of a relation of the original program; kNotReached if it is not below the goal.
  std::uint32_t height(RelationId relation, std::span<const Cell> tuple) const;

 private:
  void keep_round();

  StoredQuery& query_;
  // By height, by relation of the original program; null where nothing was new.
  std::vector<std::vector<std::unique_ptr<Index>>> rounds_;
  std::map<RelationId, std::uint32_t> nullary_;
};

}  // namespace stratalog::datalog
