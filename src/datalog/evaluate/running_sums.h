// SPDX-License-Identifier: Apache-2.0
// RunningSums: relations that the engine fills with sums of another relation's last column while
// both grow (Relation::sums). Both lie by the key of the sums and keep the greatest value of each
// key, so once a round's terms have met in their home, what they add to the sums of the round
// before is known there: nothing travels. Sums of floats are rounded once in each round, so that
// the order of its terms does not show. Collective.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"

namespace stratalog::datalog {

class RunningSums {
 public:
  // The state outlives the object.
  RunningSums(EngineState& state, std::uint32_t stratum);

  // Between the uniting of the homes and the next step of the round's end: the sums that the
  // round's terms change are new in their home, too. Every rank calls it, also after an error of
  // its own. This rank's status, as RulePass::run(): it fails where a term is negative or no
  // number, so that the sum would not only grow, and where a sum leaves its 64 bits.
  Status settle();

 private:
  struct Sum {
    RelationId total = 0;
    Sums of;
    ValueKind kind = ValueKind::kNumber;
    std::vector<Cell> tuples;  // of `total`, in its home's order, with values others may not know
  };

  struct Addition;

  Status add_terms(Sum& sum);
  Status add_row(const Sum& sum, const Index& terms, const DeltaRow& row, Addition& to) const;
  Status check_term(const Sum& sum, std::uint64_t bits) const;
  Status fail(const Sum& sum, std::string_view what) const;

  EngineState& state_;
  std::vector<Sum> sums_;
};

}  // namespace stratalog::datalog
