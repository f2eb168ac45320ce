// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/refined_plan.h"

#include <algorithm>
#include <utility>

#include "datalog/evaluate/column_sketches.h"
#include "datalog/evaluate/index_sketch.h"
#include "datalog/evaluate/placement.h"
#include "datalog/plan/program_plan.h"
#include "datalog/plan/relations_read.h"

namespace stratalog::datalog {
namespace {

// What rules of a stratum read of the strata below it.
struct Reads {
  std::vector<RelationId> needed;  // without a tuple of it a rule, or an aggregate, finds nothing
  std::vector<RelationId> joined;  // with something else, so that there are orders to choose from
};

void note_reads(const std::vector<Literal>& body, const Stratum& stratum, Reads& reads) {
  const auto is_atom = [](const Literal& l) { return l.kind == LiteralKind::kAtom; };
  const bool has_choice = std::ranges::count_if(body, is_atom) > 1;
  for (const Literal& literal : body) {
    if (literal.kind == LiteralKind::kAggregate)
      note_reads(literal.aggregate->body, stratum, reads);
    if (!is_atom(literal) || stratum.holds(literal.atom.relation)) continue;
    reads.needed.push_back(literal.atom.relation);
    if (has_choice) reads.joined.push_back(literal.atom.relation);
  }
}

void keep_each_once(std::vector<RelationId>& relations) {
  std::ranges::sort(relations);
  const auto rest = std::ranges::unique(relations);
  relations.erase(rest.begin(), rest.end());
}

Reads reads_of(const EngineState& state, std::uint32_t s) {
  Reads reads;
  const Stratum& stratum = state.program.strata[s];
  for (const auto* rules : {&stratum.rules, &stratum.subsumptions})
    for (const std::uint32_t r : *rules) note_reads(state.program.rules[r].body, stratum, reads);
  for (auto* relations : {&reads.needed, &reads.joined}) keep_each_once(*relations);
  return reads;
}

// The copy that every rank has, or else this rank's part.
const Index& index_of(const RelationData& relation) {
  for (const Shard& shard : relation.shards)
    if (shard.placement.dealing == Dealing::kReplicated) return shard.primary_index();
  return relation.shards.front().primary_index();
}

// Rows of blocks of pivots and pairs of classes take long to walk: of these the guess that was made
// of the rules that fill them has to do.
bool can_be_walked(const RelationData& relation) {
  return relation.arity > 0 && !relation.equivalence && !relation.shards.empty();
}

// Distinct values of the columns of relations whose rows are known. Collective where there are any.
Status count_columns(EngineState& state, const std::vector<RelationId>& relations,
                     std::vector<RelationStatistics>& statistics) {
  std::vector<RelationId> walked;
  std::size_t columns = 0;
  for (const RelationId r : relations) {
    const RelationData& relation = state.relations[r];
    RelationStatistics& size = statistics[r];
    if (size.known && size.rows == relation.global_rows && size.distinct.size() == relation.arity)
      continue;
    size.known = true;
    size.rows = relation.global_rows;
    size.frequent.clear();
    size.pairs.clear();
    if (size.rows <= 1 || relation.arity == 1 || !can_be_walked(relation)) {
      if (relation.arity == 1) size.distinct.assign(1, size.rows);
      size.distinct.resize(relation.arity, size.rows);
      for (std::uint64_t& distinct : size.distinct) distinct = std::min(distinct, size.rows);
      continue;
    }
    walked.push_back(r);
    columns += relation.arity;
  }
  if (walked.empty()) return {};
  ColumnSketches sketches(columns);
  if (state.joined_pairs.empty()) state.joined_pairs = joined_pairs(state.program);
  std::vector<TupleSample> samples;
  // Copies that are looked at whole give the same on all ranks, in whatever order their rows lie;
  // of others that of one rank counts.
  const bool are_alike = std::ranges::all_of(walked, [&](RelationId r) {
    return has_copy(state.relations[r]) && state.relations[r].global_rows <= kSampledTuples;
  });
  std::size_t column = 0;
  for (const RelationId r : walked) {
    samples.emplace_back(state.relations[r].global_rows < kLeastSampled ? std::vector<ColumnPair>()
                                                                        : state.joined_pairs[r]);
    if (are_alike || !has_copy(state.relations[r]) || state.comm.rank() == 0)
      sketch_index(index_of(state.relations[r]), state.relations[r].global_rows, column, sketches,
                   samples.back());
    column += state.relations[r].arity;
  }
  if (!state.is_single() && !are_alike) {
    STRATALOG_RETURN_IF_ERROR(state.meet());
    STRATALOG_RETURN_IF_ERROR(sketches.unite(state.comm));
    STRATALOG_RETURN_IF_ERROR(unite_samples(state.comm, samples));
  }
  column = 0;
  auto sample = samples.begin();
  for (const RelationId r : walked) {
    RelationStatistics& size = statistics[r];
    size.pairs = (sample++)->dependent_pairs(size.rows);
    size.distinct.clear();
    size.frequent.clear();
    for (std::uint32_t c = 0; c < state.relations[r].arity; ++c, ++column) {
      size.distinct.push_back(std::min(size.rows, sketches.distinct(column)));
      size.frequent.push_back(sketches.frequent(column));
    }
  }
  return {};
}

}  // namespace

Status refine_plan(EngineState& state, std::uint32_t s,
                   std::vector<RelationStatistics>& statistics) {
  const Reads reads = reads_of(state, s);
  if (reads.needed.empty()) return {};
  statistics.resize(state.program.relations.size());
  STRATALOG_RETURN_IF_ERROR(count_columns(state, reads.joined, statistics));
  const auto is_empty = [&](RelationId r) { return state.relations[r].global_rows == 0; };
  // What was known before facts were added to a finished run is not so any more.
  for (const RelationId r : state.program.strata[s].relations)
    if (statistics[r].known) statistics[r] = {};
  for (const RelationId r : reads.needed) {
    if (statistics[r].known && statistics[r].rows != state.relations[r].global_rows)
      statistics[r] = {};
    if (is_empty(r))
      statistics[r] = {.known = true,
                       .rows = 0,
                       .distinct = std::vector<std::uint64_t>(state.relations[r].arity)};
  }
  if (reads.joined.empty() && std::ranges::none_of(reads.needed, is_empty)) return {};

  STRATALOG_ASSIGN_OR_RETURN(const bool changed,
                             replan_stratum(state.program,
                                            {.statistics = {},
                                             .allow_pivot = state.options.allow_pivot,
                                             .allow_sets = state.options.allow_sets},
                                            s, statistics, state.plan));
  if (changed)
    place_replanned(state.program, state.plan, s,
                    relations_read(state.program, state.program.strata[s]), state.placements);
  return {};
}

}  // namespace stratalog::datalog
