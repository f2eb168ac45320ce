// SPDX-License-Identifier: Apache-2.0
#include "datalog/plan/bounded_column.h"

#include <algorithm>
#include <bit>

#include "datalog/plan/set_comparison.h"
#include "datalog/rule_variables.h"

namespace stratalog::datalog {
namespace {

// To sort a tuple into an index takes as long as to look at it for so many bindings.
constexpr double kLooksToIndex = 4;

// A bound from below, from above, or of an equation from both sides.
constexpr std::uint32_t kFromBelow = 1;
constexpr std::uint32_t kFromAbove = 2;

std::uint32_t sides_of_bound(const SetComparison& compared) {
  if (compared.comparison == Comparison::kEqual) return kFromBelow | kFromAbove;
  bool is_lower = compared.comparison == Comparison::kGreater ||
                  compared.comparison == Comparison::kGreaterEqual;
  for (const ElementStep& step : compared.steps)
    is_lower ^= step.kind == ElementStep::Kind::kSubtractFrom;
  return is_lower ? kFromBelow : kFromAbove;
}

// From how many sides.
std::uint32_t bounds_by(const Literal& literal, VariableId variable,
                        const std::set<VariableId>& known, FloatBounds floats) {
  const auto compared = floats == FloatBounds::kCount ? bound_of_numbers(literal, variable)
                                                      : bound_of_values(literal, variable);
  if (!compared) return 0;
  std::set<VariableId> read;
  collect_variables(literal, read);
  read.erase(variable);
  if (!std::ranges::includes(known, read)) return 0;
  return static_cast<std::uint32_t>(std::popcount(sides_of_bound(*compared)));
}

}  // namespace

std::optional<std::uint32_t> bounded_column(std::span<const OrderedLiteral> order,
                                            std::size_t place, const std::vector<Literal>& literals,
                                            const std::set<VariableId>& known,
                                            FloatBounds under_keys) {
  const OrderedLiteral& placed = order[place];
  const Literal& literal = literals[placed.literal];
  const std::vector<Argument>& arguments = literal.atom.arguments;
  if (literal.kind != LiteralKind::kAtom || placed.kind != StepKind::kScan ||
      placed.bound.size() + 1 >= arguments.size())
    return std::nullopt;
  const FloatBounds floats = placed.bound.empty() ? FloatBounds::kCount : under_keys;
  std::vector<std::uint32_t> bounds(arguments.size(), 0);
  for (std::size_t later = place + 1;
       later < order.size() && order[later].kind == StepKind::kFilter; ++later)
    for (std::uint32_t c = 0; c < arguments.size(); ++c)
      if (arguments[c].kind == ArgumentKind::kVariable && !known.contains(arguments[c].variable))
        bounds[c] +=
            bounds_by(literals[order[later].literal], arguments[c].variable, known, floats);
  const auto most = std::ranges::max_element(bounds);
  if (*most == 0) return std::nullopt;
  return static_cast<std::uint32_t>(most - bounds.begin());
}

void note_bounded_columns(std::vector<OrderedLiteral>& order, const std::vector<Literal>& literals,
                          std::set<VariableId> known) {
  const bool comes_often = !known.empty();
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (comes_often || order[place].bindings > kLooksToIndex)
      order[place].bounded =
          bounded_column(order, place, literals, known,
                         comes_often ? FloatBounds::kCount : FloatBounds::kDoNotCount);
    collect_variables(literals[order[place].literal], known);
  }
}

bool takes_bounds_from(std::span<const OrderedLiteral> order, const std::vector<Literal>& literals,
                       VariableId variable) {
  const auto has_fewer_without = [&](std::size_t place, VariableId bounded) {
    std::uint32_t all = 0;
    std::uint32_t without = 0;
    for (std::size_t later = place + 1;
         later < order.size() && order[later].kind == StepKind::kFilter; ++later) {
      const Literal& filter = literals[order[later].literal];
      const auto compared = bound_of_numbers(filter, bounded);
      if (!compared) continue;
      all |= sides_of_bound(*compared);
      if (!mentions(filter, variable)) without |= sides_of_bound(*compared);
    }
    return all != without;
  };
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (!order[place].bounded || !order[place].bound.empty()) continue;
    const Argument& bounded = literals[order[place].literal].atom.arguments[*order[place].bounded];
    if (bounded.variable != variable && has_fewer_without(place, bounded.variable)) return true;
  }
  return false;
}

}  // namespace stratalog::datalog
