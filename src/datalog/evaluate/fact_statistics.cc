// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/fact_statistics.h"

#include <bit>
#include <cmath>

#include "datalog/relation_storage.h"
#include "model/multiset_hash.h"

namespace stratalog::datalog {
namespace {

// 2^14 bits: good to a few percent up to some 50,000 distinct values, and a lower bound beyond,
// which is all that join orders need.
constexpr std::uint64_t kBits = 1U << 14;

std::uint64_t count_distinct(std::span<const std::uint64_t> bitmap) {
  std::uint64_t set = 0;
  for (const std::uint64_t word : bitmap) set += static_cast<std::uint64_t>(std::popcount(word));
  const double empty = static_cast<double>(kBits - set) / static_cast<double>(kBits);
  if (set == kBits) return kBits * 10;
  return static_cast<std::uint64_t>(std::llround(-static_cast<double>(kBits) * std::log(empty)));
}

}  // namespace

Result<std::vector<RelationStatistics>> gather_statistics(Comm& comm, const Program& program,
                                                          const std::vector<TupleColumns>& facts) {
  std::vector<RelationStatistics> statistics(program.relations.size());
  for (const Stratum& stratum : program.strata)
    if (is_only_read(program, stratum))
      for (const RelationId r : stratum.relations) statistics[r].known = true;
  for (RelationId r = 0; r < statistics.size(); ++r) {
    RelationStatistics& size = statistics[r];
    if (!size.known && !is_read_from_files(program.relations[r])) continue;
    std::vector<std::uint64_t> rows{facts[r].rows};
    STRATALOG_RETURN_IF_ERROR(comm.allreduce(rows, ReduceOp::kSum));
    size.rows = rows[0];
    for (std::size_t c = 0; c < program.relations[r].attributes.size(); ++c) {
      std::vector<std::uint64_t> bitmap(kBits / 64, 0);
      if (c < facts[r].columns.size())
        for (const Cell cell : facts[r].columns[c]) {
          const std::uint64_t bit = splitmix64(cell) % kBits;
          bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
        }
      STRATALOG_RETURN_IF_ERROR(comm.allreduce(bitmap, ReduceOp::kBitOr));
      size.distinct.push_back(count_distinct(bitmap));
    }
  }
  return statistics;
}

}  // namespace stratalog::datalog
