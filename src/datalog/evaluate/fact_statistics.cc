// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/fact_statistics.h"

#include "datalog/evaluate/column_sketches.h"
#include "datalog/evaluate/tuple_sample.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
namespace {

// Of the relations that are known, whose rows have been counted.
Status sample_tuples(Comm& comm, const Program& program, const std::vector<TupleColumns>& facts,
                     std::vector<RelationStatistics>& statistics) {
  std::vector<std::vector<ColumnPair>> pairs = joined_pairs(program);
  std::vector<TupleSample> samples;
  std::vector<RelationId> sampled;
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!statistics[r].known || statistics[r].rows < kLeastSampled || pairs[r].empty()) continue;
    sampled.push_back(r);
    TupleSample& sample = samples.emplace_back(std::move(pairs[r]));
    const TupleColumns& tuples = facts[r];
    for (std::uint64_t row = 0; row < tuples.rows; row += sampling_step(statistics[r].rows))
      sample.add([&](std::uint32_t column) { return tuples.columns[column][row]; });
  }
  STRATALOG_RETURN_IF_ERROR(unite_samples(comm, samples));
  for (std::size_t i = 0; i < sampled.size(); ++i)
    statistics[sampled[i]].pairs = samples[i].dependent_pairs(statistics[sampled[i]].rows);
  return {};
}

}  // namespace

// Collective. Five reductions, for all relations at once.
Result<std::vector<RelationStatistics>> gather_statistics(Comm& comm, const Program& program,
                                                          const std::vector<TupleColumns>& facts) {
  std::vector<RelationStatistics> statistics(program.relations.size());
  for (const Stratum& stratum : program.strata)
    if (is_only_read(program, stratum))
      for (const RelationId r : stratum.relations) statistics[r].known = true;
  std::vector<std::uint64_t> rows;
  std::size_t columns = 0;
  const auto is_counted = [&](RelationId r) {
    return statistics[r].known || is_read_from_files(program.relations[r]);
  };
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!is_counted(r)) continue;
    rows.push_back(facts[r].rows);
    columns += program.relations[r].attributes.size();
  }
  if (rows.empty()) return statistics;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(rows, ReduceOp::kSum));
  ColumnSketches sketches(columns);
  std::size_t column = 0;
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!is_counted(r)) continue;
    for (std::size_t c = 0; c < program.relations[r].attributes.size(); ++c, ++column)
      if (c < facts[r].columns.size())
        for (const Cell cell : facts[r].columns[c]) sketches.add(column, cell, 1);
  }
  STRATALOG_RETURN_IF_ERROR(sketches.unite(comm));
  std::size_t counted = 0;
  column = 0;
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!is_counted(r)) continue;
    statistics[r].rows = rows[counted++];
    for (std::size_t c = 0; c < program.relations[r].attributes.size(); ++c, ++column) {
      statistics[r].distinct.push_back(sketches.distinct(column));
      statistics[r].frequent.push_back(sketches.frequent(column));
    }
  }
  STRATALOG_RETURN_IF_ERROR(sample_tuples(comm, program, facts, statistics));
  return statistics;
}

}  // namespace stratalog::datalog
