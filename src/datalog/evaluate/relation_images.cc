// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/relation_images.h"

#include "datalog/evaluate/equivalence_run.h"
#include "datalog/evaluate/pivot_relations.h"
#include "model/multiset_hash.h"

namespace stratalog::datalog {
namespace {

Status visit_index(const Index& index, RelationVersion version, const GroupVisitor& visit) {
  if (version == RelationVersion::kDelta) {
    for (const DeltaRow& row : index.delta())
      STRATALOG_RETURN_IF_ERROR(visit({.prefix = index.prefix(row.row), .set = row.cells.view()}));
    return {};
  }
  for (RowId row = 0; row < index.row_count(); ++row)
    if (!index.total(row).empty())
      STRATALOG_RETURN_IF_ERROR(
          visit({.prefix = index.prefix(row), .set = index.total(row).view()}));
  return {};
}

}  // namespace

RelationImage relation_image(const EngineState& state, RelationId id, RelationVersion version) {
  const RelationData& relation = state.relations[id];
  RelationImage image;
  image.name = state.program.relations[id].name;
  image.version = version;
  image.arity = relation.arity;
  if (relation.arity == 0) {
    const bool holds = version == RelationVersion::kTotal ? relation.holds : relation.delta_holds;
    image.rows = holds && state.comm.rank() == 0 ? 1 : 0;
    if (image.rows > 0) image.hash = hash_tuple({});
    image.for_each_group = [](const GroupVisitor&) { return Status(); };
    return image;
  }
  if (relation.equivalence) return pairs_image(state, id);
  if (relation.pivot) {
    const auto order = relation.pivot->column_order(relation.pivot_position);
    image.column_order.assign(order.begin(), order.end());
    image.for_each_group = [&relation, version](const GroupVisitor& visit) {
      return relation.pivot->for_each_group(relation.pivot_position, version, visit);
    };
    return image;
  }
  const Index* index = &relation.shards.front().primary_index();
  image.column_order.assign(index->order().begin(), index->order().end());
  image.for_each_group = [index, version](const GroupVisitor& visit) {
    return visit_index(*index, version, visit);
  };
  return image;
}

RelationImage stored_image(const EngineState& state, RelationId id, RelationVersion version) {
  return state.relations[id].equivalence ? classes_image(state, id, version)
                                         : relation_image(state, id, version);
}

}  // namespace stratalog::datalog
