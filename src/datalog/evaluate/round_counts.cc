// SPDX-License-Identifier: Apache-2.0
#include "datalog/evaluate/round_counts.h"

#include <fmt/format.h>

namespace stratalog::datalog {

void RoundCounts::restore(std::uint64_t iteration) {
  iteration_ = iteration;
  new_tuples_ = 1;
  for (const RelationId r : members_.relations) total_tuples_ += state_.relations[r].global_rows;
}

std::uint64_t RoundCounts::append_local_rows(std::vector<std::uint64_t>& rows) const {
  std::uint64_t grown = 0;
  for (const RelationId r : members_.relations) {
    const RelationData& relation = state_.relations[r];
    if (relation.arity == 0) {
      rows.push_back(relation.queued_holds ? 1 : 0);
    } else if (relation.equivalence) {
      // Whole, it is the same on all ranks: one counts.
      const bool counts = relation.equivalence->is_dealt() || state_.comm.rank() == 0;
      grown += counts ? relation.equivalence->delta_pairs() : 0;
      rows.push_back(counts ? relation.equivalence->pairs() : 0);
    } else {
      grown += relation.shards.front().primary_index().delta_tuples();
      rows.push_back(relation.shards.front().primary_index().tuples());
    }
  }
  return grown;
}

void RoundCounts::take_round(std::uint64_t new_tuples, std::span<const std::uint64_t> rows) {
  new_tuples_ = new_tuples;
  total_tuples_ = 0;
  for (std::size_t i = 0; i < members_.relations.size(); ++i) {
    RelationData& relation = state_.relations[members_.relations[i]];
    if (relation.arity == 0) {
      relation.delta_holds = rows[i] > 0 && !relation.holds;
      relation.holds |= rows[i] > 0;
      relation.queued_holds = false;
      relation.global_rows = relation.holds ? 1 : 0;
      new_tuples_ += relation.delta_holds ? 1 : 0;
    } else {
      relation.global_rows = rows[i];
    }
    total_tuples_ += relation.global_rows;
  }
  if (new_tuples_ > 0) ++iteration_;
}

Progress RoundCounts::progress(std::uint64_t memory_bytes) const {
  Progress progress;
  progress.phase = Phase::kEvaluating;
  progress.iteration = iteration_;
  progress.new_tuples = new_tuples_;
  progress.total_tuples = total_tuples_;
  progress.memory_bytes = memory_bytes;
  progress.largest_share = largest_share_;
  return progress;
}

Status RoundCounts::check_alike() const {
  const ValueDictionary& values = state_.dictionary;
  const std::uint64_t counts[] = {iteration_,
                                  new_tuples_,
                                  total_tuples_,
                                  values.symbols().size(),
                                  values.wides().size(),
                                  values.records().size()};
  std::vector<std::uint64_t> least;
  for (const std::uint64_t count : counts) {
    least.push_back(count);
    least.push_back(~count);  // the least of these is that of the greatest count
  }
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(least, ReduceOp::kMin));
  for (std::size_t i = 0; i < least.size(); i += 2)
    if (least[i] != ~least[i + 1])
      return Status::internal(fmt::format(
          "ranks that evaluate the same have got different counts in iteration {}", iteration_));
  return {};
}

Status RoundCounts::measure_share() {
  std::vector<std::uint64_t> rows{0};
  for (const RelationId r : members_.relations) {
    const RelationData& relation = state_.relations[r];
    if (relation.equivalence) return {};
    if (relation.arity > 0) rows[0] += relation.shards.front().primary_index().tuples();
  }
  STRATALOG_RETURN_IF_ERROR(state_.comm.allreduce(rows, ReduceOp::kMax));
  if (total_tuples_ > 0)
    largest_share_ = static_cast<double>(rows[0]) / static_cast<double>(total_tuples_);
  return {};
}

}  // namespace stratalog::datalog
