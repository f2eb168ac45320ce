// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/fact_statistics.h"

#include <bit>
#include <cmath>
#include <span>

#include "datalog/relation_storage.h"
#include "model/multiset_hash.h"

namespace stratalog::datalog {
namespace {

// 2^14 bits: good to a few percent up to some 50,000 distinct values, and a lower bound beyond,
// which is all that join orders need.
constexpr std::uint64_t kBits = 1U << 14;
constexpr std::size_t kWords = kBits / 64;

std::uint64_t count_distinct(std::span<const std::uint64_t> bitmap) {
  std::uint64_t set = 0;
  for (const std::uint64_t word : bitmap) set += static_cast<std::uint64_t>(std::popcount(word));
  const double empty = static_cast<double>(kBits - set) / static_cast<double>(kBits);
  if (set == kBits) return kBits * 10;
  return static_cast<std::uint64_t>(std::llround(-static_cast<double>(kBits) * std::log(empty)));
}

void mark_values(std::span<const Cell> column, std::span<std::uint64_t> bitmap) {
  for (const Cell cell : column) {
    const std::uint64_t bit = splitmix64(cell) % kBits;
    bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
  }
}

}  // namespace

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
      bitmaps.resize(bitmaps.size() + kWords, 0);
      if (c < facts[r].columns.size())
        mark_values(facts[r].columns[c], std::span(bitmaps).last(kWords));
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
      statistics[r].distinct.push_back(count_distinct(rest.first(kWords)));
      rest = rest.subspan(kWords);
    }
  }
  return statistics;
}

}  // namespace stratalog::datalog
