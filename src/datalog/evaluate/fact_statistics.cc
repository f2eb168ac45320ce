// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/fact_statistics.h"

#include <span>

#include "datalog/evaluate/distinct_count.h"
#include "datalog/relation_storage.h"

namespace stratalog::datalog {
// Collective. Two reductions, for all relations at once.
Result<std::vector<RelationStatistics>> gather_statistics(Comm& comm, const Program& program,
                                                          const std::vector<TupleColumns>& facts) {
  std::vector<RelationStatistics> statistics(program.relations.size());
  for (const Stratum& stratum : program.strata)
    if (is_only_read(program, stratum))
      for (const RelationId r : stratum.relations) statistics[r].known = true;
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> bitmaps;
  const auto is_counted = [&](RelationId r) {
    return statistics[r].known || is_read_from_files(program.relations[r]);
  };
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!is_counted(r)) continue;
    rows.push_back(facts[r].rows);
    for (std::size_t c = 0; c < program.relations[r].attributes.size(); ++c) {
      bitmaps.resize(bitmaps.size() + kDistinctWords, 0);
      if (c < facts[r].columns.size())
        for (const Cell cell : facts[r].columns[c])
          mark_distinct(cell, std::span(bitmaps).last(kDistinctWords));
    }
  }
  if (rows.empty()) return statistics;
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(rows, ReduceOp::kSum));
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(bitmaps, ReduceOp::kBitOr));
  std::span<const std::uint64_t> rest = bitmaps;
  std::size_t counted = 0;
  for (RelationId r = 0; r < statistics.size(); ++r) {
    if (!is_counted(r)) continue;
    statistics[r].rows = rows[counted++];
    for (std::size_t c = 0; c < program.relations[r].attributes.size(); ++c) {
      statistics[r].distinct.push_back(count_distinct(rest.first(kDistinctWords)));
      rest = rest.subspan(kDistinctWords);
    }
  }
  return statistics;
}

}  // namespace stratalog::datalog
