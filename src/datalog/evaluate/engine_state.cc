// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/engine_state.h"

#include <fmt/format.h>

#include <utility>

#include "datalog/evaluate/pivot_relations.h"

namespace stratalog::datalog {

void EngineState::recount(RelationId r) {
  const RelationData& relation = relations[r];
  std::uint64_t bytes = relation.heap_bytes();
  // Relations that were swept together have their rows in common.
  if (relation.pivot && relation.pivot_position == 0) bytes += relation.pivot->memory_bytes();
  counted_sum_ += bytes - counted_bytes_[r];
  counted_bytes_[r] = bytes;
}

const Index* EngineState::whole_index(const Step& step) const {
  for (const Shard& shard : relations[step.relation].shards)
    if ((is_single() || shard.placement.dealing == Dealing::kReplicated) && shard.keeps(step.index))
      return shard.indices[step.index].get();
  return nullptr;
}

// One reduction: the least of each count, and of its complement, which is that of the greatest.
Status EngineState::meet() {
  if (!std::exchange(is_apart, false)) return {};
  const Status mine = std::exchange(kept_status, {});
  std::uint64_t rows = 0;
  for (const RelationData& relation : relations) rows += relation.global_rows;
  const std::uint64_t counts[] = {rows, dictionary.symbols().size(), dictionary.wides().size(),
                                  dictionary.records().size()};
  std::vector<std::uint64_t> least{mine.is_ok() ? 1U : 0U};
  for (const std::uint64_t count : counts) {
    least.push_back(count);
    least.push_back(~count);
  }
  STRATALOG_RETURN_IF_ERROR(comm.allreduce(least, ReduceOp::kMin));
  if (least[0] == 0) return agree(comm, mine);
  for (std::size_t i = 1; i < least.size(); i += 2)
    if (least[i] != ~least[i + 1])
      return Status::internal(fmt::format(
          "ranks that evaluate the same have got different counts before stratum {}", stratum));
  return {};
}

}  // namespace stratalog::datalog
