// SPDX-License-Identifier: Apache-2.0
// Which variables of a rule could move as whole sets from the last column of a body atom into the
// head. Other atoms may restrict such a set on its way: whatever else they read being known, it is
// intersected with, or freed from, the set that they hold (for cyclic bodies, the intersection of a
// worst-case-optimal join in its last variable). Comparisons with one other value restrict it, too.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "datalog/plan/literal_order.h"
#include "datalog/program.h"

namespace stratalog::datalog {

// An atom, or negated atom, that holds a carried variable and nothing else that is unknown.
struct CarryFilter {
  std::uint32_t literal = 0;
  std::uint32_t column = 0;  // declared, of the carried variable
};

// A variable that stands in one head column and one column of the atom that binds it, and otherwise
// in filters and comparisons only.
struct CarryCandidate {
  VariableId variable = 0;
  std::uint32_t head_column = 0;
  std::uint32_t literal = 0;
  std::uint32_t literal_column = 0;
  std::size_t bound_at = 0;  // place of the literal in the order of evaluation
  bool is_compared = false;  // by filters that restrict sets (set_comparison.h)
  bool from_growing = false;  // the literal reads a relation of the rule's own stratum
  std::vector<CarryFilter> filters;
};

// `order` is the order in which the literals of the rule's body are evaluated, `stratum` the
// rule's.
std::vector<CarryCandidate> find_carry_candidates(const Rule& rule, const Stratum& stratum,
                                                  const std::vector<OrderedLiteral>& order);

// Of an aggregate of a rule of `stratum`, which counts: the variable whose values are counted as
// whole sets, as other atoms restrict these. `order` is that of its body.
std::optional<CarryCandidate> find_counted_sets(const Aggregate& aggregate, const Stratum& stratum,
                                                const std::vector<OrderedLiteral>& order);

// Whether the rule goes through a whole relation for each set, a long one, of which the head reads
// nothing, and the set is restricted there or later: its elements would have to pass one by one to
// stop at a first witness (evaluate/pipeline_witness.cc).
bool misses_witnesses(const CarryCandidate& candidate, const Rule& rule,
                      const std::vector<OrderedLiteral>& order,
                      const std::function<bool(RelationId)>& is_long);

// Whether a rule would rather carry this candidate than others that are restricted too: one from a
// growing relation, whose sets tend to be large, then the one that is bound last, for which most is
// known by then.
bool is_favourite(const CarryCandidate& candidate, const std::vector<CarryCandidate>& candidates);

}  // namespace stratalog::datalog
