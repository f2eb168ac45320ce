// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/carry_analysis.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "datalog/plan/bounded_column.h"
#include "datalog/plan/set_comparison.h"

namespace stratalog::datalog {
namespace {

// New values wait until the ranks agree on them, and sets made on the way do not last so long.
bool computes_values(const Rule& rule) {
  const auto is_functor = [](const Expression& e) { return e.kind == ExpressionKind::kFunctor; };
  return std::any_of(rule.head_arguments.begin(), rule.head_arguments.end(), is_functor) ||
         std::any_of(rule.body.begin(), rule.body.end(), [&](const Literal& literal) {
           return !reads_atom(literal) && (literal.kind != LiteralKind::kComparison ||
                                           is_functor(literal.left) || is_functor(literal.right));
         });
}

// Whether this is the only head column with the variable, which stands there alone, and otherwise
// in atoms and in comparisons of whole sets; notes these.
bool is_moved_only(const Rule& rule, std::uint32_t head_column, bool& is_compared) {
  const VariableId variable = rule.head_arguments[head_column].variable;
  is_compared = false;
  for (std::uint32_t h = 0; h < rule.head_arguments.size(); ++h)
    if (h != head_column && mentions(rule.head_arguments[h], variable)) return false;
  for (const Literal& literal : rule.body) {
    if (reads_atom(literal) || !mentions(literal, variable)) continue;
    if (!set_comparison(literal, variable)) return false;
    is_compared = true;
  }
  return true;
}

// Adds what an atom does with the variable; false if it is more than binding or filtering.
bool take_atom(const Literal& literal, const OrderedLiteral& placed, const Stratum& stratum,
               CarryCandidate& candidate, std::optional<std::uint32_t>& source) {
  const auto& arguments = literal.atom.arguments;
  std::optional<std::uint32_t> column;
  for (std::uint32_t c = 0; c < arguments.size(); ++c) {
    if (arguments[c].kind != ArgumentKind::kVariable || arguments[c].variable != candidate.variable)
      continue;
    if (column) return false;
    column = c;
  }
  if (!column) return true;
  if (!source) {
    source = placed.literal;
    candidate.literal = placed.literal;
    candidate.literal_column = *column;
    return literal.kind == LiteralKind::kAtom;
  }
  // A set is not restricted by new tuples.
  if (placed.kind == StepKind::kScanDelta) return false;
  candidate.filters.push_back({.literal = placed.literal, .column = *column});
  // A set may be restricted by a whole relation once that is finished: each rank needs all of it.
  const bool is_whole_set = arguments.size() == 1;
  return placed.bound.size() == arguments.size() &&
         !(is_whole_set && stratum.holds(literal.atom.relation));
}

}  // namespace

std::vector<CarryCandidate> find_carry_candidates(const Rule& rule, const Stratum& stratum,
                                                  const std::vector<OrderedLiteral>& order) {
  std::vector<CarryCandidate> candidates;
  for (std::uint32_t h = 0; h < rule.head_arguments.size(); ++h) {
    const Expression& e = rule.head_arguments[h];
    bool is_compared = false;
    if (e.kind != ExpressionKind::kVariable || !is_moved_only(rule, h, is_compared)) continue;
    CarryCandidate candidate{.variable = e.variable,
                             .head_column = h,
                             .literal = 0,
                             .literal_column = 0,
                             .bound_at = 0,
                             .is_compared = is_compared,
                             .from_growing = false,
                             .filters = {}};
    std::optional<std::uint32_t> source;
    const bool fits = std::all_of(order.begin(), order.end(), [&](const OrderedLiteral& placed) {
      const Literal& literal = rule.body[placed.literal];
      return !reads_atom(literal) || take_atom(literal, placed, stratum, candidate, source);
    });
    while (source && order[candidate.bound_at].literal != *source) ++candidate.bound_at;
    if (!fits || !source || ((!candidate.filters.empty() || is_compared) && computes_values(rule)))
      continue;
    candidate.from_growing = std::binary_search(stratum.relations.begin(), stratum.relations.end(),
                                                rule.body[*source].atom.relation);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::optional<CarryCandidate> find_counted_sets(const Aggregate& aggregate, const Stratum& stratum,
                                                const std::vector<OrderedLiteral>& order) {
  if (aggregate.function != AggregateFunction::kCount) return {};
  Rule counted;  // whose tuples they are
  counted.body = aggregate.body;
  std::set<VariableId> inner;
  for (const Literal& literal : aggregate.body)
    if (literal.kind == LiteralKind::kAtom) collect_variables(literal, inner);
  for (const VariableId outer : aggregate.outer) inner.erase(outer);
  for (const VariableId v : inner)
    counted.head_arguments.push_back(variable_expression(v, ValueKind::kNumber));
  std::optional<CarryCandidate> last;
  for (CarryCandidate& candidate : find_carry_candidates(counted, stratum, order))
    if (!candidate.filters.empty() && !takes_bounds_from(order, counted.body, candidate.variable) &&
        (!last || candidate.bound_at > last->bound_at))
      last = std::move(candidate);
  return last;
}

bool misses_witnesses(const CarryCandidate& candidate, const Rule& rule,
                      const std::vector<OrderedLiteral>& order,
                      const std::function<bool(RelationId)>& is_long) {
  std::set<VariableId> asked_later;  // from the place at hand on
  const auto is_left = [&](const Expression& e) {
    std::set<VariableId> read;
    collect_variables(e, read);
    return std::ranges::any_of(read, [&](VariableId v) { return asked_later.contains(v); });
  };
  // What stands before the scan binds what the head reads, and the candidate.
  const auto stops_at = [&](std::size_t place) {
    const Literal& scanned = rule.body[order[place].literal];
    if (order[place].kind != StepKind::kScan || scanned.kind != LiteralKind::kAtom ||
        scanned.atom.arguments.empty() || !order[place].bound.empty() ||
        !is_long(scanned.atom.relation))
      return false;
    asked_later.clear();
    for (std::size_t later = place; later < order.size(); ++later)
      collect_variables(rule.body[order[later].literal], asked_later);
    if (!asked_later.contains(candidate.variable)) return false;
    for (std::size_t before = 0; before < place; ++before) {
      std::set<VariableId> known;
      collect_variables(rule.body[order[before].literal], known);
      for (const VariableId v : known) asked_later.erase(v);
    }
    return std::ranges::none_of(rule.head_arguments, is_left);
  };
  for (std::size_t place = candidate.bound_at + 1; place < order.size(); ++place)
    if (stops_at(place)) return true;
  return false;
}

bool is_favourite(const CarryCandidate& candidate, const std::vector<CarryCandidate>& candidates) {
  return candidate.filters.empty() ||
         std::none_of(candidates.begin(), candidates.end(), [&](const CarryCandidate& other) {
           return !other.filters.empty() &&
                  std::pair(other.from_growing, other.bound_at) >
                      std::pair(candidate.from_growing, candidate.bound_at);
         });
}

}  // namespace stratalog::datalog
