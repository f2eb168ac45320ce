// SPDX-License-Identifier: Apache-2.0
// Chooses the indices of one relation: as few column orders as make every search a search by
// prefix. The searched column sets form a partial order under inclusion; a chain of nested sets
// shares one index, so a minimum chain cover (Dilworth, by bipartite matching) is a minimum set of
// indices, as in Subotic et al., "Automatic index selection for large-scale Datalog computation"
// (VLDB 2018). Where a chain leaves freedom, the last column follows the wishes of rules that move
// whole sets, and columns that later steps look for come first. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "datalog/plan/program_plan.h"

namespace stratalog::datalog {

// One way in which a rule reads a relation.
struct Access {
  std::vector<std::uint32_t>
      bound;  // declared columns, ascending; may be empty (scan) or all (membership)
  std::optional<std::uint32_t> last_wish;  // declared column wished to be the last of the index
  // Declared columns that are free here and that later steps look for: they come before those that
  // only the head wants, so that a later step is asked once for a whole set of the latter.
  std::vector<std::uint32_t> asked;
  // Declared column whose values are bounded: in an index in which it stands right behind `bound`
  // only what lies between the bounds is read.
  std::optional<std::uint32_t> bounded;
  std::uint32_t weight = 1;
  bool is_filter = false;  // restricts sets of the wished column: of no use in another order
};

// Whether the first columns of the index are those, in some order.
bool begins_with(const IndexPlan& index, const std::vector<std::uint32_t>& columns);

// Whether a search by `bound` finds all its tuples in an index that is made and dealt as planned:
// on one rank, and with a directory for prefixes of that length where it needs one.
bool serves_search(const RelationPlan& relation, const IndexPlan& index,
                   const std::vector<std::uint32_t>& bound);

// Whether `column` stands right behind those, which the index begins with, and is not the last.
bool has_next(const IndexPlan& index, const std::vector<std::uint32_t>& bound,
              std::uint32_t column);

void add_searched_length(IndexPlan& index, std::uint32_t length);

struct IndexChoice {
  std::vector<IndexPlan> indices;
  std::vector<std::uint32_t> index_of_access;  // parallel to the accesses
};

// `arity` >= 1. Deterministic: depends on the accesses in their order only.
IndexChoice choose_indices(std::uint32_t arity, const std::vector<Access>& accesses);

}  // namespace stratalog::datalog
