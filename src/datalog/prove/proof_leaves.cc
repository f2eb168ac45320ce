// SPDX-License-Identifier: Apache-2.0
#include "datalog/prove/proof_leaves.h"

#include <fmt/format.h>

#include <utility>

#include "datalog/relation_storage.h"

namespace stratalog::datalog {

Result<ProofLeaves> ProofLeaves::of(const Program& program, StoredQuery& query) {
  ProofLeaves leaves(program);
  for (std::uint32_t r = 0; r < program.rules.size(); ++r) {
    const Rule& rule = program.rules[r];
    if (rule.unites_values) leaves.has_bounds_[rule.head] = true;
    if (rule.role == RuleRole::kSubsumes) continue;
    if (!rule.body.empty()) leaves.derived_[rule.head] = true;
    if (!rule.body.empty()) continue;
    std::vector<Cell> tuple;
    for (const Expression& e : rule.head_arguments) {
      STRATALOG_ASSIGN_OR_RETURN(const Cell cell, query.cell_of(e));
      tuple.push_back(cell);
    }
    leaves.facts_[rule.head].emplace(std::move(tuple), r);
  }
  return leaves;
}

std::optional<std::uint32_t> ProofLeaves::find_fact(RelationId relation,
                                                    std::span<const Cell> tuple) const {
  const auto cells = tuple.first(program_->relations[relation].attributes.size());
  const auto found = facts_[relation].find({cells.begin(), cells.end()});
  if (found == facts_[relation].end()) return std::nullopt;
  return found->second;
}

bool ProofLeaves::is_leaf(RelationId relation, std::span<const Cell> tuple) const {
  if (is_equivalence(program_->relations[relation]))
    return is_read_from_files(program_->relations[relation]);
  return !derived_[relation] || find_fact(relation, tuple).has_value();
}

std::vector<TupleColumns> ProofLeaves::tuples_of_height_zero(const StoredQuery& query) const {
  std::vector<TupleColumns> tuples(program_->relations.size());
  const auto& reached = query.query().forward->reached;
  for (RelationId r = 0; r < reached.size(); ++r) {
    if (!reached[r]) continue;
    tuples[r].columns.resize(program_->relations[r].attributes.size());
    const auto add = [&](std::span<const Cell> tuple) {
      for (std::size_t c = 0; c < tuples[r].columns.size(); ++c)
        tuples[r].columns[c].push_back(tuple[c]);
      ++tuples[r].rows;
    };
    // Bounds are above what rules give from the front, and all rules start from the bounds.
    if (!derived_[r] || has_bounds_[r]) query.for_each_tuple(r, add);
    for (const auto& [tuple, rule] : facts_[r]) add(tuple);
  }
  return tuples;
}

Status ProofLeaves::refuse_mixed_classes(const StoredQuery& query) const {
  for (RelationId r = 0; r < program_->relations.size(); ++r) {
    const Relation& relation = program_->relations[r];
    if (is_equivalence(relation) && is_read_from_files(relation) && query.is_loaded(r) &&
        (derived_[r] || !facts_[r].empty()))
      return Status::not_supported(fmt::format(
          "the equivalence relation `{}` has both rules and .input, and the checkpoint does not "
          "say which of its pairs were read; read them into a relation of their own and add a "
          "rule",
          relation.name));
  }
  return {};
}

}  // namespace stratalog::datalog
