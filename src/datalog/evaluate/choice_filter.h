// SPDX-License-Identifier: Apache-2.0
// Relations with a choice-domain: of the tuples derived in a round, those stay that agree with no
// tuple of the relation, and with no smaller tuple that stays, in the columns of any key. "Smaller"
// is by value, column after column, so that the choice is the same at any number of ranks and after
// any restart. Derived tuples wait in RelationData::candidates, outside of the shards. A relation
// with one key is decided on all ranks, by the hash of the key; one with several keys, where each
// decision depends on others, on one rank. Collective where marked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "datalog/evaluate/engine_state.h"
#include "datalog/facts/tuple_columns.h"
#include "datalog/facts/value_order.h"
#include "relation/prefix_map.h"
#include "route/tuple_mail.h"

namespace stratalog::datalog {

class ChoiceFilter {
 public:
  // Of a relation with choice keys. The state outlives the filter.
  ChoiceFilter(EngineState& state, RelationId relation);

  RelationId relation() const { return relation_; }

  // Collective. Tuples that are in the relation whatever the keys say: facts from files.
  Status admit(const TupleColumns& tuples);
  // Collective. The same for what this rank's home shard holds, after a restart.
  Status admit_home();
  // Collective. Decides over the candidates, which are gone afterwards, and queues those that stay
  // in the shards of the relation.
  Status choose();

  std::uint64_t heap_bytes() const;

 private:
  enum class Decision : std::uint8_t { kAll, kFirst };

  int judge_of(std::span<const Cell> tuple) const;
  // Collective: brings rows (back to back) to their judges.
  Status gather(std::span<const Cell> rows, std::vector<Cell>& gathered);
  void list_home(TupleColumns& tuples) const;
  TupleColumns decide(const std::vector<Cell>& rows, Decision decision);
  std::vector<std::uint64_t> in_order(const std::vector<Cell>& rows);
  bool is_taken(std::span<const Cell> tuple);
  void take(std::span<const Cell> tuple);
  std::span<const Cell> key_of(std::span<const Cell> tuple, std::size_t key);

  EngineState& state_;
  RelationId relation_;
  std::uint32_t arity_;
  const std::vector<std::vector<std::uint32_t>>& keys_;
  std::vector<PrefixMap> taken_;  // by key: the values of tuples in the relation, on their judges
  ValueOrder order_;
  std::vector<Cell> key_;  // scratch
};

}  // namespace stratalog::datalog
