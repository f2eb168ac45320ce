// SPDX-License-Identifier: Apache-2.0
// order_wides: the part of agree_on_values_in_order (ordered_agreement.h) that numbers large
// numbers where ranks do not share memory. They travel as they are, 8 bytes each: to the rank that
// their hash names, which says by a bit each whether nobody has met it before, and those that
// nobody has to all. Collective.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "comm/comm.h"
#include "model/wide_table.h"

namespace stratalog {

// Collective. `mine`: what this rank has met, in order and without repetitions, nothing of it in
// `shared`; `ends`: how many after each part, of which all ranks have as many. `shared` must be
// equal on all ranks and is so afterwards: what is new is there in the order of parts, of ranks
// within a part, and of places within a rank. The ids of `mine`. NoSpace, on all ranks, if it would
// hold more than WideTable::kMaxValues.
Result<std::vector<std::uint32_t>> order_wides(Comm& comm, WideTable& shared,
                                               std::span<const std::uint64_t> mine,
                                               std::span<const std::uint64_t> ends);

}  // namespace stratalog
