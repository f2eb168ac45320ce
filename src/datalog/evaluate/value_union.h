// SPDX-License-Identifier: Apache-2.0
// ValueUnion: relations over lattices whose least upper bound no order gives (Rule::unites_values).
// What a round derives for a key lies in the home's row of that key, on one rank, once the homes
// have united; there it becomes one value with what the row held before, and only that is new.
// Collective.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"
#include "model/value_agreement.h"

namespace stratalog::datalog {

class ValueUnion {
 public:
  // The state outlives the object.
  ValueUnion(EngineState& state, std::uint32_t stratum);

  bool is_needed() const { return !united_.empty(); }
  // Between the uniting of the homes and the next step of the round's end. Every rank calls it,
  // also after an error of its own. This rank's status, as RulePass::run(): it fails where the
  // functor does, or gives no upper bounds.
  Status settle();

 private:
  struct United {
    RelationId relation = 0;
    CellClass column = CellClass::kNumber;
    const Rule* rule = nullptr;
    VariableId known = 0;  // of the rule
    VariableId added = 0;
    Batch batch;  // of one row
    std::vector<Cell> values;  // by place in the home's next delta
  };

  Status unite_rows(United& of);
  Result<Cell> unite_row(United& of, const Index& home, const DeltaRow& row);
  Cell least_upper_bound(United& of, Cell known, Cell added);
  Status check_is_above(United& of, Cell known, Cell added, Cell value);
  std::string text(const United& of, Cell cell) const;

  EngineState& state_;
  std::vector<United> united_;
};

}  // namespace stratalog::datalog
