// SPDX-License-Identifier: Apache-2.0
// ProofLeaves: which tuples stand at the bottom of proofs: those that no rule fills a relation
// with, facts of the program, and values of lattices that are taken as they are. Local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "datalog/program.h"
#include "datalog/prove/stored_query.h"

namespace stratalog::datalog {

class ProofLeaves {
 public:
  using Facts = std::map<std::vector<Cell>, std::uint32_t>;  // to their rules

  // Both outlive the object.
  static Result<ProofLeaves> of(const Program& program, StoredQuery& query);

  // Whether rules with bodies fill the relation.
  bool is_derived(RelationId relation) const { return derived_[relation]; }
  // Whether values of its tuples are joined to their least upper bound.
  bool has_bounds(RelationId relation) const { return has_bounds_[relation]; }
  const Facts& facts(RelationId relation) const { return facts_[relation]; }
  // The rule that is the fact. The tuple may be longer than the relation has columns.
  std::optional<std::uint32_t> find_fact(RelationId relation, std::span<const Cell> tuple) const;

  bool is_leaf(RelationId relation, std::span<const Cell> tuple) const;
  // What is read or stands in the program, of the relations that a search forwards reaches.
  std::vector<TupleColumns> tuples_of_height_zero(const StoredQuery& query) const;
  // NotSupported where classes of a relation do not say which of their pairs were read.
  Status refuse_mixed_classes(const StoredQuery& query) const;

 private:
  explicit ProofLeaves(const Program& program)
      : program_(&program),
        derived_(program.relations.size(), false),
        has_bounds_(program.relations.size(), false),
        facts_(program.relations.size()) {}

  const Program* program_;
  std::vector<bool> derived_;
  std::vector<bool> has_bounds_;
  std::vector<Facts> facts_;
};

}  // namespace stratalog::datalog
