// SPDX-License-Identifier: Apache-2.0
// RuleDraft: one rule of a plan whose literals are in order, before there are indices to write its
// steps for. Pure; local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "datalog/plan/carry_analysis.h"
#include "datalog/plan/literal_order.h"

namespace stratalog::datalog {

// Of the relations of strata that are swept: by which column.
using PivotColumns = std::map<RelationId, std::uint32_t>;

// Which list of the stratum's plan a rule goes to.
enum class RulePurpose : std::uint8_t { kDerive, kSweep, kReject, kRetire };

struct RuleDraft {
  std::uint32_t rule = 0;
  std::uint32_t stratum = 0;
  bool recursive = false;
  RulePurpose purpose = RulePurpose::kDerive;
  std::optional<std::uint32_t> delta_literal;
  std::vector<OrderedLiteral> order;
  std::vector<CarryCandidate> candidates;
  std::size_t masks = 0;  // kSweep: so many literals at the end of the order test the pivot
  bool follows_plan = false;  // the program has ordered the atoms: Rule::join_orders
  bool begins_elsewhere = false;  // than with new tuples: order_from_elsewhere()
  bool may_count_sets = false;  // aggregates may: find_counted_sets()
};

// Whether atoms of the stratum itself are read between bounds: rows that came late are put in order
// once a round.
inline bool reads_growing_in_order(const RuleDraft& draft) {
  return draft.purpose != RulePurpose::kSweep;
}

}  // namespace stratalog::datalog
