// SPDX-License-Identifier: Apache-2.0
// Intersection and difference of two sets of an index, in whatever form they are: word by word for
// two bitmaps, by looking the elements of one up in the other where sizes or forms differ much, by
// merging otherwise. Intersecting takes time by the smaller set. Pure; local.
#pragma once

#include <cstdint>
#include <vector>

#include "relation/int_set.h"

namespace stratalog {

// Appends the elements of both to `out`, ascending.
void intersect_sets(const IntSet& a, const IntSet& b, std::vector<Cell>& out);

std::uint64_t count_common(const IntSet& a, const IntSet& b);

// Appends the elements of `a` that are not in `b` to `out`, ascending.
void subtract_sets(const IntSet& a, const IntSet& b, std::vector<Cell>& out);

}  // namespace stratalog
