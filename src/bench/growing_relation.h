// SPDX-License-Identifier: Apache-2.0
// A relation that grows from checkpoint to checkpoint, for benchmarks of chains: what its last
// checkpoint holds is dealt to all of them, each key's elements in runs of eight, so that what is
// new lies scattered over all keys, as in a closure, and packs worse than the whole. Parts are
// disjoint. Pure; local.
#pragma once

#include <cstdint>
#include <span>

#include "bench/held_relation.h"

namespace stratalog {

enum class GrownPart : std::uint8_t {
  kTotal,  // all that is there at the checkpoint
  kGrowth,  // what is new since the one before
  kLastRound,  // about a sixteenth of the growth: what the round before the checkpoint has added
};

// `sizes`: how large the relation is at each checkpoint, in any unit, ascending, the last one > 0:
// the rows of a part are theirs up to chance. Groups stay in order; those without elements are left
// out. O(rows).
HeldRelation grow(const HeldRelation& last, std::span<const std::uint64_t> sizes, std::size_t at,
                  GrownPart part);

}  // namespace stratalog
