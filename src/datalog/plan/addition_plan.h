// SPDX-License-Identifier: Apache-2.0
// What facts that are added to a finished run mean for its strata: which of them the facts do not
// reach, which go on from what they hold (they only grow when their bodies grow), and which have to
// start over, because something below them is negated, aggregated or counted. Strata that go on are
// merged into one, which semi-naive rounds take from the old fixpoint to the new one: the old
// tuples are its total, the added facts its first delta. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "datalog/program.h"

namespace stratalog::datalog {

enum class AdditionEffect : std::uint8_t { kNone, kGoesOn, kStartsOver };

struct StratumAddition {
  AdditionEffect effect = AdditionEffect::kNone;
  std::string reason;  // for a person: why it starts over
};

struct AdditionPlan {
  std::vector<StratumAddition> strata;  // as Program::strata
};

// `changed`: relations that facts are added to, any order. `sweepable`: strata that run by pivot
// and hold so much that to sweep them anew takes less time than to load them into the indices of
// rounds; they start over unless that would drag along a recursion by rounds that reads them, or
// facts that were read. NotSupported, with the line, if a
// stratum that would have to start over holds a relation with .input: its facts are in no
// checkpoint.
Result<AdditionPlan> plan_addition(const Program& program, const std::set<RelationId>& changed,
                                   const std::set<std::uint32_t>& sweepable = {});

std::set<std::uint32_t> strata_with(const AdditionPlan& plan, AdditionEffect effect);

// The strata with all of `merged` in the place of the first of them, recursive; the others of
// `merged` are left without relations, so that strata keep their numbers. Requires strata that
// depend on each other and on strata outside `merged` only as plan_addition has found them.
std::vector<Stratum> merge_strata(const Program& program, const std::set<std::uint32_t>& merged);

}  // namespace stratalog::datalog
