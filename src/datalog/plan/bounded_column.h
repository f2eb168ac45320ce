// SPDX-License-Identifier: Apache-2.0
// bounded_column: which free column of an atom the comparisons right after it bound, so that an
// index in which it stands behind those that are searched need only be read between the bounds
// (Soufflé's indexed inequalities). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {

// Floats are put in order by their values: those of a whole relation, and those under a key that is
// asked for again and again.
enum class FloatBounds : std::uint8_t { kDoNotCount, kCount };

// Declared column of the atom at `place`, if it is read as a whole or under a prefix. That of most
// bounds, by values of `known` variables; the first one of equal ones. Nothing where the atom has
// one unknown column only, whose values are compared as sets.
std::optional<std::uint32_t> bounded_column(std::span<const OrderedLiteral> order,
                                            std::size_t place, const std::vector<Literal>& literals,
                                            const std::set<VariableId>& known,
                                            FloatBounds under_keys);

// Notes it for all atoms of an order to which so many bindings come that an index is worth making.
// `known` before the first literal; not empty: of an aggregate, whose body is evaluated for each
// binding that comes to it.
void note_bounded_columns(std::vector<OrderedLiteral>& order, const std::vector<Literal>& literals,
                          std::set<VariableId> known);

// Whether an atom that is read as a whole, between bounds, would be without its lower or its upper
// one if they were not to use `variable`, as where it stands for whole sets.
bool takes_bounds_from(std::span<const OrderedLiteral> order, const std::vector<Literal>& literals,
                       VariableId variable);

}  // namespace stratalog::datalog
